"""The spelling of tokens in JSON files and merges.txt, which is also the text of the tokens of some decoders."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..bytelevel import ALPHABET, decode_token_bytes, encode_tokens
from ..errors import FormatError, short_repr
from ._tokens import TokenTable
from .vocab import Vocab

if TYPE_CHECKING:
    from .alphabet import Alphabet


class SpelledIds:
    """The ids of a file's tokens by their spelling.

    Args:
        tokens: The tokens.
        odd: spelling -> id of the tokens that are not found by their bytes.
        alphabet: The alphabet that spells them; None for the printable form.

    >>> SpelledIds(TokenTable({5: b" a"}), {}).get("Ġa")
    5
    """

    def __init__(self, tokens: TokenTable, odd: Mapping[str, int], alphabet: Alphabet | None = None) -> None:
        self._tokens, self._odd, self._alphabet = tokens, odd, alphabet

    def get(self, spelled: str) -> int | None:
        """The id of a token; None if there is none."""
        if spelled in self._odd:
            return self._odd[spelled]
        alphabet = self._alphabet
        token_id: int | None
        if alphabet is None:
            try:
                token_id = self._tokens.find_id(decode_token_bytes(spelled))
            except ValueError:
                return None
            return token_id
        token = alphabet.read_spelled(spelled)
        is_byte = len(token) == 1 and len(spelled) > 1
        token_id = alphabet.byte_ids[token[0]] if is_byte else self._tokens.find_id(token)
        return None if token_id is None or alphabet.spell(token, token_id) != spelled else token_id

    def of_merge(self, merge: object, apart: bool) -> tuple[int, int]:
        """The ids of a merge: two tokens with a space between, or `apart`, in a list."""
        pair = merge if apart else merge.split(" ") if isinstance(merge, str) else None
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            shape = "a pair of tokens" if apart else "two tokens with one space between"
            raise ValueError(f"must be {shape}, not {short_repr(merge)}")
        left, right = map(self.get, pair)
        if left is None or right is None:
            missing = pair[0] if left is None else pair[1]
            raise ValueError(f"{short_repr(merge)}: {short_repr(missing)} is not in the vocabulary")
        return left, right

    def __contains__(self, spelled: str) -> bool:
        return self.get(spelled) is not None

    def __len__(self) -> int:
        return len(self._tokens)


def decode_or_utf8(spelled: str) -> bytes:
    """The bytes of a token. A token in no printable form, which no text reaches, stands for its spelling."""
    try:
        return decode_token_bytes(spelled)
    except ValueError:
        return spelled.encode("utf-8", "surrogatepass")


def spell(vocab: Vocab, what: str) -> dict[int, str]:
    """id -> token as a file spells it, in the order of ids.

    Raises:
        FormatError: The file, called ``what``, would make a token reachable that no text reaches.
    """
    by_id = sorted(vocab.tokens.items())
    if vocab.alphabet is not None and vocab.alphabet.of_characters:
        return _spell_characters(dict(by_id), vocab.alphabet, vocab.unreachable, what)
    spelled = dict(zip(dict(by_id), encode_tokens(token for _, token in by_id), strict=True))
    taken: set[str] = set()
    for token_id in vocab.unreachable:
        token = vocab.tokens[token_id]
        try:
            spelled[token_id] = token.decode("utf-8")
            held = not token or not {*spelled[token_id]} <= {*ALPHABET}
        except UnicodeDecodeError:
            held = False
        if not held or spelled[token_id] in taken:
            raise FormatError(f"{what} cannot hold token {token_id} {token!r} as one that no text reaches")
        taken.add(spelled[token_id])
    return spelled


def _spell_characters(
    tokens: dict[int, bytes], alphabet: Alphabet, unreachable: frozenset[int], what: str
) -> dict[int, str]:
    spelled = {token_id: alphabet.spell(token, token_id) for token_id, token in tokens.items()}
    letters = set(spelled.values())
    for token_id in unreachable:
        token = tokens[token_id]
        is_byte = token.isascii() and spelled[token_id] == f"<0x{token[:1].hex().upper()}>"
        if token and not (is_byte and alphabet.spell(token, -1) in letters):
            raise FormatError(f"{what} cannot hold token {token_id} {token!r} as one that no text reaches")
    return spelled


def shown_tokens(vocab: Vocab) -> tuple[TokenTable, dict[int, int]]:
    """The text of each token where these are not its bytes (:data:`.alphabet.Decoding`); and for each id, how many
    trailing spaces are dropped when its token ends the text."""
    alphabet = vocab.alphabet
    assert alphabet is not None
    special = vocab.special_tokens.items()
    literals = {token_id: vocab.spelled(literal) for literal, token_id in special if literal not in vocab.aliases}
    spelled = spell(vocab, "decoding") | literals
    if alphabet.decoding == "spaced":
        texts, gaps = {one: f"{text} " for one, text in spelled.items()}, dict.fromkeys(spelled, 1)
    else:
        texts = {one: text.replace(alphabet.suffix, " ") for one, text in spelled.items()}
        gaps = {one: int(text.endswith(alphabet.suffix)) for one, text in spelled.items()}
    return TokenTable({one: text.encode("utf-8") for one, text in texts.items()}, texts.keys()), gaps
