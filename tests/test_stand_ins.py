"""Stand-ins for ../shared/data in a plain clone: published vocabularies out of packages, and made texts."""
import hashlib
from pathlib import Path

import made_texts
import published
import pytest

TEXTS = {
    "english": "91636e9370f2d30c",
    "code": "805ffd9eb32bd2ee",
    "multilingual": "8373c9d1c115d0fc",
    "cjk": "29798cded4578ff1",
}


@pytest.mark.parametrize("name", published.DIGESTS)
def test_packages_hold_the_published_files(tmp_path: Path, name: str) -> None:
    path = published.write(name, tmp_path)
    if path is None:
        pytest.skip(f"no package with {name} is installed")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == published.DIGESTS[name]


def test_another_file_under_the_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "installed", lambda distribution, path: b"{}")
    with pytest.raises(ValueError, match=r"gpt2/vocab\.json"):
        published.write("gpt2/vocab.json", tmp_path)


@pytest.mark.parametrize("name", made_texts.NAMES)
def test_made_texts_are_the_same_everywhere(name: str) -> None:
    """The baseline of the benchmarks is measured on them."""
    text = made_texts.text(name, 100_000)
    assert len(text.encode()) in range(99_997, 100_001)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == TEXTS[name]
    assert text.startswith(made_texts.text(name, 5_000))
