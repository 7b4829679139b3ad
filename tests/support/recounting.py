"""The plain trainer, from words that are tokens already, and corpora for it."""
from collections import Counter
from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from bpetite import reference
from bpetite.reference import Pair

__all__ = ["corpora", "learn"]

repeats = st.builds(lambda piece, times, tail: piece * times + tail,
                    st.text("ab", min_size=1, max_size=4), st.integers(1, 40), st.text("ab c", max_size=3))
corpora = st.lists(repeats | st.text("ab ", max_size=60) | st.text("abcd \n'ße的😀\0", max_size=40), max_size=8)


def learn(
    words: Counter[tuple[bytes, ...]],
    known: Iterable[bytes],
    n: int,
    allowed: Callable[[bytes], bool] = lambda token: True,
    least: int = 1,
) -> list[Pair]:
    """Up to n merges, one after the other, each by recounting.

    Args:
        words: Words as tokens -> how often each occurs.
        known: The tokens that there are, in the order that decides between pairs. What is a token already, and was not
            made of a pair, stays in parts.
        allowed: Whether a token may be made.
        least: How often a pair must occur.
    """
    order = {token: at for at, token in enumerate(known)}
    learned: list[Pair] = []
    while len(learned) < n:
        pairs = {
            pair: count for pair, count in reference.count_pairs(words).items()
            if count >= least and pair[0] + pair[1] not in order and allowed(pair[0] + pair[1])
        }  # fmt: skip
        if not pairs:
            break
        pair = min(pairs, key=lambda one: (-pairs[one], order[one[0]], order[one[1]]))
        learned.append(pair)
        order[pair[0] + pair[1]] = len(order)
        again = Counter[tuple[bytes, ...]]()
        for word, count in words.items():
            again[tuple(reference.replace_pair(word, pair))] += count
        words = again
    return learned
