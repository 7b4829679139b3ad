"""Tokenizers by name: local ones first, then those of the Hugging Face Hub, through ``huggingface_hub``."""
from __future__ import annotations

import os

from ..errors import FormatError, MissingExtraError
from ..vocabulary.vocab import Vocab
from . import load as load_local
from . import packaged
from .files import Source

__all__ = ["load"]

def load(name_or_directory: Source, *, revision: str | None = None) -> Vocab:
    """As :meth:`bpetite.Tokenizer.from_pretrained`."""
    name = os.fspath(name_or_directory)
    if os.path.exists(name) or packaged(name) is not None:
        if revision is not None:
            raise ValueError(f"revision {revision!r}: {name} is not on the Hub")
        return load_local(name)
    if not isinstance(name_or_directory, str) or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise FileNotFoundError(f"{name}: no such file or directory")
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HFValidationError
    except ImportError:
        raise MissingExtraError(f"loading {name!r} from the Hugging Face Hub", "huggingface_hub", "hub") from None

    from . import gpt2, huggingface, tekken

    # best first; a format is there when all its files are
    formats = (huggingface.FILE,), (gpt2.VOCAB, gpt2.MERGES), ("tekken.json",)
    missing: Exception | None = None
    for files in formats:
        try:
            paths = [hf_hub_download(name, file, revision=revision) for file in files]
        except EntryNotFoundError as absent:  # also: offline, and not in the cache
            missing = missing or absent
            continue
        except HFValidationError as bad:
            raise FileNotFoundError(f"{name}: no such file, and no name of a repository on the Hub: {bad}") from None
        if files == formats[0]:
            return huggingface.load(paths[0])
        if files == formats[1]:
            return gpt2.load(paths[0], paths[1], _added_tokens(name, revision))
        return tekken.load(paths[0])
    if isinstance(missing, FileNotFoundError):
        raise missing
    raise FormatError(f"{name}: no tokenizer that bpetite reads in this repository of the Hub: {missing}")


def _added_tokens(name: str, revision: str | None) -> dict[str, int] | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    from . import gpt2

    try:
        return gpt2.read_added_tokens(hf_hub_download(name, gpt2.ADDED, revision=revision))
    except EntryNotFoundError:
        return None
