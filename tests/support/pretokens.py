"""What a text is cut into before its bytes are merged."""
from array import array

from bpetite.core._special import Specials
from bpetite.engine.choice import engine_parts
from bpetite.vocabulary.vocab import Vocab


def pretokens(vocab: Vocab, text: str) -> list[bytes | int]:
    """The pre-tokens of a text as the tokenizer of a vocabulary cuts it, normalized, and the ids of its special tokens.
    """
    cutter, normalize, pipeline = engine_parts(vocab)
    items: list[int | bytes | tuple[bytes, array[int]]] = []
    if pipeline is not None:
        items = list(pipeline.items(text, Specials(vocab.special_tokens)))
    else:
        end = 0
        for start, stop, token_id in [*Specials(vocab.special_tokens).spans(text), (len(text), len(text), None)]:
            piece = text[end:start] if normalize is None else normalize(text[end:start])
            items += [piece.encode()] if token_id is None else [piece.encode(), token_id]
            end = stop
    found: list[bytes | int] = []
    for item in items:
        if isinstance(item, int):
            found.append(item)
            continue
        data, ends = (item, cutter.ends(item)) if isinstance(item, bytes) else item
        found += [data[start:stop] for start, stop in zip([0, *ends], ends)]
    return found
