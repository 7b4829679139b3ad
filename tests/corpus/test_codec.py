"""Tokenizers as corpora see them."""
import itertools
import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corpus_tools import byte_codec, outputs, plan_of, run, run_plan
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.corpus import codec_of, encode_corpus
from bpetite.corpus.codec import _agree

TOK = Tokenizer.train("the cat sat on the mat's  edge\n\n1234 " * 5, 300)
EOT = "<|endoftext|>"


def test_facts() -> None:
    codec = codec_of(TOK, name="cat")
    assert (codec.vocab_size, codec.eot_id, codec.eot_text, codec.name) == (TOK.vocab_size, TOK.eot_token, EOT, "cat")
    assert codec.tokenizer_digest == TOK.fingerprint()
    ids, offsets = codec.encode([b"the cat", b"", b"mat<|endoftext|>"])
    assert [ids[i:j].tolist() for i, j in itertools.pairwise(offsets)] == [
        TOK.encode("the cat"), [], TOK.encode_ordinary("mat<|endoftext|>"),
    ]  # fmt: skip
    assert codec.decode(ids[: offsets[2]]) == b"the cat"
    assert codec_of(codec) is codec
    copy = pickle.loads(pickle.dumps(codec))
    assert copy.encode([b"the cat"])[0].tolist() == TOK.encode("the cat")


@settings(max_examples=80, deadline=None)
@given(
    documents=st.lists(
        st.text("the cat's 12\n\r\t <|>endotx\u00e9\u6f22", max_size=30)
        | st.sampled_from(["", EOT, f"a{EOT}b", "<|endo"]), max_size=12,
    ),
    others=st.lists(
        st.sampled_from([
            b"", b"  ", b'\xef\xbb\xbf{"text": "a"}', b'{"text": 5}', b'{"text": "\xff"}', b'{"text": "\\ud800"}',
            b'{"text": "a", "text": "b"}', b'{"id": "x", "text": "c"}',
        ]), max_size=2,
    ),
    place=st.integers(0, 9), block=st.sampled_from([1, 10, 60, 1000]), policy=st.sampled_from(["skip", "replace"]),
    final=st.booleans(), format=st.sampled_from(["npy", "nanogpt", "datatrove"]), lines=st.booleans(),
)  # fmt: skip
def test_documents_together_are_documents_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, documents: list[str], others: list[bytes], place: int, block: int,
    policy: str, final: bool, format: str, lines: bool,
) -> None:  # fmt: skip
    source = tmp_path_factory.mktemp("together") / ("in.jsonl" if lines else "in.txt")
    rows = [json.dumps({"text": text}).encode() for text in documents]
    rows[place:place] = others
    data = b"\n".join(rows) + b"\n" * final if lines else (EOT.join(documents) + EOT * final).encode()
    source.write_bytes(data)
    codec = codec_of(TOK)
    assert codec.encode_separated is not None
    made = []
    for name, one in (("together", codec), ("alone", replace(codec, encode_separated=None))):
        output = source.parent / name / "o"
        plan = plan_of(source, output, block, codec=one, format=format, shard_tokens=40, on_error=policy)
        assert plan.as_one_text == (name == "together")
        made.append((run_plan(plan)["documents"], outputs(output.parent)))  # the manifest is among them
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["in.txt", "in.jsonl"])
def test_plain_documents_are_encoded_together(ram_path: Path, name: str) -> None:
    source = ram_path / name
    source.write_text(f"a{EOT}b{EOT}" if name == "in.txt" else '{"text": "a"}\n\n{"text": "b"}\n', newline="")
    codec = replace(codec_of(TOK), encode=lambda texts: pytest.fail("one by one"))
    assert run(source, ram_path / "o", codec=codec)["documents"] == 2


@pytest.mark.parametrize(
    "options", [{"eot": "prepend"}, {"eot": "none"}, {"separator": "|"}, {"val_fraction": 0.5}, {"format": "parquet"}]
)
def test_documents_are_cut_apart_where_they_have_to_be(ram_path: Path, options: dict[str, object]) -> None:
    (ram_path / "in.txt").write_text("a")
    assert not plan_of(ram_path / "in.txt", ram_path / "o", codec=TOK, **options).as_one_text


def test_only_where_the_tokenizer_agrees() -> None:
    plain = byte_codec()
    eot = EOT.encode()

    def separated(data: bytes, *, strip: bool = False, prefix: bytes = b"") -> object:
        texts = [prefix + (text.strip() if strip else text) for text in data.split(eot)]
        rows = [[*plain.encode([text])[0].tolist(), 256] for text in texts]
        return np.array([token for row in rows for token in row][:-1])

    assert _agree(separated, plain.encode, EOT, 256)  # type: ignore[arg-type]
    assert not _agree(lambda data: separated(data, strip=True), plain.encode, EOT, 256)  # type: ignore[arg-type,return-value]
    assert not _agree(lambda data: separated(data, prefix=b" "), plain.encode, EOT, 256)  # type: ignore[arg-type,return-value]
    assert codec_of(Tokenizer({0: b"a"}, [], ["<|endoftext|>"])).encode_separated is None
    assert codec_of(TOK, special="allow").encode_separated is None


@pytest.mark.parametrize("name", ["in.txt", "in.jsonl"])
def test_an_end_of_text_token_that_normalization_makes_is_text(ram_path: Path, name: str) -> None:
    vocab = replace(TOK.to_vocab(), normalization="NFKC", token_flags={EOT: ("normalized",)})
    (ram_path / name).write_text("\uff1c|endoftext|>" if name == "in.txt" else '{"text": "\uff1c|endoftext|>"}')
    made = encode_corpus(ram_path / name, ram_path / "o", Tokenizer.from_vocab(vocab))
    assert np.load(ram_path / "o.npy").tolist() == [*TOK.encode_ordinary(EOT), TOK.eot_token]
    assert made["documents"] == 1
