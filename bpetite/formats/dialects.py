r"""Patterns translated between dialects of regular expressions. A part that means the same in both stays; any other is
rewritten, or refused by name.

``tokenizers`` reads the patterns of tokenizer.json with Oniguruma (Ruby's syntax), tiktoken its own with Rust's
``fancy_regex``, and bpetite with the ``regex`` module. The three agree on nearly everything that split patterns use.
They differ here, and in the classes of POSIX (:data:`POSIX`):

=============== ============================== ============================== ==============================
\               Oniguruma                      Rust                           ``regex``
=============== ============================== ============================== ==============================
``$``           before any newline             at the end                     at the end, or before a last newline
``^``           after any newline              at the start                   at the start
``\Z`` ``\z``   as ``$`` in ``regex``; the end  the end                        the end; unknown
``x{1,3}+``     repeated: ``(?:x{1,3})+``      possessive                     possessive
``\w``          without U+200C, U+200D; alone  as ``regex``                   UTS 18
                with ``²³¹¼½¾``
``\h``          a hexadecimal digit            unknown                        horizontal space
``[a[b]&&[c]]`` sets in sets                   sets in sets                   literal characters
``{`` alone     a literal                      an error                       may start a fuzzy match
``(?i:\p{Lu})`` capitals                       all letters with case          all letters with case
``(?i:i)``      ``i``, ``I``                   ``i``, ``I``                   ``İ``, too, which is left so
=============== ============================== ============================== ==============================
"""
from __future__ import annotations

from typing import NoReturn

import regex

from ..errors import FormatError, short_repr
from ..splitting.pattern.regex_parser import compile_regex

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"  # in a set; alone it also has some other numbers
_WORD_ALONE = _WORD + "²³¹¼½¾"
#: Anchors and letter escapes with their translations, by the dialect of the source.
LETTERS = {
    "oniguruma": {
        "$": "(?m:$)", "^": "(?m:^)", r"\A": "^", r"\Z": "$", r"\z": r"\Z", r"\w": f"[{_WORD_ALONE}]",
        r"\W": f"[^{_WORD_ALONE}]",
    },
    "rust": {"$": r"\Z", "^": "^", r"\z": r"\Z", r"\w": r"\w", r"\W": r"\W"},
    "regex": {"$": r"\Z", "^": r"\A", r"\A": r"\A", r"\Z": r"\z"},
}  # fmt: skip
#: Letter escapes that mean the same in all three dialects.
SAME_LETTERS = frozenset("sSdDrntf")
#: Groups that stand in Oniguruma for an anchor of ``regex``, and that anchor.
ANCHOR_GROUPS = {"(?m:$)": "$", "(?m:^)": "^"}
#: The depth to which groups and sets may be nested.
DEEPEST = 64
#: Groups that mean the same in all three dialects.
GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:")
IGNORING_CASE = "is not the same set in both libraries where case is ignored"
QUANTIFIER = regex.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}|\{,[0-9]+\}")
#: One simple item with a greedy ``{n,m}``.
BRACED_REPEAT = regex.compile(
    r"(?:\\[pP]\{\^?\w+\}|\\.|\[(?:\\.|[^\\\]])+\]|[^\\\[\](){}|])\{[0-9]+(?:,[0-9]*)?\}"
)
PROPERTY = regex.compile(r"\\[pP]\{\^?([A-Za-z_ ]+)\}|\\[pP][A-Z]")
CODE_POINT = regex.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[xu]\{[0-9a-fA-F]{1,6}\}")
#: Stand-ins for ``[:name:]`` in a set, by the dialect of the source. Oniguruma follows Unicode, ``regex`` Unicode but
#: for digits and symbols. A name that is not listed has no exact counterpart, and none of Rust's is read.
POSIX = {
    "oniguruma": {
        "alnum": r"\p{Alphabetic}\p{Nd}", "alpha": r"\p{Alphabetic}", "ascii": r"\x00-\x7f", "blank": r"\t\p{Zs}",
        "cntrl": r"\p{Cc}", "digit": r"\p{Nd}", "graph": "[:graph:]", "lower": r"\p{Lowercase}", "print": "[:print:]",
        "punct": r"\p{P}\p{S}", "space": r"\s", "upper": r"\p{Uppercase}",
        "word": _WORD, "xdigit": "0-9A-Fa-f",
    },
    "regex": {
        "alnum": r"\p{Alphabetic}0-9", "alpha": r"\p{Alphabetic}", "ascii": r"\x00-\x7f", "blank": r"\t\p{Zs}",
        "cntrl": r"\p{Cc}", "digit": "0-9", "graph": "[:graph:]", "lower": r"\p{Lowercase}", "print": "[:print:]",
        "space": r"\s", "upper": r"\p{Uppercase}", "xdigit": "0-9A-Fa-f",
    },
}  # fmt: skip
POSIX_CLASS = regex.compile(r"\[:(\^?)([A-Za-z]+):\]")
#: Stand-ins of one class, and their complements.
COMPLEMENTS = {r"\s": r"\S", "[:graph:]": "[:^graph:]", "[:print:]": "[:^print:]"}
#: Names of properties that are different sets in the dialects if case is ignored.
CASED_PROPERTIES = frozenset(("lu", "ll", "lt", "lc", "l&", "uppercase", "lowercase"))
#: Names of properties that are different sets in the dialects.
UNLIKE_PROPERTIES = frozenset(("word", "graph", "print", "punct", "alnum", "space", "blank", "xdigit", "any"))


def from_oniguruma(pattern: str) -> str:
    r"""A pattern of tokenizer.json, translated for ``regex``.

    Raises:
        FormatError: It uses something that has no exact counterpart; names it.

    >>> from_oniguruma(r"\p{N}{1,3}+|a$")
    '(?:\\p{N}{1,3})+|a(?m:$)'
    """
    return _Translation(pattern, "oniguruma").run()


def from_rust(pattern: str) -> str:
    r"""A pattern of tiktoken, translated for ``regex``; the patterns of its published encodings stay as they are.

    >>> from_rust(r"[\p{L}&&[^\p{Han}]]+$")
    '(?:(?=[^\\p{Han}])[\\p{L}])+\\Z'
    """
    return _Translation(pattern, "rust").run()


def to_oniguruma(pattern: str) -> str:
    r"""The inverse of :func:`from_oniguruma`.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s+$")
    '(?>\\p{N}{1,3})|\\s+\\Z'
    """
    return _Translation(pattern, "regex").run()


class _Translation:
    """One pass over a pattern of a dialect: from "regex" to Oniguruma, from "oniguruma" and "rust" to ``regex``."""

    def __init__(self, pattern: str, dialect: str) -> None:
        self.pattern, self.dialect, self.at, self.depth = pattern, dialect, 0, 0
        self.ignore_case = pattern.startswith("(?i)")
        self.chooses = False  # true after an alternative or a lazy repeat
        self.what = "split pattern" if dialect == "rust" else "pattern"  # tokenizer.json has them in normalizers, too

    def run(self) -> str:
        prefix = "(?i)" if self.ignore_case else ""
        self.at = len(prefix)
        written = prefix + self.alternatives()
        if self.at < len(self.pattern):
            self.refuse(")", "closes no group")
        if self.dialect != "regex":
            try:
                compiled = compile_regex(written, self.what)
            except ValueError as bad:
                raise FormatError(str(bad)) from None
            if self.dialect == "oniguruma" and self.chooses and compiled.fullmatch(""):
                # at `b`, after the empty match of `a*|b`, `regex` looks for `b`, and Oniguruma goes on behind it
                self.refuse(self.pattern, "can match nothing, and then the libraries go on differently", at=0)
        return written

    def refuse(self, what: str, why: str | None = None, *, at: int | None = None) -> NoReturn:
        if why is None:
            to_file = self.dialect == "regex"
            why = "has no counterpart in tokenizer.json" if to_file else "means something else here or nothing at all"
        raise FormatError(f"{self.what} {short_repr(self.pattern)}: {what!r} at {self.at if at is None else at} {why}")

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def alternatives(self) -> str:
        """The translation up to the end, or to a bracket that closes the group."""
        written: list[str] = []
        while self.at < len(self.pattern) and not self.peek(")"):
            if self.peek("|"):
                written.append("|")
                self.at += 1
                self.chooses = True
            else:
                written.append(self.repeated(self.atom()))
        return "".join(written)

    def repeated(self, atom: str) -> str:
        match = QUANTIFIER.match(self.pattern, self.at)
        if not match:
            return atom
        self.at = match.end()
        written: str = atom + match.group()
        after = self.pattern[self.at : self.at + 1]
        braced = match.group().startswith("{")
        if after == "?":
            if braced and "," not in match.group():
                self.refuse("}?")
            self.at += 1
            self.chooses = True
            written += "?"
        elif after == "+":
            self.at += 1
            if braced and self.dialect == "oniguruma":
                written = f"(?:{written})+"
            elif braced and self.dialect == "regex":
                written = f"(?>{written})"
            else:
                written += "+"
        if QUANTIFIER.match(self.pattern, self.at):
            self.refuse(self.pattern[self.at])
        return written

    def atom(self) -> str:
        character = self.pattern[self.at]
        if character == "(":
            return self.group()
        if character == "[":
            return self.character_class()
        if character == "\\":
            return self.escape()
        self.at += 1
        if character == "$" and self.pattern.endswith(r"\s++", 0, self.at - 1):
            return "$"  # no newline can follow all white space, so the anchors of the dialects agree
        if character in "$^":
            return LETTERS[self.dialect][character]
        if character in "*+?":
            self.refuse(character, "repeats nothing", at=self.at - 1)
        return "\\" + character if character in "{}" else character

    def group(self) -> str:
        for group, anchor in ANCHOR_GROUPS.items():
            if self.peek(group) and self.dialect == "regex":
                self.at += len(group)
                return anchor
        opening = next((opening for opening in GROUPS if self.peek(opening)), None)
        if opening is None:
            if self.peek("(?"):
                self.refuse(self.pattern[self.at : self.at + 4])
            opening = "("
        start = self.at
        self.at += len(opening)
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse(opening, "is nested too deep")
        outer, self.ignore_case = self.ignore_case, self.ignore_case or opening == "(?i:"
        inside = self.alternatives()
        self.ignore_case = outer
        self.depth -= 1
        if not self.peek(")"):
            self.refuse(opening, "is not closed", at=start)
        self.at += 1
        if opening == "(?>" and self.dialect == "oniguruma" and BRACED_REPEAT.fullmatch(inside):
            return inside + "+"
        return f"{opening}{inside})"

    def escape(self, in_set: bool = False) -> str:
        if match := PROPERTY.match(self.pattern, self.at):
            name = regex.sub("[ _]", "", match.group(1) or "").lower()
            if name in UNLIKE_PROPERTIES:
                self.refuse(match.group())
            if self.ignore_case and (in_set or name in CASED_PROPERTIES) and self.dialect != "rust":
                self.refuse(match.group(), IGNORING_CASE)
            self.at = match.end()
            return str(match.group())
        if match := CODE_POINT.match(self.pattern, self.at):
            self.at = match.end()
            character = chr(int(match.group().strip(r"\xu{}"), 16))
            return "\\" + character if character.isascii() and not character.isalnum() else character
        written = self.pattern[self.at : self.at + 2]
        letter = written[1:]
        if letter in ("w", "W") and self.dialect == "regex":
            self.refuse(written)
        translated = LETTERS[self.dialect].get(written)
        if translated is None:
            if letter not in SAME_LETTERS and (letter.isalnum() or not letter.isascii() or not letter):
                self.refuse(written)
            translated = written
        self.at += 2
        return translated

    def character_class(self) -> str:
        """A set of characters; sets in sets become one set, an intersection becomes a lookahead and a set."""
        start = self.at
        negated, operands = self.operands()
        if len(operands) == 1:
            inverse, inside = operands[0]
            return f"[{'^' if negated != inverse else ''}{inside}]"
        if negated:
            self.refuse("[^...&&...]", at=start)
        sets = [f"[{'^' if inverse else ''}{inside}]" for inverse, inside in operands]
        return "(?:" + "".join(f"(?={one})" for one in sets[1:]) + sets[0] + ")"

    def operands(self) -> tuple[bool, list[tuple[bool, str]]]:
        """(negated, operands of ``&&``) of a set; an operand is a pair (negated, items), too."""
        start = self.at
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse("[", "is nested too deep")
        self.at += 1
        negated = self.peek("^")
        self.at += negated
        operands: list[tuple[bool, str]] = []
        items: list[str] = []
        nested: str | None = None  # the items of a negated set in this one
        while True:
            if self.at >= len(self.pattern):
                self.refuse("[", "is not closed", at=start)
            character = self.pattern[self.at]
            if self.peek("&&") and self.dialect != "regex":
                operands.append(self._operand(items, nested))
                items, nested = [], None
                self.at += 2
            elif character == "]" and (items or nested is not None or operands):
                operands.append(self._operand(items, nested))
                self.at += 1
                self.depth -= 1
                return negated, operands
            elif posix := POSIX_CLASS.match(self.pattern, self.at):
                inverse, known = self.posix_class(posix[0], posix[2], bool(posix[1]))
                if inverse and nested is not None:
                    self.refuse(posix[0])
                self.at = posix.end()
                if inverse:
                    nested = known
                else:
                    items.append(known)
            elif character == "[" and self.dialect != "regex":
                if self.peek("[:") or nested is not None:
                    self.refuse(self.pattern[self.at : self.at + 2])
                inverse, inside = self.operands()
                if len(inside) != 1 or inside[0][0]:
                    self.refuse("]", "ends a set that cannot be joined with the one around it")
                if inverse:
                    nested = inside[0][1]
                else:
                    items.append(inside[0][1])
            elif character == "\\":
                items.append(self.escape_in_class())
            else:
                # a literal here, a set or an operator in Oniguruma
                items.append("\\" + character if character in "[]" or self.peek("&&") else character)
                self.at += 1

    def posix_class(self, written: str, name: str, inverse: bool) -> tuple[bool, str]:
        """(negated, items) that stand for a class of POSIX in a set."""
        items = POSIX.get(self.dialect, {}).get(name)
        if items is None:
            self.refuse(written)
        if self.ignore_case and items != r"\s":
            self.refuse(written, IGNORING_CASE)
        if self.pattern[self.at - 1] == "-" or self.pattern.startswith("-", self.at + len(written)):
            self.refuse(written, "is beside a -")
        if inverse and regex.fullmatch(r"\\p\{\w+\}", items):
            return False, items.replace("p", "P", 1)
        if inverse and items in COMPLEMENTS:
            return False, COMPLEMENTS[items]
        return inverse, items

    def _operand(self, items: list[str], nested: str | None) -> tuple[bool, str]:
        if nested is not None and items:
            self.refuse("[^", "is in a set with other items")
        if nested is None and not items:
            self.refuse("&&", "has nothing on one side")
        return nested is not None, "".join(items) if nested is None else nested

    def escape_in_class(self) -> str:
        written = self.pattern[self.at : self.at + 2]
        if written in (r"\A", r"\z", r"\Z", r"\W"):
            self.refuse(written)
        if written != r"\w" or self.dialect != "oniguruma":
            return self.escape(in_set=True)
        if self.ignore_case:
            self.refuse(written, IGNORING_CASE)
        self.at += 2
        return _WORD
