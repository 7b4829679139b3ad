"""GPT-2's printable form of bytes, in which vocab.json, merges.txt and tokenizer.json spell tokens.

A byte that is a printable Latin-1 character stands for itself; the other 68 (controls, space, 0x7F-0xA0, soft hyphen)
take the characters from U+0100 on, in order. So a space is ``Ġ`` and a newline ``Ċ``.

Source: ``bytes_to_unicode`` in ``encoder.py`` of https://github.com/openai/gpt-2
"""
from collections.abc import Collection, Iterable
from itertools import accumulate

__all__ = [
    "ALPHABET", "ORDER", "decode_token", "decode_token_bytes", "decode_tokens_bytes", "encode_token", "encode_tokens",
]

_MOVED = [*range(0x21), *range(0x7F, 0xA1), 0xAD]

#: The character of each byte: ``ALPHABET[byte]``.
ALPHABET = bytes(range(0x100)).decode("latin-1").translate({byte: 0x100 + at for at, byte in enumerate(_MOVED)})

#: The bytes by their characters, as GPT-2 and Hugging Face's trainer number them: printable ones first.
ORDER = bytes(sorted(range(256), key=ALPHABET.__getitem__))

# Both directions go through Latin-1, where byte and code point are the same number. A character below U+0100 that
# stands for no byte becomes U+FFFF, which encoding to Latin-1 refuses as it refuses all characters from U+0100 on.
_TO_CHARACTER = dict(enumerate(ALPHABET))
_TO_BYTE = dict.fromkeys(_MOVED, "\uffff") | {ord(character): byte for byte, character in enumerate(ALPHABET)}


def encode_token(token: str | bytes) -> str:
    """The printable form of a token.

    Args:
        token: Bytes, or a str, which stands for its UTF-8.

    Raises:
        TypeError: The token is neither.
        UnicodeEncodeError: A str with a lone surrogate.

    >>> encode_token(" нужно")
    'ĠÐ½ÑĥÐ¶Ð½Ð¾'
    >>> encode_token(b"\\x00\\xff")
    'Āÿ'
    """
    if isinstance(token, str):
        token = token.encode("utf-8")
    elif not isinstance(token, bytes):
        raise TypeError(f"a token is str or bytes, not {type(token).__name__}")
    return token.decode("latin-1").translate(_TO_CHARACTER)


def decode_token(printable: str) -> str:
    """The text of a token in printable form: the inverse of :func:`encode_token` for a str.

    Raises:
        UnicodeDecodeError: The bytes are not UTF-8, such as half a character; :func:`decode_token_bytes` takes them.
        ValueError: A character stands for no byte; the message names it and its index.

    >>> decode_token("ĠÐ½ÑĥÐ¶Ð½Ð¾")
    ' нужно'
    >>> decode_token("Ð")
    Traceback (most recent call last):
    UnicodeDecodeError: 'utf-8' codec can't decode byte 0xd0 in position 0: unexpected end of data
    """
    return decode_token_bytes(printable).decode("utf-8")


def decode_token_bytes(printable: str) -> bytes:
    """The bytes of a token in printable form: the inverse of :func:`encode_token` for bytes.

    Raises:
        ValueError: A character stands for no byte; the message names it and its index.

    >>> decode_token_bytes("ĠÐ")
    b' \\xd0'
    """
    if not isinstance(printable, str):
        raise TypeError(f"a printable form is a str, not {type(printable).__name__}")
    try:
        return printable.translate(_TO_BYTE).encode("latin-1")
    except UnicodeEncodeError as bad:
        character = printable[bad.start]
        raise ValueError(
            f"{printable!r}: {character!r} (U+{ord(character):04X}) at {bad.start} stands for no byte"
        ) from None


def encode_tokens(tokens: Iterable[bytes]) -> list[str]:
    """:func:`encode_token` for a whole vocabulary, in three quarters of the time."""
    return [token.decode("latin-1").translate(_TO_CHARACTER) for token in tokens]


def decode_tokens_bytes(printables: Collection[str]) -> list[bytes]:
    """:func:`decode_token_bytes` for a whole vocabulary, all at once.

    Raises:
        ValueError: A token cannot be decoded; the message names the first one.
    """
    try:
        data = "".join(printables).translate(_TO_BYTE).encode("latin-1")
    except (TypeError, UnicodeEncodeError):  # which this finds
        return [decode_token_bytes(printable) for printable in printables]
    ends = [*accumulate(map(len, printables))]
    return [data[start:end] for start, end in zip([0, *ends], ends)]
