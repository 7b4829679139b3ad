"""Splits and the plain patterns that stand for them cut alike."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import patterns
from bpetite.formats.huggingface_steps import PUNCTUATION
from bpetite.steps import splits
from bpetite.steps.simplified import simplified
from bpetite.steps.splits import BEHAVIORS, Fragment, PrefixSpace, Printable, Split, Step

#: Splits that become plain patterns, by the pattern.
PLAIN = {
    Split(r"a+|b", "isolated", True): r"a+|b",
    Split(patterns.CL100K, "removed", True): patterns.CL100K,
    Split(patterns.O200K, "removed", True): patterns.O200K,
    **{Split(every, "removed", True): every for every in (
        r"\s|\S{1,2}", r"\S+|\s+(?!\S)|\s+", r"\p{L}+|\P{L}{1,3}",
    )},
    Split(PUNCTUATION, "contiguous"): rf"(?:{PUNCTUATION})+",
    Split(r"\p{N}{1,3}", "contiguous", True): r"(?:\p{N}{1,3})+",
    Split(r"a|ab|b(?!c)", "contiguous"): r"(?:a|ab|b(?!c))+",
    Split(" ", "merged_with_previous"): r"[^\U00000020-\U00000020]*[\U00000020-\U00000020]",
    Split(r"\s+", "merged_with_previous", True): r"[\p{space}]+[^\p{space}]*",
    Split(r"\S", "merged_with_next"): r"[\P{space}][^\P{space}]*",
    Split(r"[^\d_]", "merged_with_next", True): r"[\p{digit}\U0000005f-\U0000005f]*[^\p{digit}\U0000005f-\U0000005f]",
    Split("(?i:k)", "merged_with_next"): r"(?i:[\U0000006b-\U0000006b])(?i:[^\U0000006b-\U0000006b])*",
    Split(".+", "merged_with_next", True): r"[\U0000000a-\U0000000a]*[^\U0000000a-\U0000000a]+",
}
#: Splits that stay what they are: text may be dropped, the pattern does not compile, or is more than one set.
KEPT = [
    Split(r"\s+", "removed"),
    Split(r"\p{N}{1,3}", "removed", True),
    Split(r"\S+|\s+(?!\S)", "removed", True),  # a space before a word
    *[Split(some, "removed", True) for some in (
        "[ab]*", r"\S+|\s+\Z", r"\p{L}+|\P{L}{2,3}", "a*b|[^ab]", "[^\\s\\S]|.",
    )],
    Split(r"\b\w+|\W", "removed", True),
    Split("[ab]*", "contiguous"),
    Split("(?<=a)b", "contiguous"),
    Split("a+?", "contiguous"),
    Split("ab", "merged_with_next"),
    Split("a{2}", "merged_with_previous"),
    PrefixSpace(),
    Printable(),
]
texts = st.text(st.sampled_from("aabbc -_.,'1²9½é中\n\r\t\u3000\u0301ſK\U0001f642Ⅷ"), max_size=20)


def cut(text: str, step: Step) -> list[str]:
    return [one.text for one in splits.apply(step, [Fragment(text)])]


@pytest.mark.parametrize("split", PLAIN, ids=repr)
@given(text=texts)
def test_the_plain_pattern_cuts_alike(split: Split, text: str) -> None:
    (plain,) = patterns.as_tuple(simplified((split,)))
    assert plain == PLAIN[split]
    assert cut(text, plain) == cut(text, split)


@pytest.mark.parametrize("step", KEPT, ids=repr)
def test_what_has_no_plain_pattern_is_kept(step: Step) -> None:
    assert simplified(("a", step, " ")) == ("a", step, " ")
    for plain in (None, "a", ("a", "(?<=b)c"), ()):
        assert simplified(plain) is plain


sets = st.sampled_from(["a", "[ab]", r"[^a]", r"\s", r"\S", r"[^\s\p{L}]", r"\p{N}", r"[\S ]", r"[^\Wa]", "é", "."])
repeats = st.tuples(sets, st.sampled_from(["", "+", "++", "{2,3}", "?"])).map("".join)
regexes = st.lists(st.lists(repeats, min_size=1, max_size=3).map("".join), min_size=1, max_size=3).map("|".join)


@given(text=texts, split=st.builds(Split, regexes, st.sampled_from(BEHAVIORS), st.booleans()))
def test_any_split_and_its_plain_pattern_cut_alike(text: str, split: Split) -> None:
    for step in patterns.as_tuple(simplified(split)):
        assert cut(text, step) == cut(text, split)
