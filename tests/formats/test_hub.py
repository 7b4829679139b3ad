"""from_pretrained: local names, the Hub's protocol spoken by a server of the test's own, a prepared cache, offline."""
import errno
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import PACKAGES
from served import Answers, served

from bpetite import FormatError, MissingExtraError, Tokenizer, formats

TRAINED = Tokenizer.train(["the cat sat on the mat"] * 2, 275)
OTHER = Tokenizer.train(["a dog"] * 2, 260)
COMMITS = {"main": "a" * 40, "v2": "b" * 40}


def files(tok: Tokenizer, format: str) -> dict[str, bytes]:
    if format == "gpt2":
        return formats.gpt2.dump(tok._vocab)
    return {"tokenizer.json": formats.huggingface.dump(tok._vocab)}


#: (repository, revision) -> its files
REPOSITORIES = {
    ("someone/json", "main"): files(TRAINED, "huggingface"),
    ("someone/json", "v2"): files(OTHER, "huggingface"),
    ("someone/pair", "main"): files(TRAINED, "gpt2"),
    ("someone/chat", "main"): files(TRAINED, "huggingface")
    | {"tokenizer_config.json": b'{"model_max_length": 77}', "chat_template.jinja": b"{{ messages }}"}
    | {"additional_chat_templates/tool_use.jinja": b"{{ tools }}", "model.safetensors": b"not wanted"},
    ("someone/nothing", "main"): {"README.md": b"no tokenizer"},
    ("someone/damaged", "main"): {"tokenizer.json": b"{"},
}


class Hub(Answers):
    """As much of the Hub as a download asks for: HEAD and GET of /REPOSITORY/resolve/REVISION/FILE, and what is in a
    repository."""

    def answer(self) -> None:
        parts = self.path.partition("?")[0].strip("/").removeprefix("api/models/").split("/", 4)
        if len(parts) < 4 or parts[2] not in ("resolve", "revision", "tree"):
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        repository, revision, file = "/".join(parts[:2]), parts[3], parts[-1]
        revision = {commit: name for name, commit in COMMITS.items()}.get(revision, revision)
        if (repository, "main") not in REPOSITORIES:
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        if (repository, revision) not in REPOSITORIES:
            return self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        held = REPOSITORIES[repository, revision]
        if parts[2] == "revision":
            siblings = [{"rfilename": name} for name in held]
            return self.send_json({"id": repository, "sha": COMMITS[revision], "siblings": siblings})
        if parts[2] == "tree":
            return self.send_json([
                {"type": "file", "path": name, "size": len(held[name]), "oid": hashlib.sha1(held[name]).hexdigest()}
                for name in held
            ])  # fmt: skip
        found = held.get(file)
        headers = {"X-Repo-Commit": COMMITS[revision]}
        if found is None:
            return self.send(404, b"", headers | {"X-Error-Code": "EntryNotFound"})
        return self.send(200, found, headers | {"ETag": f'"{hashlib.sha1(found).hexdigest()}"'})

    def send_json(self, content: Any) -> None:
        self.send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})


@pytest.fixture(scope="module")
def hub() -> Iterator[Any]:
    with served(Hub) as server:
        yield server


NOBODY = "http://127.0.0.1:9"
PROGRAM = """
import json
from bpetite import Tokenizer
def attempt(*names, **options):
    try:
        return Tokenizer.from_pretrained(*names, **options).fingerprint()
    except Exception as error:
        return [type(error).__mro__[-3].__name__, isinstance(error, OSError), str(error)]
"""


def run(code: str, cache: Path, endpoint: str, **environment: str) -> Any:
    """The JSON that a fresh process prints; its settings come from the environment, like those of a user."""
    pytest.importorskip("huggingface_hub")
    settings = {f"HF_HUB_DISABLE_{name}": "1" for name in ("TELEMETRY", "PROGRESS_BARS", "XET")} | {
        "HF_HOME": str(cache), "BPETITE_CACHE_DIR": str(cache / "ranks"), "HF_ENDPOINT": endpoint,
        "PYTHONPATH": str(PACKAGES), "PATH": "", "NO_PROXY": "*",
    }  # fmt: skip
    command = [sys.executable, "-c", PROGRAM + f"print(json.dumps({code}))"]
    done = subprocess.run(command, capture_output=True, text=True, env=settings | environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def prepare(cache: Path, repository: str) -> None:
    """Put a tokenizer.json where huggingface_hub keeps a repository."""
    folder = cache / "hub" / f"models--{repository.replace('/', '--')}"
    (folder / "snapshots" / ("c" * 40)).mkdir(parents=True)
    TRAINED.save(folder / "snapshots" / ("c" * 40) / "tokenizer.json")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("c" * 40)


def test_from_the_hub_then_from_its_cache_offline(hub: Any, tmp_path: Path) -> None:
    attempts = "[attempt('someone/json'), attempt('someone/json', revision='v2'), attempt('someone/pair'), {}]"
    found = run(attempts.format(0), tmp_path, hub.address)
    assert found[:3] == [TRAINED.fingerprint(), OTHER.fingerprint(), TRAINED.fingerprint()]
    asked = len(hub.asked)
    offline = run(attempts.format("attempt('someone/never')"), tmp_path, hub.address, HF_HUB_OFFLINE="1")
    assert offline[:3] == found[:3]
    assert offline[3][1]
    assert len(hub.asked) == asked
    # a Hub that nobody reaches, and waiting between tries would raise
    code = f"[t := __import__('time'), setattr(t, 'sleep', None), {attempts.format(0)}][2]"
    assert run(code, tmp_path, NOBODY) == found


def test_a_hub_that_cannot_be_reached_is_asked_once(tmp_path: Path) -> None:
    """Waiting between tries would raise."""
    code = "(setattr(time, 'sleep', None), attempt('someone/json'))[1]"
    _, is_os_error, message = run(f"[time := __import__('time'), {code}][1]", tmp_path, NOBODY)
    assert is_os_error
    assert message.startswith(f"someone/json: {NOBODY} cannot be asked for this repository")
    for part in ("Connection refused", str(tmp_path / "hub"), "put its tokenizer.json"):
        assert part in message
    _, _, offline = run("attempt('someone/json')", tmp_path, NOBODY, HF_HUB_OFFLINE="1")
    assert "(HF_HUB_OFFLINE is set)" in offline


def test_a_prepared_cache_is_enough(tmp_path: Path) -> None:
    """The repository gpt2 stands in for the encoding, too."""
    prepare(tmp_path, "someone/mine")
    prepare(tmp_path, "gpt2")
    nothing = {"BPETITE_CACHE_DIR": str(tmp_path / "none"), "TIKTOKEN_CACHE_DIR": "", "HF_HUB_OFFLINE": "1"}
    code = "[attempt('someone/mine'), attempt('gpt2'), attempt('r50k_base')[2]]"
    *found, error = run(code, tmp_path, NOBODY, BPETITE_ENCODINGS_URL=NOBODY, **nothing)
    assert found == [TRAINED.fingerprint()] * 2
    assert "put r50k_base.tiktoken from" in error


def test_what_the_hub_does_not_have_is_an_error_that_says_so(hub: Any, tmp_path: Path) -> None:
    nothing, never, revision, damaged = run(
        "[attempt('someone/nothing'), attempt('someone/never'), attempt('someone/json', revision='v9'),"
        " attempt('someone/damaged')]",
        tmp_path,
        hub.address,
    )
    assert "someone/nothing: no tokenizer that bpetite reads" in nothing[2]
    assert never[1]
    assert revision[1]
    assert "tokenizer.json: not JSON at line 1" in damaged[2]


def test_local_names_ask_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.socket.connect", refuse)
    TRAINED.save(tmp_path / "tokenizer.json")
    TRAINED.save(tmp_path / "mine.json")
    assert Tokenizer.from_pretrained(tmp_path) == Tokenizer.from_pretrained(str(tmp_path / "mine.json")) == TRAINED
    assert Tokenizer.from_pretrained("bpetite-32k") == Tokenizer.load("bpetite-32k")
    with pytest.raises(ValueError, match=r"'v2': .* is not on the Hub"):
        Tokenizer.from_pretrained(tmp_path, revision="v2")
    for absent in ("./absent", str(tmp_path / "absent"), tmp_path / "absent", "a/b/c"):
        with pytest.raises(FileNotFoundError, match="No such file") as caught:
            Tokenizer.from_pretrained(absent)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(absent))
    with pytest.raises(FileNotFoundError):
        Tokenizer.load("someone/json")
    for offline in (False, True):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
        with pytest.raises(FileNotFoundError, match="no name of a tokenizer"):
            Tokenizer.from_pretrained("not a name!")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="no tokenizer in it"):
        Tokenizer.from_pretrained(tmp_path / "empty")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[hub\]'"):
        Tokenizer.from_pretrained("someone/json")
    monkeypatch.delitem(sys.modules, "bpetite.adapters.transformers", raising=False)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[transformers\]'"):
        TRAINED.as_transformers()


def test_a_package_that_is_there_and_refuses_is_not_told_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As transformers refuses another release of tokenizers than it wants."""
    (tmp_path / "transformers.py").write_text("raise ImportError('tokenizers>=0.22 is required')")
    (tmp_path / "huggingface_hub.py").write_text("import a_package_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("transformers", "huggingface_hub") or name == "bpetite.adapters.transformers":
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"transformers is installed, but cannot be imported: tokenizers>=0.22"):
        TRAINED.as_transformers()
    with pytest.raises(ImportError, match=r"huggingface_hub is installed.*a_package_that_is_not_there") as caught:
        Tokenizer.from_pretrained("someone/json")
    assert not isinstance(caught.value, MissingExtraError)


@pytest.mark.slow
def test_the_view_has_the_settings_of_the_repository(tmp_path: Path, hub: Any) -> None:
    pytest.importorskip("transformers")
    code = "(lambda view: [view.model_max_length, view.chat_template, view.eos_token])({}.as_transformers())"
    code = code.replace("{}", "Tokenizer.from_pretrained('someone/chat')")
    templates = {"default": "{{ messages }}", "tool_use": "{{ tools }}"}
    for environment in ({}, {"HF_HUB_OFFLINE": "1"}):
        assert run(code, tmp_path, hub.address, **environment) == [77, templates, None]
    assert not [path for path in hub.asked if "safetensors" in path]
