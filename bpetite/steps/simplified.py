r"""Splits and normalizations rewritten into simpler ones that give the same pre-tokens, so that the core can run them.

The compiled scanner cuts by plain patterns only. Each split here cuts every text as the plain pattern beside it:

* ``Split(p, "isolated")`` and `p`.
* ``Split(p, "removed", invert=True)`` and `p`, if the matches of `p` cover every text, as its automaton shows.
* ``Split(p, "contiguous")`` and ``(?:p)+``, inverted or not: at the end of a match `p` finds the next one, and no
  earlier match is taken back.
* ``Split(" ", "removed")`` and a space; the same for ``\s``, and for a split that keeps all but white space, as
  ``Whitespace`` of ``tokenizers``. The core skips each pre-token that begins with a removed character.
* ``Split("[ab]", "merged_with_previous")`` and ``[^ab]*[ab]``, and ``Split("[ab]+", ...)`` and ``[^ab]*[ab]+``, for a
  single set of characters; ``merged_with_next`` and ``[ab][^ab]*``; inverted, each is the other.

A tokenizer keeps, saves and shows the splits that it was given.
"""
from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ..patterns import as_setting, as_tuple, is_plain
from ._rewriting import CharsMap, Rewriter
from .charsmap import Precompiled, charsmap_of
from .normalizers import (
    FORMS,
    Mapped,
    Normalization,
    Normalizer,
    Prepend,
    Replace,
    character_map,
    normal_form,
    trimming,
)
from .splits import Metaspace, Split, SplitPattern, Step

if TYPE_CHECKING:
    from ..splitting.pattern.regex_parser import CharSet


#: The most characters of a set that the core looks for one by one.
FEW = 64


@lru_cache(maxsize=64)
def simplified(pattern: SplitPattern) -> SplitPattern:
    """The pattern with a plain pattern in place of each split for which one is known.

    >>> simplified((Split(r"\\p{N}", "contiguous"), Split(" ", "removed")))
    ('(?:\\\\p{N})+', Split(pattern=' ', behavior='removed', invert=False))
    """
    if is_plain(pattern):
        return pattern
    return tuple(_plain(step) or step if isinstance(step, Split) else step for step in as_tuple(pattern))


def without_removals(pattern: SplitPattern) -> tuple[SplitPattern, str]:
    """The pattern with splits that cut and remove nothing, and the characters that the removed pre-tokens begin with.
    If it removes other pre-tokens, the pattern as it is and "".

    >>> without_removals(("a", Split(" ", "removed")))
    (('a', ' '), ' ')
    """
    steps, dropped = list(as_tuple(pattern)), ""
    for at, step in enumerate(steps):
        if isinstance(step, Split) and step.behavior == "removed":
            steps[at], removed = step.pattern, _removed(step)
            if not removed:
                return pattern, ""
            dropped += removed
    return tuple(steps), dropped


@lru_cache(maxsize=64)
def _removed(split: Split) -> str:
    """The characters that a split removes, if no pre-token that it keeps holds one; "" if they are unknown or many."""
    from ..splitting.pretokenizer import compiled

    if not split.invert:
        found = _char_set(split.pattern)
        return "" if found is None else _members(found[0])
    tables = compiled((rf"{split.pattern}|\s",))
    if isinstance(tables, str) or not tables.gapless:
        return ""
    import regex

    from ..splitting.pattern.regex_parser import parse, sets_of

    sees_white_space = any(regex.search(_written(chars), _white_space()) for chars in sets_of(parse(split.pattern)))
    return "" if sees_white_space else _white_space()


@cache
def _white_space() -> str:
    found = _char_set(r"\s")
    assert found is not None
    return _members(found[0])


def _char_set(pattern: str) -> tuple[CharSet, str] | None:
    """The set of an expression that is one set of characters, and "+" if it is repeated; None for another one."""
    from ..splitting.pattern.regex_parser import CharSet, Repeat, UnsupportedPattern, parse

    try:
        tree = parse(pattern)
    except UnsupportedPattern:
        return None
    once = tree.part if isinstance(tree, Repeat) and (tree.least, tree.most) == (1, None) else tree
    return (once, "+" * (once is not tree)) if isinstance(once, CharSet) else None


def _members(chars: CharSet) -> str:
    """The characters of a set; "" for many."""
    from ..splitting.pattern.unicode_data import class_ranges

    ranges: list[tuple[int, int]] = []
    for item, _ in chars.items:
        ranges += (class_ranges(item.name) or ()) if item.name else [(item.first, item.last + 1)]
    if chars.negated or sum(stop - start for start, stop in ranges) > FEW:
        return ""
    plain = all(sign and not item.ignore_case for item, sign in chars.items)
    return "".join(chr(point) for start, stop in ranges for point in range(start, stop)) if plain else ""


def _plain(split: Split) -> str | None:
    """The plain pattern that cuts as a split does, None if none is known. It compiles, unless the split isolates."""
    from ..splitting.pretokenizer import compiled  # not at the top: few tokenizers have such splits

    if split.behavior == "isolated":
        return split.pattern
    plain = _rewritten(split)
    tables = compiled((plain,)) if plain is not None else ""
    if isinstance(tables, str):
        return None
    return plain if split.behavior != "removed" or tables.gapless else None


def _rewritten(split: Split) -> str | None:
    if split.behavior == "removed":
        return split.pattern if split.invert else None
    if split.behavior == "contiguous":
        return f"(?:{split.pattern})+"
    found = _char_set(split.pattern)
    if found is None:
        return None
    once, repeated = found
    others = _written(once._replace(negated=not once.negated))
    match = _written(once) + repeated
    return f"{others}*{match}" if (split.behavior == "merged_with_previous") != split.invert else f"{match}{others}*"


def _written(chars: CharSet) -> str:
    """The set as a regular expression."""
    members = "".join(
        f"\\{'p' if sign else 'P'}{{{item.name}}}" if item.name else f"\\U{item.first:08x}-\\U{item.last:08x}"
        for item, sign in chars.items
    )
    ignoring_case = any(item.ignore_case for item, _ in chars.items)  # all members or none
    return f"(?i:[{'^' * chars.negated}{members}])" if ignoring_case else f"[{'^' * chars.negated}{members}]"


def written_for_spaces(normalization: Normalization) -> set[str]:
    """The texts that a normalization writes for every space, so that no space is left.

    >>> written_for_spaces((Replace(" ", "_"), Prepend("_"))), written_for_spaces((Replace(" ", "_"), Prepend(" ")))
    ({'_'}, set())
    """
    steps = as_tuple(normalization)
    written = set()
    for number, step in enumerate(steps):
        puts_in = [getattr(one, "text", getattr(one, "content", " ")) for one in steps[number + 1 :]]
        if isinstance(step, Replace) and step.writes_spaces and not any(" " in one for one in (step.content, *puts_in)):
            written.add(step.content)
    return written


def without_splits_at_spaces(pattern: SplitPattern, normalization: Normalization) -> SplitPattern:
    """The pattern without its splits at spaces, where the normalization writes something else for each of them.

    >>> without_splits_at_spaces((Split(" ", "removed"), Split("a", "removed")), Replace(" ", "_"))
    (Split(pattern='a', behavior='removed', invert=False),)
    """
    if not written_for_spaces(normalization):
        return pattern
    return tuple(one for one in as_tuple(pattern) if not _is_at_spaces(one))


def _is_at_spaces(step: Step) -> bool:
    """True for a split that leaves a text without spaces as it is."""
    return isinstance(step, Split) and step.pattern == " " and not step.invert


def rewriter_of(normalization: Normalization, space: str) -> tuple[Rewriter | None, tuple[Normalizer, ...]]:
    """Compile the first steps of a normalization: a normal form and maps of characters, or the steps of a model of
    SentencePiece, which also trims spaces. Returns the rewriter, None for none, and the steps after it."""
    steps = as_tuple(normalization)
    (leading, runs), trailing = trimming(space)
    maps = tuple(step for step in steps if isinstance(step, Precompiled) and step == Precompiled(step.charsmap))
    for rest in ((Replace(" ", space),), (Prepend(space), Replace(" ", space))):
        if steps == (*maps, leading, runs, *rest, trailing):
            return (charsmap_of(maps[0], trims=True) if maps else CharsMap(b"", True)), rest
        if maps and steps == (*rest[:-1], *maps, rest[-1]):
            return charsmap_of(maps[0], prefix_first=True), rest
    rewriter: Rewriter | None = None
    while steps and (isinstance(steps[0], Mapped) or (rewriter is None and steps[0] in FORMS)):
        first, *others = steps
        rewriter = character_map(first.name, rewriter) if isinstance(first, Mapped) else normal_form(first)
        steps = tuple(others)
    return rewriter, steps


def without_white_space_steps(normalization: Normalization, pattern: SplitPattern) -> Normalization:
    """The normalization without the steps that replace white space by white space, if the pattern begins with a split
    that removes all white space: no later step sees a difference.

    >>> without_white_space_steps(("NFC", Replace(r"\\s+", " "), Mapped("Lowercase")), Split(r"\\s", "removed"))
    ('NFC', Mapped(name='Lowercase'))
    """
    first = next(iter(as_tuple(pattern)), None)
    removed = _removed(first) if isinstance(first, Split) and first.behavior == "removed" else ""
    return as_setting([one for one in as_tuple(normalization) if not _is_of_white_space(one, removed)])  # type: ignore[no-any-return]


def _is_of_white_space(step: Normalizer, removed: str) -> bool:
    """True for a step that replaces white space by white space, if all of it is `removed`. No normal form or map makes
    white space of other characters."""
    if not isinstance(step, Replace) or not step.content:
        return False
    found = _char_set(step.pattern)
    members = "" if found is None else _members(found[0])
    return members != "" and {*members, *step.content} <= {*_white_space()} <= {*removed}


def space_before(normalization: Normalization, steps: tuple[Step, ...], space: str) -> str | None:
    """Say when a space is put before a text: "" for never, "always", "missing" if the text begins with none, "first"
    for "missing" at the beginning of the whole text alone. None if the normalization and the steps do more than this
    and writing `space` for spaces.

    >>> space_before((Prepend("▁"), Replace(" ", "▁")), (), "▁"), space_before(None, (Metaspace("▁", "first"),), "▁")
    ('always', 'first')
    """
    rewriting = as_tuple(normalization)
    steps_left = [one for one in rewriting if not (isinstance(one, Replace) and one.writes_spaces == space != "")]
    if not steps_left and not steps:
        return ""
    if not space or len(steps_left) + len(steps) > 1:
        return None
    if steps_left:
        return "always" if steps_left[0] == Prepend(space) or steps_left[0] == Prepend(" ") == rewriting[0] else None
    if not isinstance(steps[0], Metaspace) or steps[0].space != space:
        return None
    return {"never": "", "always": "missing", "first": "first"}[steps[0].prefix]
