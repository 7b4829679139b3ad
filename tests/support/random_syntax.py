"""Random strings of regular-expression syntax, cut by the compiled scanner and by `regex`."""
import random

from splits import COMPILED

from bpetite.patterns import as_tuple
from bpetite.reference import split
from bpetite.splitting.pattern.regex_parser import parse
from bpetite.splitting.pretokenizer import pretokenizer

#: Syntax, whole and in parts, and ordinary characters; both cases, the characters that only ignoring case relates.
TOKENS = (
    *r"()[]{}?*+|^$\.-#&~:=!<>,_;'/",
    *"aabBckKsSpPLNMdwxuUZ012 \n\u017f\u212a\u0345é中",
    "DIGIT ONE}", " -~", "{ 1}",
    r"\p", r"\P", r"\p{", r"\P{", r"\p{^", "L}", "N}", "Lu}", "gc=L}", "Script:Latin}", "Is_L}", "}", r"\pL",
    r"\PN", r"\p{L}", r"\P{N}", r"\p{Lu}", r"\p{^M}", r"\s", r"\S", r"\d", r"\w", r"\W", r"\n", r"\r", r"\t",
    r"\\", r"\.", r"\x", r"\x4", r"\x61", r"\x{", r"\u", r"\u00", r"\u0041", r"\U0000", r"\U00000061", r"\0",
    r"\12", r"\101", r"\N{", r"\N", r"\b", r"\B", r"\A", r"\Z", r"\G", r"\R", r"\X", r"\h", r"\K", r"\L<",
    r"\g<", r"\1", "[^", "[:", ":]", "[:alpha:]", "[:^digit:]", "[[", "]]", "&&", "--", "||", "~~", "-[", "]-",
    "a-c", "+--", "(?:", "(?:", "(?i:", "(?i)", "(?-i:", "(?V1)", "(?V0)", "(?x)", "(?s:", "(?#", "(?!", "(?=",
    "(?<!", "(?<=", "(?>", "(?P<a>", "(?|", "(?(1)", "(*", "{1}", "{2}", "{,2}", "{1,}", "{0}", "{2,1}", "{,}",
    "{a", "{e<=1}", "}+", "++", "*+", "?+", "+?", r"\s+$", r"\s++$", "$|", r"(?!\S)", r"\s+(?!\S)", "|", "|",
    "|", ")", ")", "]", "]", "+", "+", r"\-", r"\[", "[]",
)  # fmt: skip
ALTERNATIVES = [one for pattern in COMPILED.values() for stage in as_tuple(pattern) for one in stage.split("|")]
CHARACTERS = "aAbBcCkKsSpPxXzZ019 \n\r\t-_^[]{}()|\\:.'&~,é中\u017f\u212a\u0345\u0138\u0130\u00a0"


def syntax(choose: random.Random) -> str:
    """Tokens in any order."""
    return "".join(choose.choices(TOKENS, k=choose.choice((1, 2, 3, 4, 5, 6, 8, 11))))


def edited(choose: random.Random) -> str:
    """Some alternatives of patterns in use, with random edits."""
    parts = list("|".join(choose.sample(ALTERNATIVES, choose.choice((1, 1, 2, 3)))))
    for _ in range(choose.choice((1, 1, 2, 3, 4))):
        at, stop = choose.randrange(len(parts) + 1), choose.choice((0, 1, 1, 2))
        parts[at : at + stop] = choose.choice(
            ([], [choose.choice(TOKENS)], parts[at : at + stop][::-1], parts[at : at + stop] * 2)
        )
    return "".join(parts)


def compared(pattern: str, choose: random.Random) -> bool:
    """Whether the pattern compiles to a scanner; then it must have cut random texts as `regex` does."""
    try:
        parse(pattern)  # most are outside the subset; this takes less time to say so
        cut = pretokenizer(pattern)
    except ValueError:
        return False
    if cut.scanner is None:
        return False
    alphabet = [char for char in pattern if char.isprintable()] + choose.choices(CHARACTERS, k=8)
    alphabet += [char.swapcase() for char in alphabet if len(char.swapcase()) == 1]
    for length in (3, 8, 8, 30):
        text = "".join(choose.choices(alphabet, k=length))
        assert cut.split(text) == split(text, pattern), (pattern, text)
    return True
