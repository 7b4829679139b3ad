"""The rows of a model's input as lists of ids, types and masks, with the options of a call of ``transformers``."""
from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

from ..steps.template import BARE, TemplatePart

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from .mirror import Mirror

#: Values of TOKENIZERS_PARALLELISM that mean one thread, as ``tokenizers`` reads them.
ONE_THREAD = frozenset(("off", "false", "f", "no", "n", "0"))
#: Options of a call that leave it to the original.
ORIGINAL_ONLY = (
    "is_split_into_words", "return_offsets_mapping", "return_overflowing_tokens", "sanitize_control_tokens"
)  # fmt: skip


def columns_of(text: Any, text_pair: Any) -> tuple[list[Sequence[str]], bool] | None:
    """(first texts, second texts or None, is it a batch); None for input that only the original judges."""
    batched = isinstance(text, list | tuple)
    columns: list[Sequence[Any]] = [[text], [text_pair]] if text_pair else [[text]]
    if batched and text_pair is None:
        pairs = all(isinstance(one, list | tuple) and len(one) == 2 for one in text)
        columns = list(zip(*text, strict=True)) if pairs else [text]
    elif batched:
        columns = [text, text_pair]
    lists = all(isinstance(column, list | tuple) and len(column) == len(columns[0]) > 0 for column in columns)
    return (columns, batched) if columns and lists and all(isinstance(one, str) for one in chain(*columns)) else None


def encode_rows(
    owner: Any, mirror: Mirror, columns: Sequence[Sequence[str]], options: dict[str, Any]
) -> dict[str, list[Any]] | None:
    """The data of a ``BatchEncoding``, in the order of the original; None if the original has to give it.

    Args:
        owner, mirror: The tokenizer that is called, and its mirror.
        columns: The first texts, and for pairs the second ones.
        options: The options of ``TokenizersBackend._encode_plus``.

    Raises:
        ValueError: A text or an option is one that bpetite refuses.
    """
    tokenizer: Any = mirror.tokenizer
    parts = parts_of(tokenizer, len(columns), options.get("add_special_tokens", True))
    split = options.get("split_special_tokens")
    split = owner.split_special_tokens if split is None else split
    # plain added tokens that overlap special ones are found in another order when these are split
    if any(map(options.get, ORIGINAL_ONLY)) or not parts or (split and mirror.plain):
        return None
    strategy = TruncationStrategy(options.get("truncation_strategy") or "do_not_truncate")
    limit = None if strategy == TruncationStrategy.DO_NOT_TRUNCATE else options.get("max_length")
    around = sum(len(part.ids) for part in parts)
    room = None if limit is None else limit - around
    if limit is not None and not _takes(limit, around, strategy, options.get("stride", 0), len(columns)):
        return None
    if not mirror.trusted(chain(*columns)):
        return None
    known: dict[str, Any] = {"allowed_special": ()} if split else {}
    texts = [_encode(tokenizer, column, known) for column in columns]
    if room is not None:
        for number, row in enumerate(zip(*texts, strict=True)):
            if sum(map(len, row)) > room:
                for column, ids, size in zip(texts, row, _shares([*map(len, row)], room), strict=True):
                    column[number] = ids[:size] if owner.truncation_side == "right" else ids[len(ids) - size :]
    return _data(owner, ids_of_parts(parts, texts), parts, options)


def parts_of(tokenizer: Tokenizer, texts: int, add_special_tokens: bool) -> tuple[TemplatePart, ...]:
    """The parts of a row: one or two texts and the special tokens around them; none where a pair has no form."""
    template = tokenizer.template or BARE
    template = template if add_special_tokens else template.bare
    return template.single if texts == 1 else template.pair


def ids_of_parts(parts: Iterable[TemplatePart], texts: Sequence[list[list[int]]]) -> list[list[list[int]]]:
    """The ids of each part, for all rows, from those of first and of second texts."""
    return [texts["AB".index(part.text)] if part.text else [[*part.ids]] * len(texts[0]) for part in parts]


def joined(by_part: Sequence[list[list[int]]]) -> list[list[int]]:
    """The rows, from the ids of their parts."""
    return by_part[0] if len(by_part) == 1 else [[*chain.from_iterable(row)] for row in zip(*by_part, strict=True)]


def _takes(limit: int, around: int, strategy: TruncationStrategy, stride: int, texts: int) -> bool:
    """False for truncation that the original refuses or does in its own way."""
    if limit < max(around, 1) or not 0 <= stride < max(limit - around, 1):
        return False
    if texts > 1:
        return not stride and strategy is TruncationStrategy.LONGEST_FIRST
    return strategy is not TruncationStrategy.ONLY_SECOND


def _encode(tokenizer: Tokenizer, texts: Sequence[str], options: dict[str, Any]) -> list[list[int]]:
    if len(texts) == 1:
        return [tokenizer.encode(texts[0], **options)]
    alone = os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in ONE_THREAD
    return tokenizer.encode_batch(texts, num_threads=1 if alone else None, **options)


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """The number of tokens that each text of a row keeps."""
    if len(lengths) == 1:
        return [room]
    # the longer text loses tokens down to the length of the other; after that each keeps half of the room
    short, long = sorted(lengths)
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return [short, long] if lengths[0] <= lengths[1] else [long, short]


def _data(
    owner: Any, by_part: list[list[list[int]]], parts: Sequence[TemplatePart], options: dict[str, Any]
) -> dict[str, list[Any]]:
    """Padded rows and their masks, from the ids of their parts."""
    rows = joined(by_part)
    lengths = [*map(len, rows)]
    padding, longest = options.get("padding_strategy"), options.get("max_length")
    width = max(lengths)
    if padding == PaddingStrategy.MAX_LENGTH and longest is not None:
        width = longest
    multiple = options.get("pad_to_multiple_of") or 1
    width = -(-width // multiple) * multiple
    side = options.get("padding_side") or owner.padding_side
    fills = padding not in (None, PaddingStrategy.DO_NOT_PAD)

    def padded(rows: list[list[int]], filler: int) -> list[list[int]]:
        if not fills:
            return rows
        if side == "left":
            return [[filler] * (width - len(row)) + row for row in rows]
        return [row + [filler] * (width - len(row)) for row in rows]

    def of_parts(values: Sequence[int]) -> list[list[int]]:
        if len({*values}) == 1:
            return [[values[0]] * length for length in lengths]
        return joined([[[value] * len(ids) for ids in column] for value, column in zip(values, by_part, strict=True)])

    def wanted(name: str) -> bool:
        given = options.get(f"return_{name}")
        return name in owner.model_input_names if given is None else given

    data: dict[str, list[Any]] = {"input_ids": padded(rows, owner.pad_token_id if fills else 0)}
    if wanted("token_type_ids"):
        data["token_type_ids"] = padded(of_parts([part.type_id for part in parts]), owner.pad_token_type_id)
    if wanted("attention_mask"):
        data["attention_mask"] = padded([[1] * length for length in lengths], 0)
    if options.get("return_special_tokens_mask"):
        data["special_tokens_mask"] = padded(of_parts([int(not part.text) for part in parts]), 1)
    if options.get("return_length"):
        data["length"] = [max(length, width) if fills else length for length in lengths]
    return data
