"""``bpetite convert``."""
import json
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from commands import bpe as run
from tiers import slow_but

from bpetite import Tokenizer

convert = partial(run, "convert")

TRAINED = Tokenizer.train(["the cat sat on the mat, the cat ate"] * 2, 280)


@pytest.fixture
def native(tmp_path: Path) -> Path:
    TRAINED.save(tmp_path / "tok.json")
    return tmp_path / "tok.json"


def test_there_and_back_through_every_format(native: Path, tmp_path: Path) -> None:
    assert convert(native, tmp_path / "tokenizer.json").code == 0
    assert Tokenizer.load(tmp_path / "tokenizer.json", format="huggingface") == TRAINED
    assert convert(tmp_path / "tokenizer.json", tmp_path / "pair", "--to", "gpt2").code == 0
    assert Tokenizer.load(tmp_path / "pair") == TRAINED
    done = convert(tmp_path / "pair", tmp_path / "tok.tiktoken")
    assert (done.code, done.out) == (0, "")
    assert "the merges became ranks" in done.err
    assert "neither the split pattern" in done.err
    options = ("--pattern", TRAINED.pattern, "--special-tokens", f"<|endoftext|>={TRAINED.eot_token}")
    done = convert(tmp_path / "tok.tiktoken", tmp_path / "back" / "tokenizer.json", *options)
    assert "the ranks became merges" in done.err
    assert Tokenizer.load(tmp_path / "back") == TRAINED


def test_a_name_without_suffix_is_no_file(native: Path, tmp_path: Path) -> None:
    done = convert(native, "outdir", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "outdir has no suffix: name a file, as outdir.json, or a folder with --to huggingface" in done.err
    assert not (tmp_path / "outdir").exists()
    assert convert(native, "outdir", "--to", "huggingface", cwd=tmp_path).code == 0
    assert (tmp_path / "outdir" / "tokenizer.json").exists()
    assert convert(native, "native", "--to", "native", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.json", "b"), "absent.json: No such file or directory"),
        (("mine.tiktoken", "b"), "mine.tiktoken: a .tiktoken file does not hold its split pattern"),
        (("mine.tiktoken", "b", "--name", "x100k"), "no published encoding is called 'x100k'"),
        (("order.json", "order.tiktoken"), "not the ids of the merge list: merge 0 joins b'b' and b'c'"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(native: Path, arguments: tuple[str, ...], message: str) -> None:
    folder = native.parent
    TRAINED.to_ranks().save(folder / "mine.tiktoken")
    Tokenizer({0: b"a", 1: b"b", 2: b"c", 3: b"ab", 4: b"bc"}, [(b"b", b"c"), (b"a", b"b")]).save(folder / "order.json")
    before = sorted(folder.iterdir())
    done = convert(*arguments, cwd=folder)
    assert (done.code, done.out, "Traceback" in done.err) == (1, "", False)
    assert done.err.splitlines()[-1].startswith("Error: ")
    assert message in done.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("option", [("--pattern", "gpt2"), ("--name", "gpt2"), ("--special-tokens", "<a>=300")])
def test_options_of_a_tiktoken_file_go_with_no_other_format(tmp_path: Path, option: tuple[str, str]) -> None:
    TRAINED.to_ranks().save(tmp_path / "mine.tiktoken")
    done = convert("mine.tiktoken", "tok.json", "--from", "gguf", *option, cwd=tmp_path)
    assert (done.code, (tmp_path / "tok.json").exists()) == (2, False)
    assert "are of a .tiktoken SOURCE, not of --from gguf" in done.err


def test_of_a_repository_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokenizer, "from_pretrained", {"someone/cats": TRAINED}.__getitem__)
    assert convert("someone/cats", "tok.json", cwd=tmp_path).code == 0
    assert Tokenizer.load(tmp_path / "tok.json") == TRAINED
    done = convert("modles/tok.json", "again.json", cwd=tmp_path)  # the name of a file is asked of nobody
    assert (done.code, "modles/tok.json: No such file" in done.err) == (1, True)


@pytest.mark.parametrize("target", slow_but(["model", "model/", "there"], "model/"))
def test_a_folder_for_auto_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    transformers = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    texts = ["the cat<|endoftext|><|pad|>  sat", "naïve 猫\n"]
    trained = Tokenizer.train(["the cat sat on the mat"], 270, special_tokens=["<|endoftext|>", "<|pad|>"])
    trained.save("two.json")
    for source in ("two.json", "gpt2"):
        done = convert(source, target, "--to", "huggingface", "--overwrite")
        assert done.code == 0, done.err
        assert sorted(path.name for path in Path(target).iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
        ours, theirs = Tokenizer.load(target), transformers.AutoTokenizer.from_pretrained(target)
        assert [theirs(text)["input_ids"] for text in texts] == ours.encode_batch(texts)
        assert (theirs.eos_token, theirs.eos_token_id) == ("<|endoftext|>", ours.eot_token)
        assert theirs.decode(theirs(texts[1])["input_ids"]) == texts[1]
        assert convert(source, target, "--to", "huggingface").code == 1  # it exists
    assert theirs.decode(ours.encode("a<|endoftext|>b"), skip_special_tokens=True) == "ab"


def test_ids_without_a_token_are_named(tmp_path: Path) -> None:
    """For readers of tokenizer.json that want no gaps: special tokens in them change no other id."""
    tokenizers = pytest.importorskip("tokenizers")
    gapped = TRAINED.extend({}, 0, special_tokens={"<|end|>": 300})
    gapped.save(tmp_path / "gapped.json")
    out = tmp_path / "tokenizer.json"
    assert "29 ids below the last have no token" in convert(tmp_path / "gapped.json", out).err
    assert convert(tmp_path / "gapped.json", out, "--reserved", "--overwrite").code == 0
    content = json.loads(out.read_bytes())
    assert not {"<|end|>", "<|reserved_290|>"} & content["model"]["vocab"].keys()
    theirs, text = tokenizers.Tokenizer.from_file(str(out)), "the cat<|end|>ate<|endoftext|>"
    assert theirs.encode(text).ids == gapped.encode(text) == Tokenizer.load(out).encode(text)
    assert theirs.token_to_id("<|reserved_299|>") == 299


def test_ids_far_apart_cost_no_memory(tmp_path: Path) -> None:
    Tokenizer.train("ab ab", 257, special_tokens={"<|end|>": 3_000_000}).save(tmp_path / "sparse.json")
    tracemalloc.start()
    try:
        assert convert(tmp_path / "sparse.json", tmp_path / "tok.tiktoken").code == 0
        done = convert(tmp_path / "sparse.json", tmp_path / "named.json", "--reserved")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert (done.code, (tmp_path / "named.json").exists()) == (2, False)
    assert "--reserved: 2,999,743 ids have no token, and at most 1,000,000 get one" in done.err
