"""A tokenizer in the shape of a fast tokenizer of ``transformers``, for training scripts and collators.

It is a ``PreTrainedTokenizerBase``, so what takes one of those takes this; calling, padding, truncating, offsets and
decoding run on bpetite. It is picklable, and calling it changes nothing in it, so ``datasets.map`` finds its cache.
"""
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from transformers import AddedToken, BatchEncoding, PreTrainedTokenizerBase
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

from ..bytelevel import decode_token_bytes, encode_token
from ..vocabulary.vocab import Vocab
from .rows import Row, Sample, cut, lay_out

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["TransformersTokenizer"]


class TransformersTokenizer(PreTrainedTokenizerBase):
    """What :meth:`bpetite.Tokenizer.as_transformers` gives.

    Args:
        tokenizer: The tokenizer that does the work.
        options: Those of ``PreTrainedTokenizerBase``: ``pad_token``, ``bos_token``, ``model_max_length``,
            ``padding_side``, ``chat_template`` and so on. Special tokens that are no tokens yet are added.
    """

    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012 - the base class declares it so

    def __init__(self, tokenizer: Tokenizer, **options: Any) -> None:
        self.tokenizer = tokenizer
        if tokenizer.eot_token is not None:
            options.setdefault("eos_token", tokenizer.token_bytes(tokenizer.eot_token).decode("utf-8"))
        super().__init__(**options)
        self.add_tokens([token for token in self.all_special_tokens if token not in tokenizer.special_tokens], True)

    # What is in it

    @property
    def is_fast(self) -> bool:
        """True: offsets and the like are there."""
        return True

    @property
    def vocab_size(self) -> int:
        """The rows that an embedding table needs: the highest id and one."""
        return self.tokenizer.vocab_size

    def __len__(self) -> int:
        return self.tokenizer.vocab_size

    def __bool__(self) -> bool:
        return True

    def get_vocab(self) -> dict[str, int]:
        """printable form (the literal, for special tokens) -> id."""
        special = set(self.tokenizer.special_tokens.values())
        made = {encode_token(t): token_id for token_id, t in self.tokenizer.vocab.items() if token_id not in special}
        return made | self.tokenizer.special_tokens

    def get_added_vocab(self) -> dict[str, int]:
        """literal -> id of the special tokens."""
        return self.tokenizer.special_tokens

    @property
    def added_tokens_encoder(self) -> dict[str, int]:
        """literal -> id of the special tokens."""
        return self.tokenizer.special_tokens

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """id -> special token."""
        flags = self._vocab.token_flags
        made = {}
        for literal, token_id in sorted(self.tokenizer.special_tokens.items(), key=lambda item: item[1]):
            of = flags.get(literal, ())
            made[token_id] = AddedToken(
                literal,
                single_word="single_word" in of,
                lstrip="lstrip" in of,
                rstrip="rstrip" in of,
                normalized="normalized" in of,
                special="plain" not in of,
            )
        return made

    @property
    def _vocab(self) -> Vocab:
        return self.tokenizer._vocab

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken], special_tokens: bool = False) -> int:
        """Tokens that are new get the next ids: a tokenizer is immutable, so this view takes another one."""
        vocab = self._vocab
        specials, flags = dict(vocab.special_tokens), dict(vocab.token_flags)
        tokens = dict(vocab.tokens)
        for token in new_tokens:
            literal = str(token)
            if not literal or literal in specials:
                continue
            specials[literal] = vocab.id_of.get(literal.encode("utf-8"), max(tokens, default=-1) + 1)
            tokens[specials[literal]] = literal.encode("utf-8")
            given = token if isinstance(token, AddedToken) else AddedToken(literal, special=special_tokens)
            # (that the library would look for it after the others matters only where text is normalized)
            found = [flag for flag in ("lstrip", "rstrip", "single_word") if getattr(given, flag)]
            found += [] if special_tokens or given.special else ["plain"]
            if found:
                flags[literal] = tuple(found)
        added = len(specials) - len(vocab.special_tokens)
        if added:
            changed = replace(vocab, tokens=tokens, special_tokens=specials, token_flags=flags)
            self.tokenizer = type(self.tokenizer).from_vocab(changed)
        return added

    def _convert_token_to_id_with_added_voc(self, token: str) -> int | None:
        special = self.tokenizer.special_tokens.get(token)
        if special is not None:
            return special
        try:
            return self._vocab.id_of[decode_token_bytes(token)]
        except (KeyError, ValueError):
            unknown = self._special_tokens_map.get("unk_token")
            return self.tokenizer.special_tokens.get(str(unknown)) if unknown is not None else None

    def _spell(self, token_id: int) -> str:
        token = self.tokenizer.token_bytes(token_id)
        literal = token.decode("utf-8", "replace")
        return literal if self.tokenizer.special_tokens.get(literal) == token_id else encode_token(token)

    def convert_ids_to_tokens(self, ids: int | Sequence[int], skip_special_tokens: bool = False) -> Any:
        """The printable form of an id or of each; None for an id that is no token."""
        if isinstance(ids, int):
            return self._spell(ids) if ids in self._vocab.tokens else None
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return [self.convert_ids_to_tokens(int(one)) for one in ids if int(one) not in skipped]

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """The text of printable forms."""
        return self._decode([self._convert_token_to_id_with_added_voc(token) for token in tokens])

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """How many tokens the template puts around a text, or a pair."""
        template = self.tokenizer.template
        parts = () if template is None else template.pair if pair else template.single
        return sum(len(part.ids) for part in parts)

    def get_special_tokens_mask(
        self,
        token_ids_0: Sequence[int],
        token_ids_1: Sequence[int] | None = None,
        already_has_special_tokens: bool = False,
    ) -> list[int]:
        """1 for special tokens, 0 for others."""
        if already_has_special_tokens:
            special = set(self.all_special_ids)
            return [int(token_id in special) for token_id in token_ids_0]
        texts = [token_ids_0] if token_ids_1 is None else [token_ids_0, token_ids_1]
        sample = Sample(texts, lambda text: [], None, self._spell)
        return lay_out(sample, [(0, len(ids)) for ids in texts], self.tokenizer.template).special_tokens_mask

    # Text to ids

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **options: Any
    ) -> list[str]:
        """The printable forms of the tokens of a text."""
        made: list[str] = self._encode_plus(text, pair, add_special_tokens=add_special_tokens, **options).tokens()
        return made

    def _encode_plus(  # the signature is the base class's
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        padding_strategy: Any = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: Any = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        split_special_tokens: bool | None = None,
        **_: Any,
    ) -> BatchEncoding:
        firsts, seconds, batched = _inputs(text, text_pair, is_split_into_words)
        samples = self._samples(firsts, seconds, is_split_into_words, split_special_tokens)
        template = self.tokenizer.template if add_special_tokens else None
        bound = None if truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else max_length
        rows: list[Row] = []
        origin: list[int] = []
        for number, sample in enumerate(samples):
            around = self.num_special_tokens_to_add(len(sample.ids) > 1) if template is not None else 0
            windows = cut(
                [len(ids) for ids in sample.ids],
                None if bound is None else bound - around,
                TruncationStrategy(truncation_strategy).value,
                self.truncation_side,
                stride,
                return_overflowing_tokens,
            )
            rows += [lay_out(sample, window, template) for window in windows]
            origin += [number] * len(windows)
        for row in rows:
            self._eventual_warn_about_too_long_sequence(row.ids, max_length, verbose)
        self._pad_rows(rows, padding_strategy, max_length, pad_to_multiple_of, padding_side)

        data: dict[str, list[Any]] = {"input_ids": [row.ids for row in rows]}
        wanted = self.model_input_names
        if return_token_type_ids or (return_token_type_ids is None and "token_type_ids" in wanted):
            data["token_type_ids"] = [row.type_ids for row in rows]
        if return_attention_mask or (return_attention_mask is None and "attention_mask" in wanted):
            data["attention_mask"] = [row.attention_mask for row in rows]
        if return_special_tokens_mask:
            data["special_tokens_mask"] = [row.special_tokens_mask for row in rows]
        if return_offsets_mapping:
            data["offset_mapping"] = [row.offsets for row in rows]
        if return_length:
            data["length"] = [len(row) for row in rows]
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = origin
        elif not batched and return_tensors is None:
            data = {key: value[0] for key, value in data.items()}
        return BatchEncoding(data, rows, tensor_type=return_tensors)

    def _samples(
        self, firsts: Sequence[Any], seconds: Sequence[Any] | None, as_words: bool, split_special: bool | None
    ) -> list[Sample]:
        """All inputs, encoded in one call."""
        split_special = self.split_special_tokens if split_special is None else split_special
        flags = self._vocab.token_flags
        allowed: Any = "all"
        if split_special:
            allowed = [literal for literal in self.tokenizer.special_tokens if "plain" in flags.get(literal, ())]
        columns = [firsts] if seconds is None else [firsts, seconds]
        encoded: list[list[tuple[list[int], list[int] | None]]] = []
        for column in columns:
            texts = [word for text in column for word in text] if as_words else column
            flat = iter(self.tokenizer.encode_batch(texts, allowed_special=allowed))
            if as_words:
                encoded.append([_join([next(flat) for _ in text]) for text in column])
            else:
                encoded.append([(ids, None) for ids in flat])
        samples = []
        for number in range(len(firsts)):
            given = [column[number] for column in columns]
            parts = [one[number] for one in encoded]

            def spans(text: int, given: Sequence[Any] = given) -> list[tuple[int, int]]:
                pieces = given[text] if as_words else [given[text]]
                return [
                    span
                    for piece in pieces
                    for span in self.tokenizer.encode_with_offsets(piece, allowed_special=allowed)[1]
                ]

            words = [of for _, of in parts if of is not None]
            samples.append(Sample([ids for ids, _ in parts], spans, words or None, self._spell))
        return samples

    def _pad_rows(
        self, rows: Sequence[Row], strategy: Any, max_length: int | None, multiple: int | None, side: str | None
    ) -> None:
        if strategy == PaddingStrategy.DO_NOT_PAD or not rows:
            return
        width = max(map(len, rows))
        if strategy == PaddingStrategy.MAX_LENGTH and max_length is not None:
            width = max(width, max_length)
        if multiple:
            width = -(-width // multiple) * multiple
        for row in rows:
            row.pad(width, self.pad_token_id, self.pad_token_type_id, side or self.padding_side)

    # Ids to text

    def _decode(self, token_ids: Any, skip_special_tokens: bool = False, **_: Any) -> str:
        if isinstance(token_ids, dict | BatchEncoding):
            token_ids = token_ids["input_ids"]
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        if skip_special_tokens:
            flags = self._vocab.token_flags
            special = self.tokenizer.special_tokens.items()
            skipped = {token_id for literal, token_id in special if "plain" not in flags.get(literal, ())}
            ids = [token_id for token_id in ids if token_id not in skipped]
        return self.tokenizer.decode(ids, errors="replace")

    # Files

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write tokenizer.json."""
        place = os.path.join(save_directory, f"{filename_prefix}-" * bool(filename_prefix) + "tokenizer.json")
        self.tokenizer.to_merges().save(place, format="huggingface", overwrite=True)
        return (place,)

    def _save_pretrained(self, save_directory: Any, file_names: tuple[str, ...], **options: Any) -> tuple[str, ...]:
        """Leave a directory that ``transformers.AutoTokenizer`` loads without bpetite."""
        with open(file_names[0], encoding="utf-8") as file:
            config = json.load(file)
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
        config.pop("added_tokens_decoder", None)
        with open(file_names[0], "w", encoding="utf-8") as file:
            json.dump(config, file, ensure_ascii=False, indent=2, sort_keys=True)
            file.write("\n")
        return file_names + self.save_vocabulary(str(save_directory), options.get("filename_prefix"))


def _inputs(text: Any, text_pair: Any, as_words: bool) -> tuple[Sequence[Any], Sequence[Any] | None, bool]:
    """First texts, second texts or None, and whether it was a batch."""
    if not isinstance(text, str | list | tuple):
        kind = type(text).__name__
        raise ValueError(f"text is a str, a list of them, or words with is_split_into_words=True, not {kind}")
    batched = isinstance(text, list | tuple)
    if as_words:
        batched = batched and len(text) > 0 and isinstance(text[0], list | tuple)
    if not batched:
        return [text], None if not text_pair else [text_pair], False
    if text_pair is None:
        if text and not as_words and all(isinstance(one, list | tuple) and len(one) == 2 for one in text):
            return [pair[0] for pair in text], [pair[1] for pair in text], True
        return text, None, True
    if isinstance(text_pair, str):
        raise TypeError("a batch of texts needs a batch of text_pair, of the same length")
    if len(text) != len(text_pair):
        raise ValueError(f"{len(text)} texts, but {len(text_pair)} in text_pair")
    return text, text_pair, True


def _join(words: Sequence[list[int]]) -> tuple[list[int], list[int]]:
    """The ids of words, and the word that each is of."""
    ids = [token_id for word in words for token_id in word]
    return ids, [number for number, word in enumerate(words) for _ in word]
