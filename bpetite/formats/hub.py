"""Tokenizers by name: local ones first, then those of the Hugging Face Hub, through ``huggingface_hub``."""
from __future__ import annotations

import os
from contextlib import suppress

from ..errors import FormatError, MissingExtraError
from ..vocabulary.vocab import Vocab
from . import FILES, packaged
from . import load as load_local
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

    from .gpt2 import ADDED

    missing: Exception | None = None
    for format, files in FILES.items():
        try:
            paths = [hf_hub_download(name, file, revision=revision) for file in files]
        except EntryNotFoundError as absent:  # also: offline, and not in the cache
            missing = missing or absent
            continue
        except HFValidationError as bad:
            raise FileNotFoundError(f"{name}: no such file, and no name of a repository on the Hub: {bad}") from None
        if format == "gpt2":
            with suppress(EntryNotFoundError):
                hf_hub_download(name, ADDED, revision=revision)
        return load_local(os.path.dirname(paths[0]), format=format)  # all are in one folder of the cache
    if isinstance(missing, FileNotFoundError):
        raise missing
    raise FormatError(f"{name}: no tokenizer that bpetite reads in this repository of the Hub: {missing}")
