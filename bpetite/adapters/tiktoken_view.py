"""A tokenizer in the shape of ``tiktoken.Encoding``: its methods, its defaults, its errors.

docs/tiktoken.md lists the differences. As in tiktoken, a special token in a text raises unless it is allowed.
Overlapping special tokens are matched leftmost and longest; tiktoken matches them by hash order.

Sources: https://github.com/openai/tiktoken/blob/main/tiktoken/core.py, and ``_encode_bytes`` in
https://github.com/openai/tiktoken/tree/main/src (release 0.14.0)
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from ..vocabulary.vocab import ErrorHandler

Specials = Literal["all"] | Collection[str]

#: White space that cuts may join.
SPACES = b" \n\t"
#: Attribute of ``tiktoken.Encoding`` that the view lacks -> what to use in its place.
ABSENT = {
    "encode_with_unstable": "bpetite.serving.heal gives the ids that no continuation of a text changes, and the bytes "
                            "that every continuation begins with",
    "_core_bpe": "this is the compiled part of tiktoken; _encode_single_piece encodes one pre-token, and _encode_bytes "
                 "takes any bytes",
    "_encode_only_native_bpe": "encode_ordinary gives the ids of a text",
}  # fmt: skip


class Encoding:
    """A tokenizer with the methods of ``tiktoken.Encoding``, see :meth:`bpetite.Tokenizer.as_tiktoken`. In a process
    that has imported tiktoken, ``isinstance`` takes it for one.

    Args:
        tokenizer: The tokenizer that does the work.
        name: The name of the encoding.
    """

    def __init__(self, tokenizer: Tokenizer, name: str) -> None:
        self.tokenizer: Tokenizer = tokenizer
        self.name: str = name
        #: The highest id.
        self.max_token_value: int = max(tokenizer.vocab_size - 1, 0)
        self._special_tokens: dict[str, int] = tokenizer.special_tokens
        tokens = tokenizer._vocab.token_table
        self._find_id: Callable[[bytes], int | None] = tokens.find_id
        self._find_bytes: Callable[[int], bytes | None] = tokens.get

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance asks for it after the type; nothing is imported for it
        return getattr(sys.modules.get("tiktoken"), "Encoding", type(self))

    def __eq__(self, other: object) -> bool:
        return type(other) is Encoding and (self.tokenizer, self.name) == (other.tokenizer, other.name)

    def __hash__(self) -> int:
        return hash((self.tokenizer, self.name))

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[type[Encoding], tuple[Tokenizer, str]]:
        return Encoding, (self.tokenizer, self.name)

    def __getattr__(self, name: str) -> NoReturn:
        why = f"; {ABSENT[name]}" if name in ABSENT else ""
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{why}", name=name, obj=self)

    # Text to ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Token ids; special tokens are read as text."""
        return self._encode(text, {"allowed_special": ()})

    def encode(
        self, text: str, *, allowed_special: Specials = frozenset(), disallowed_special: Specials = "all"
    ) -> list[int]:
        """Token ids.

        Args:
            text: The text. A surrogate pair in it becomes its character, a lone surrogate becomes U+FFFD.
            allowed_special: Special tokens to recognise, or "all".
            disallowed_special: Literals that must not be in the text; "all" means the special tokens not allowed.

        Raises:
            ValueError: A disallowed literal is in the text.
        """
        options = self._options([text], allowed_special, disallowed_special)
        return self._encode(text, options)

    def encode_to_numpy(
        self, text: str, *, allowed_special: Specials = frozenset(), disallowed_special: Specials = "all"
    ) -> npt.NDArray[np.uint32]:
        """As :meth:`encode`, as an array of uint32; a surrogate raises UnicodeEncodeError."""
        return self.tokenizer.encode_to_numpy(text, **self._options([text], allowed_special, disallowed_special))

    def encode_ordinary_batch(self, text: Sequence[str], *, num_threads: int = 8) -> list[list[int]]:
        """:meth:`encode_ordinary` of many texts."""
        return self.encode_batch(text, num_threads=num_threads, disallowed_special=())

    def encode_batch(
        self,
        text: Sequence[str],
        *,
        num_threads: int = 8,
        allowed_special: Specials = frozenset(),
        disallowed_special: Specials = "all",
    ) -> list[list[int]]:
        """:meth:`encode` of many texts."""
        options = self._options(text, allowed_special, disallowed_special)
        try:
            return self.tokenizer.encode_batch(text, num_threads=num_threads, **options)
        except UnicodeEncodeError:
            return [self._encode(one, options) for one in text]

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of the token with this text or these bytes, which may be special; KeyError if there is none."""
        token = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
        token_id = self._find_id(token)
        if token_id is None and text_or_bytes in self._special_tokens:
            token_id = self._special_tokens[text_or_bytes]
        return self.tokenizer.token_id(text_or_bytes) if token_id is None else token_id

    # Ids to text

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of tokens, joined; KeyError for an id that no token has."""
        return self.tokenizer.decode_bytes(tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of tokens; bytes that are not UTF-8 become U+FFFD unless ``errors`` says otherwise."""
        return self.tokenizer.decode(tokens, errors=cast("ErrorHandler", errors))

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one token; KeyError if no token has the id."""
        data = self._find_bytes(token)
        return self.tokenizer.token_bytes(token) if data is None else data

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token."""
        return [*map(self.decode_single_token_bytes, tokens)]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of tokens, and for each token the index of the first character that it has a byte of.

        Raises:
            UnicodeDecodeError: The tokens are not UTF-8 together.
            ValueError: Decoding puts other text in place of a token, as for CLIP.
        """
        data, joined = self.decode_bytes(tokens), b"".join(self.decode_tokens_bytes(tokens))
        if not joined.endswith(data):
            raise ValueError("this tokenizer's decoder rewrites tokens, so they have no offsets in its text")
        left_out = len(joined) - len(data)  # spaces before the text, of a tokenizer that adds one to it
        starts = (start for start, _ in self.tokenizer._char_spans(tokens, joined))
        return data.decode("utf-8"), [max(0, start - left_out) for start in starts]

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """:meth:`decode` of many; ``num_threads`` has no effect."""
        return self.tokenizer.decode_batch(batch, errors=cast("ErrorHandler", errors))

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """:meth:`decode_bytes` of many; ``num_threads`` has no effect."""
        return [self.tokenizer.decode_bytes(tokens) for tokens in batch]

    # Contents

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens that are not special, sorted."""
        return self._sorted_tokens.copy()

    @cached_property
    def _sorted_tokens(self) -> list[bytes]:
        special = self._special_token_values
        return sorted(token for token_id, token in self.tokenizer.vocab.items() if token_id not in special)

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``; KeyError if there is none."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The literals of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """True for the id of a special token."""
        if not isinstance(token, int):
            raise TypeError(f"a token is an int, not {token!r}")
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The highest id plus one."""
        return self.max_token_value + 1

    # Attributes that code which extends an Encoding reads

    @cached_property
    def _special_token_values(self) -> set[int]:
        return set(self._special_tokens.values())

    @property
    def _pat_str(self) -> str:
        if not isinstance(self.tokenizer.pattern, str):
            raise ValueError(f"the split pattern {self.tokenizer.pattern!r} is not one regular expression")
        return self.tokenizer.pattern

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        vocab = self.tokenizer.to_ranks()._vocab
        ranked = [(t, token_id) for token_id, t in vocab.tokens.items() if token_id not in self._special_token_values]
        # where two ids have the same bytes, the id that text gives comes last and stays
        return dict(sorted(ranked, key=lambda pair: pair[1] not in vocab.unreachable) if vocab.unreachable else ranked)

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of one pre-token; special tokens are read as text."""
        pretoken = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
        return self.tokenizer._encode_pretoken(pretoken)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes that need not be UTF-8.

        Bytes from the first error on join the pre-token before it. If that begins with white space, they join all white
        space before it, because ``\\s*[\\r\\n]+`` joins what was cut.

        Raises:
            ValueError: The tokenizer does not cut text as it is, by its pattern alone.
        """
        tokenizer = self.tokenizer
        try:
            return tokenizer.encode_ordinary(text)
        except UnicodeDecodeError as error:
            valid, rest = text[: error.start], text[error.start :]
        if tokenizer._pipeline is not None or tokenizer.normalization is not None:
            raise ValueError("bytes join a text only in a tokenizer that cuts by a pattern and rewrites nothing")
        ends, ids = tokenizer._pretokenizer.ends(valid), tokenizer.encode_ordinary(valid)
        last = self._encode_single_piece(valid[ends[-2] if len(ends) > 1 else 0 :])
        at = len(ids) - len(last)
        if last and self._is_space(last[0]):
            while at and self._is_space(ids[at - 1]):
                at -= 1
        return ids[:at] + self._encode_single_piece(self.decode_bytes(ids[at:]) + rest)

    def _is_space(self, token: int) -> bool:
        return not self.decode_single_token_bytes(token).strip(SPACES)

    def _options(self, texts: Iterable[str], allowed: Specials, disallowed: Specials) -> dict[str, Any]:
        """The keywords of ``Tokenizer.encode`` that mean the same. Here a literal need not be a special token."""
        for name, value in (("allowed_special", allowed), ("disallowed_special", disallowed)):
            if isinstance(value, str) and value != "all":
                raise TypeError(f'{name} is "all" or a collection of literals, not {value!r}')
        literals = self.special_tokens_set
        recognised = literals if allowed == "all" else literals & set(allowed)
        if disallowed == "all":
            refused = literals - recognised
        else:
            refused = literals & set(disallowed)
            for literal in set(disallowed) - literals:
                if any(literal in text for text in texts):
                    raise ValueError(f"the text holds {literal!r}, which disallowed_special names")
        return {"allowed_special": recognised, "disallowed_special": refused}

    def _encode(self, text: str, options: dict[str, Any]) -> list[int]:
        try:
            return self.tokenizer.encode(text, **options)
        except UnicodeEncodeError:
            # as in tiktoken, literals are refused in the text as given, not in the mended one
            for literal in options.get("disallowed_special", ()):
                if literal in text:
                    raise ValueError(f"the text holds the special token {literal!r}, which is not allowed") from None
            mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return self.tokenizer.encode(mended, allowed_special=options["allowed_special"])
