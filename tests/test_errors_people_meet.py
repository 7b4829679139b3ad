"""Errors that a new user meets: each names the value, the place, and the way out."""
import copy
import pickle
import pydoc
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from commands import bpe as run

import bpetite
from bpetite import FormatError, MissingExtraError, Tokenizer
from bpetite.engine.foreign_names import VIEWS

TOK = Tokenizer.train("ab ab ab", 258)


def test_the_name_of_a_missing_file_is_no_corpus() -> None:
    for name in ("english.txt", "data/corpus.jsonl.gz"):
        with pytest.raises(ValueError, match=rf"the corpus is '{name}', and no file has this name; \[text\] makes"):
            Tokenizer.train(name, 300)
    assert Tokenizer.train(["a.txt"], 257).merges
    assert Tokenizer.train("read a.txt", 257).merges


def test_files_of_other_programs(tmp_path: Path) -> None:
    (tmp_path / "tok.pkl").write_bytes(pickle.dumps(TOK))
    with pytest.raises(FormatError, match=r"tok\.pkl: a pickle, which bpetite does not open"):
        Tokenizer.load(tmp_path / "tok.pkl")
    TOK.save(tmp_path / "x.json")
    with pytest.raises(FormatError, match=r"x\.json: JSON, and no \.tiktoken file; Tokenizer\.load finds"):
        Tokenizer.from_tiktoken(tmp_path / "x.json")
    with pytest.raises(FileNotFoundError, match="a URL, and tokenizers are read from local files"):
        Tokenizer.load("s3://bucket/tok.json")


@pytest.mark.parametrize(("name", "message"), [
    ("decode_single_token_bytes", "tiktoken: as_tiktoken() gives its interface"),
    ("max_token_value", "tiktoken: as_tiktoken() gives its interface"),
    ("id_to_token", "tokenizers: as_tokenizers() gives its interface"),
    ("token_to_id", "tokenizers: as_tokenizers() gives its interface"),
    ("get_vocab", "tokenizers and transformers: as_tokenizers() and as_transformers() give their interfaces"),
    ("convert_ids_to_tokens", "transformers: as_transformers() gives its interface"),
    ("apply_chat_template", "transformers: as_transformers() gives its interface"),
    ("encode_plus", "transformers: as_transformers() gives its interface"),
    ("eos_token", "transformers: as_transformers() gives its interface"),
])  # fmt: skip
def test_attributes_of_other_libraries(name: str, message: str) -> None:
    for owner in (TOK, Tokenizer):
        with pytest.raises(AttributeError, match=re.escape(f"no attribute '{name}', a name of {message}")):
            getattr(owner, name)
    assert not hasattr(TOK, name)
    assert name not in dir(TOK)


def public(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_what_a_view_has_is_named_with_it() -> None:
    tiktoken, tokenizers = pytest.importorskip("tiktoken"), pytest.importorskip("tokenizers")
    listed = {library: set(names.split()) for library, (_, names) in VIEWS.items()}
    own, view = set(dir(TOK)), TOK.as_tiktoken()
    theirs = tiktoken.Encoding("small", pat_str=".", mergeable_ranks={b"a": 0}, special_tokens={})
    assert listed["tiktoken"] == public(dir(theirs)) - own
    assert listed["tiktoken"] <= set(dir(view))
    assert listed["tokenizers"] == public(dir(tokenizers.Tokenizer)) & set(dir(TOK.as_tokenizers())) - own


def test_what_transformers_has_is_named_with_its_view() -> None:
    pytest.importorskip("transformers")
    names, view = set(VIEWS["transformers"][1].split()), TOK.as_transformers(chat_template="x")
    of_release_4 = {"encode_plus", "batch_encode_plus"}  # the object is called
    assert [name for name in sorted(names - of_release_4) if not hasattr(view, name)] == []
    assert len(names) > 50
    assert not names & set(dir(TOK))


def test_a_tokenizer_that_is_called() -> None:
    with pytest.raises(TypeError, match=r"not called: encode\(text\) gives ids, and as_transformers\(\) an object"):
        TOK("text")  # type: ignore[operator]


def test_methods_that_are_looked_for_in_the_package() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'load'; bpetite\.Tokenizer has 'load'"):
        _ = bpetite.load  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"^module 'bpetite' has no attribute 'lod'$"):
        _ = bpetite.lod  # type: ignore[attr-defined]


def test_other_attributes_stay_as_they_are() -> None:
    with pytest.raises(AttributeError, match="'Tokenizer' object has no attribute 'nothing'"):
        _ = TOK.nothing  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(TOK)) == copy.deepcopy(TOK) == copy.copy(TOK) == TOK
    assert {"encode", "vocab_size"} <= set(dir(TOK))
    helped = re.findall(r"^ \|  (\w+)", pydoc.plain(pydoc.render_doc(Tokenizer)), re.M)
    assert {"encode", "vocab_size"} <= set(helped)
    assert not {"n_vocab", "name", "tokenize", "pad_token", "get_vocab"} & set(helped)
    assert "__getattr__" not in dir(Tokenizer)  # every other attribute would be slower


def test_sizes_are_told_apart() -> None:
    """The table in docs/guide/special-tokens.md."""
    gap = Tokenizer(TOK.vocab, TOK.merges, {"<s>": 300})
    assert (len(gap), gap.vocab_size, gap.as_tiktoken().n_vocab) == (260, 301, 301)
    assert len(gap.as_transformers()) == gap.as_transformers().vocab_size == 260


def test_several_texts_and_ids_without_an_order() -> None:
    with pytest.raises(TypeError, match=r"not \['a', 'b'\]; encode_batch and count_batch take several texts"):
        TOK.count(["a", "b"])  # type: ignore[arg-type]
    for ids in ({98, 97}, frozenset({97})):
        for decode in (TOK.decode, TOK.decode_bytes):
            with pytest.raises(TypeError, match=r"ids is a sequence of ints .*, not .*; a set has no"):
                decode(ids)
    assert TOK.decode({97: 0, 98: 0}.keys()) == "ab"


def test_extras_are_installed_from_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    clone = Path(bpetite.__file__).parents[1]
    expected = f"-e '{clone}[hub]'" if (clone / "pyproject.toml").exists() else "'bpetite[hub]'"
    assert str(MissingExtraError("x", "y", "hub")) == f"x needs y: pip install {expected}"
    monkeypatch.setattr(bpetite.errors, "__file__", "/site-packages/bpetite/errors.py")
    assert str(MissingExtraError("x", "y", "hub")) == "x needs y: pip install 'bpetite[hub]'"


def test_parts_of_a_text_have_names_for_an_editor() -> None:
    from bpetite.engine.limits import Chunk
    from bpetite.tokenizer import Pruned

    for kind in (Chunk, Pruned):
        assert tuple(kind.__annotations__) == kind._fields
    assert Tokenizer.as_transformers.__annotations__["return"] == "PreTrainedTokenizerFast"


# On the command line


def test_a_tokenizer_without_its_suffix(tmp_path: Path) -> None:
    TOK.save(tmp_path / "tokenizer.json")
    message = "tokenizer: no such file or folder; did you mean 'tokenizer.json'?"
    assert message in run("audit", "-t", "tokenizer", cwd=tmp_path).err
    with pytest.raises(FileNotFoundError, match=r"did you mean '.*tokenizer\.json'\?"):
        Tokenizer.load(tmp_path / "tokenizer")


def test_the_format_that_a_name_became(tmp_path: Path) -> None:
    TOK.save(tmp_path / "t.json")
    done = run("convert", tmp_path / "t.json", tmp_path / "my-tokenizer.json")
    assert "my-tokenizer.json is in the native format; --to huggingface for transformers" in done.err
    assert run("convert", tmp_path / "t.json", tmp_path / "other.json", "--to", "HuggingFace").code == 0


def test_tokens_without_a_tokenizer(tmp_path: Path) -> None:
    loose = tmp_path / "loose.bin"
    loose.write_bytes(bytes(64))
    done = run("decode", loose, "-f", "nanogpt")
    assert done.code == 3
    assert "loose.bin: nothing says which tokenizer made it; give --tokenizer" in done.err
    assert run("decode", loose, "-f", "nanogpt", "-t", "bpetite-32k").code == 0


def test_a_tokenizer_that_was_given_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("ab ab")
    TOK.save(tmp_path / "t.json")
    assert run("encode", "c.txt", "-t", "t.json", "-f", "nanogpt", "-o", "t.bin", cwd=tmp_path).code == 0
    done = run("decode", "t.bin", "-t", "missing.json", cwd=tmp_path)
    assert done.code == 1
    assert "missing.json" in done.err
    assert "give --tokenizer" not in done.err


def test_quiet_hides_no_choice_of_a_tokenizer() -> None:
    done = run("tokens", "-q", "--ids", "ab")
    assert done.err == "no --tokenizer given: using the packaged bpetite-32k\n"


def test_ids_are_decoded() -> None:
    ids = Tokenizer.load("bpetite-32k").encode("hello world")
    assert run("decode", *ids, "-t", "bpetite-32k").out == "hello world\n"
    assert "one output at a time, or ids: a.bin b.bin" in run("decode", "a.bin", "b.bin").err


def test_a_text_is_no_corpus() -> None:
    done = run("count", "hello world", "-t", "bpetite-32k")
    assert done.code == 1
    assert "for the tokens of a text: bpetite tokens TEXT" in done.err


def test_standard_input_is_the_same_for_count_and_tokens() -> None:
    for dash in ([], ["-"]):
        assert run("count", "-t", "bpetite-32k", *dash, stdin="hello world").out == "2\n"
        assert run("tokens", "-t", "bpetite-32k", "--ids", *dash, stdin="hello world").out.count(" ") == 1
