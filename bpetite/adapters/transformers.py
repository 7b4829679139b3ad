"""A tokenizer in the shape of a fast tokenizer of ``transformers``, for training scripts and collators.

It is a ``PreTrainedTokenizerBase``, so it goes wherever one of those goes. Calling, padding, truncation, offsets and
decoding run on bpetite. It is picklable, and a call changes nothing in it, so ``datasets.map`` finds its cache.
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
from ..engine.offsets import TokenOrigins, trace_tokens
from ..steps.template import BARE
from .rows import Row, Sample, build_row, join_words, truncate

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["TransformersTokenizer"]


class TransformersTokenizer(PreTrainedTokenizerBase):
    """What :meth:`bpetite.Tokenizer.as_transformers` gives.

    Args:
        tokenizer: The tokenizer that does the work.
        options: Those of ``PreTrainedTokenizerBase``: ``pad_token``, ``bos_token``, ``model_max_length``,
            ``padding_side``, ``chat_template`` and so on. Special tokens that the vocabulary lacks are added.
    """

    model_input_names: list[str] = ["input_ids", "attention_mask"]  # noqa: RUF012 - the base class declares it so

    def __init__(self, tokenizer: Tokenizer, **options: Any) -> None:
        self.tokenizer: Tokenizer = tokenizer
        if tokenizer.eot_token is not None:
            options.setdefault("eos_token", tokenizer.token_bytes(tokenizer.eot_token).decode("utf-8"))
        super().__init__(**options)
        self.add_tokens([token for token in self.all_special_tokens if token not in tokenizer.special_tokens], True)

    # What is in it

    @property
    def is_fast(self) -> bool:
        """True: offsets and words are available."""
        return True

    @property
    def vocab_size(self) -> int:
        """The number of rows that an embedding table needs: the highest id plus one."""
        return self.tokenizer.vocab_size

    def __len__(self) -> int:
        return self.tokenizer.vocab_size

    def __bool__(self) -> bool:
        return True

    def get_vocab(self) -> dict[str, int]:
        """printable form (the literal, for special tokens) -> id."""
        specials = self.tokenizer.special_tokens
        special_ids = set(specials.values())
        vocab = self.tokenizer.vocab.items()
        return {encode_token(token): token_id for token_id, token in vocab if token_id not in special_ids} | specials

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
        vocab = self.tokenizer.to_vocab()
        added = {}
        for literal, token_id in sorted(vocab.special_tokens.items(), key=lambda item: item[1]):
            flags = vocab.token_flags.get(literal, ())
            settings = {flag: flag in flags for flag in ("single_word", "lstrip", "rstrip", "normalized")}
            added[token_id] = AddedToken(literal, **settings, special="plain" not in flags)
        return added

    def _plain_tokens(self) -> set[str]:
        """Literals that bpetite matches as special tokens and ``transformers`` treats as words."""
        return {literal for literal, flags in self.tokenizer.to_vocab().token_flags.items() if "plain" in flags}

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken], special_tokens: bool = False) -> int:
        """New tokens get the next ids. A tokenizer is immutable, so this view changes to another one."""
        vocab = self.tokenizer.to_vocab()
        specials, flags = dict(vocab.special_tokens), dict(vocab.token_flags)
        tokens = dict(vocab.tokens)
        for token in new_tokens:
            literal = str(token)
            if not literal or literal in specials:
                continue
            specials[literal] = vocab.id_of.get(literal.encode("utf-8"), max(tokens, default=-1) + 1)
            tokens[specials[literal]] = literal.encode("utf-8")
            given = token if isinstance(token, AddedToken) else AddedToken(literal, special=special_tokens)
            # "normalized" is left out: it matters only for text that is normalized
            found = [flag for flag in ("lstrip", "rstrip", "single_word") if getattr(given, flag)]
            if not (special_tokens or given.special):
                found.append("plain")
            if len(literal.encode("utf-8")) == 1 and specials[literal] not in vocab.tokens:
                found.append("added")
            if found:
                flags[literal] = tuple(found)
        added = len(specials) - len(vocab.special_tokens)
        if added:
            changed = replace(vocab, tokens=tokens, special_tokens=specials, token_flags=flags)
            self.tokenizer = type(self.tokenizer).from_vocab(changed)
        return added

    def _convert_token_to_id_with_added_voc(self, token: str) -> int | None:
        specials = self.tokenizer.special_tokens
        if token in specials:
            return specials[token]
        try:
            return self.tokenizer.token_id(decode_token_bytes(token))
        except (KeyError, ValueError):
            unknown = self._special_tokens_map.get("unk_token")
            return None if unknown is None else specials.get(str(unknown))

    def _spell(self, token_id: int) -> str:
        token = self.tokenizer.token_bytes(token_id)
        literal = token.decode("utf-8", "replace")
        is_special = self.tokenizer.to_vocab().special_tokens.get(literal) == token_id
        return literal if is_special else encode_token(token)

    def convert_ids_to_tokens(self, ids: int | Sequence[int], skip_special_tokens: bool = False) -> Any:
        """The printable form of an id or of each; None for an id without a token."""
        if isinstance(ids, int):
            return self._spell(ids) if ids in self.tokenizer.to_vocab().tokens else None
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return [self.convert_ids_to_tokens(int(token_id)) for token_id in ids if int(token_id) not in skipped]

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """The text of tokens in printable form."""
        return self._decode([self._convert_token_to_id_with_added_voc(token) for token in tokens])

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """How many tokens the template puts around a text, or a pair."""
        template = self.tokenizer.template
        if template is None:
            return 0
        return sum(len(part.ids) for part in (template.pair if pair else template.single))

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
        sample = Sample(texts, lambda text: TokenOrigins([], [], {}), self._spell)
        return build_row(sample, [(0, len(ids)) for ids in texts], self.tokenizer.template).special_tokens_mask

    # Text to ids

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **options: Any
    ) -> list[str]:
        """The printable forms of the tokens of a text."""
        batch = self._encode_plus(text, pair, add_special_tokens=add_special_tokens, **options)
        tokens: list[str] = batch.tokens()
        return tokens

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
        template = self.tokenizer.template or BARE
        if not add_special_tokens:
            template = template.bare
        bound = None if truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else max_length
        rows: list[Row] = []
        origin: list[int] = []
        for number, sample in enumerate(samples):
            special = self.num_special_tokens_to_add(len(sample.ids) > 1) if add_special_tokens else 0
            cuts = truncate(
                [len(ids) for ids in sample.ids],
                None if bound is None else bound - special,
                TruncationStrategy(truncation_strategy).value,
                self.truncation_side,
                stride,
                return_overflowing_tokens,
            )
            rows += [build_row(sample, spans, template) for spans in cuts]
            origin += [number] * len(cuts)
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
        """All inputs; the first texts are encoded in one call, the second texts in another."""
        if split_special is None:
            split_special = self.split_special_tokens
        options: dict[str, Any] = {"allowed_special": self._plain_tokens()} if split_special else {}
        columns = [firsts] if seconds is None else [firsts, seconds]
        encoded: list[list[list[list[int]]]] = []  # the ids of each word of each text; without words a text is one
        for column in columns:
            words = [list(text) if as_words else [text] for text in column]
            ids = iter(self.tokenizer.encode_batch([word for text in words for word in text], **options))
            encoded.append([[next(ids) for _ in text] for text in words])

        def trace(text: str, ids: list[int]) -> TokenOrigins:
            return trace_tokens(self.tokenizer, text, ids, **options)

        def sample(texts: Sequence[Any], found: Sequence[list[list[int]]]) -> Sample:
            def origins(text: int) -> TokenOrigins:
                if as_words:
                    return join_words(list(zip(texts[text], found[text], strict=True)), trace)
                return trace(texts[text], found[text][0])

            return Sample([[token_id for ids in words for token_id in ids] for words in found], origins, self._spell)

        return [sample(*one) for one in zip(zip(*columns, strict=True), zip(*encoded, strict=True), strict=True)]

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
            plain = self._plain_tokens()
            specials = self.tokenizer.special_tokens.items()
            skipped = {token_id for literal, token_id in specials if literal not in plain}
            ids = [token_id for token_id in ids if token_id not in skipped]
        return self.tokenizer.decode(ids, errors="replace")

    # Files

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write tokenizer.json."""
        name = f"{filename_prefix}-tokenizer.json" if filename_prefix else "tokenizer.json"
        path = os.path.join(save_directory, name)
        self.tokenizer.to_merges().save(path, format="huggingface", overwrite=True)
        return (path,)

    def _save_pretrained(self, save_directory: Any, file_names: tuple[str, ...], **options: Any) -> tuple[str, ...]:
        """Write a directory that ``transformers.AutoTokenizer`` loads without bpetite."""
        with open(file_names[0], encoding="utf-8") as file:
            config = json.load(file)
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
        config.pop("added_tokens_decoder", None)
        with open(file_names[0], "w", encoding="utf-8") as file:
            json.dump(config, file, ensure_ascii=False, indent=2, sort_keys=True)
            file.write("\n")
        return file_names + self.save_vocabulary(str(save_directory), options.get("filename_prefix"))


def _inputs(text: Any, text_pair: Any, as_words: bool) -> tuple[Sequence[Any], Sequence[Any] | None, bool]:
    """First texts, second texts or None, and whether it is a batch."""
    if not isinstance(text, str | list | tuple):
        given = type(text).__name__
        raise ValueError(f"text is a str, a list of them, or words with is_split_into_words=True, not {given}")
    batched = isinstance(text, list | tuple)
    if as_words:
        batched = batched and len(text) > 0 and isinstance(text[0], list | tuple)
    if not batched:
        return [text], [text_pair] if text_pair else None, False
    if text_pair is None:
        if text and not as_words and all(isinstance(one, list | tuple) and len(one) == 2 for one in text):
            return [pair[0] for pair in text], [pair[1] for pair in text], True
        return text, None, True
    if isinstance(text_pair, str):
        raise TypeError("a batch of texts needs a batch of text_pair, of the same length")
    if len(text) != len(text_pair):
        raise ValueError(f"{len(text)} texts, but {len(text_pair)} in text_pair")
    return text, text_pair, True
