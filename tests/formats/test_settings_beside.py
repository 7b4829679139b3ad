"""The files in which transformers keeps settings beside a tokenizer.json: they come back, and damage is named."""
import json
from pathlib import Path
from typing import Any

import pytest

from bpetite import FormatError, Tokenizer, chat
from bpetite.cli import main

TRAINED = Tokenizer.train("ab ab ab", 258, special_tokens=["<s>", "</s>", "<pad>"])
CONFIG = {
    "tokenizer_class": "LlamaTokenizer", "auto_map": {"AutoTokenizer": ["evil.Evil", None]}, "bos_token": "<s>",
    "pad_token": "<pad>", "model_max_length": 77, "padding_side": "left",
}  # fmt: skip
TEMPLATES = {"default": "{{ messages }}é", "tool_use": "{{ tools }}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    TRAINED.save(made, format="huggingface")
    (made / "tokenizer_config.json").write_text(json.dumps(CONFIG))
    (made / "chat_template.jinja").write_text(TEMPLATES["default"], encoding="utf-8")
    (made / "additional_chat_templates").mkdir()
    (made / "additional_chat_templates" / "tool_use.jinja").write_text(TEMPLATES["tool_use"])
    (made / "config.json").write_text('{"model_type": "llama", "rope": Infinity}')
    return made


def check(folder: Path) -> None:
    config = json.loads((folder / "tokenizer_config.json").read_text())
    assert config.items() >= {key: CONFIG[key] for key in ("bos_token", "model_max_length", "padding_side")}.items()
    assert (config["tokenizer_class"], config["eos_token"]) == ("PreTrainedTokenizerFast", "</s>")
    assert "auto_map" not in config
    assert sorted(path.name for path in folder.iterdir()) == [
        "additional_chat_templates", "chat_template.jinja", "tokenizer.json", "tokenizer_config.json"
    ]  # fmt: skip


def test_a_folder_that_is_loaded_and_saved_keeps_its_settings(folder: Path, tmp_path: Path) -> None:
    tok = Tokenizer.load(folder)
    tok.save(tmp_path / "saved", format="huggingface")
    check(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved") == tok
    with pytest.raises(FileExistsError):
        tok.save(tmp_path / "saved", format="huggingface")
    tok.save(tmp_path / "saved", format="huggingface", overwrite=True)


def test_convert_keeps_them(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["convert", str(folder), str(tmp_path / "converted"), "--to", "huggingface"])
    check(tmp_path / "converted")


def test_transformers_reads_them(folder: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    Tokenizer.load(folder).save(tmp_path / "saved", format="huggingface")
    made: Any = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert made("ab<s>")["input_ids"] == TRAINED.encode("ab<s>")
    assert (made.bos_token, made.pad_token, made.eos_token) == ("<s>", "<pad>", "</s>")
    assert (made.model_max_length, made.padding_side, made.chat_template) == (77, "left", TEMPLATES)


@pytest.mark.parametrize("lists_tokens", [True, False])
def test_two_files_that_name_a_token_differently(folder: Path, tmp_path: Path, lists_tokens: bool) -> None:
    """The older special_tokens_map.json decides, unless tokenizer_config.json lists the added tokens itself."""
    transformers = pytest.importorskip("transformers")
    config: dict[str, Any] = {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>"}
    if lists_tokens:
        config["added_tokens_decoder"] = {"259": {"content": "</s>", "special": True}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "special_tokens_map.json").write_text('{"bos_token": "<pad>", "eos_token": "<pad>"}')
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    theirs: Any = transformers.AutoTokenizer.from_pretrained(folder)
    tok = Tokenizer.load(folder)
    made = tok.as_transformers()
    assert (made.bos_token, made.eos_token) == (theirs.bos_token, theirs.eos_token)
    assert chat.encode(tok, [], "{{ bos_token }}").text == theirs.bos_token == ("<s>" if lists_tokens else "<pad>")
    tok.save(tmp_path / "saved", format="huggingface")
    saved: Any = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert (saved.bos_token, saved.eos_token) == (theirs.bos_token, "</s>" if lists_tokens else "<pad>")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"bos_token": ', "not JSON: .* line 1 column"), (b"[1]", r"must be a JSON object, not \[1\]"),
        (b'{"a": "\xff"}', "byte 7 .* is not UTF-8"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_read_are_named(folder: Path, content: bytes, message: str) -> None:
    (folder / "tokenizer_config.json").write_bytes(content)
    with pytest.raises(FormatError, match=f"tokenizer_config.json: {message}"):
        Tokenizer.load(folder)


def test_a_save_that_fails_leaves_no_folder(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    tok = Tokenizer.load(folder)
    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        tok.save(tmp_path / "saved", format="huggingface")
    assert not (tmp_path / "saved").exists()
