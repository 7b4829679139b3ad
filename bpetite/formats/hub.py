"""Tokenizers by name: local ones first, then the Hugging Face Hub's, through ``huggingface_hub``."""
from __future__ import annotations

import errno
import os
from contextlib import suppress

from ..errors import FormatError, importing
from ..vocabulary.vocab import Vocab
from . import load as load_local
from . import named, unknown_name
from .files import BESIDE, FILES, TEMPLATES, Source

#: The time for the Hub's first answer, in seconds.
TIMEOUT = 10


def load(name_or_directory: Source, *, revision: str | None = None) -> Vocab:
    """Load a vocabulary by name, with the arguments and errors of :meth:`bpetite.Tokenizer.from_pretrained`.

    "gpt2" names an encoding and a repository, which give the same ids: if the ranks of the encoding cannot be
    downloaded, a cached copy of the repository is used.
    """
    name = os.fspath(name_or_directory)
    if os.path.exists(name):
        if revision is not None:
            raise ValueError(f"revision {revision!r}: {name} is not on the Hub")
        return load_local(name)
    if not isinstance(name_or_directory, str) or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    try:
        local = named(name) if revision is None else None
    except ConnectionError as lost:
        with suppress(OSError, ImportError, FormatError):
            return _from_hub(name, None, str(lost))
        raise
    return local if local is not None else _from_hub(name, revision)


def _from_hub(name: str, revision: str | None, lost: str | None = None) -> Vocab:
    """The vocabulary in a repository. ``lost`` is the reason why the Hub cannot be asked: then its cache is used."""
    with importing(f"loading {name!r} from the Hugging Face Hub", "huggingface_hub", "hub"):
        from huggingface_hub import constants, snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
        from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        raise unknown_name(name) from None
    lost = lost or _why_lost(name, revision)
    wanted = [*(file for files in FILES.values() for file in files), *BESIDE, f"{TEMPLATES}/*.jinja"]
    try:
        folder = snapshot_download(
            name, revision=revision, allow_patterns=wanted, etag_timeout=TIMEOUT, local_files_only=bool(lost)
        )
        if any(os.path.isfile(os.path.join(folder, files[0])) for files in FILES.values()):
            return load_local(folder)
    except LocalEntryNotFoundError as absent:
        lost = lost or str(absent)
    if lost:
        raise ConnectionError(
            f"{name}: {constants.ENDPOINT} cannot be asked for this repository ({lost}), and the cache "
            f"{constants.HF_HUB_CACHE} does not have its tokenizer. Without a network, put its tokenizer.json (or "
            "vocab.json and merges.txt) into a folder and give the path of the folder"
        )
    known = ", ".join(files[0] for files in FILES.values())
    raise FormatError(f"{name}: no tokenizer that bpetite reads in this repository of the Hub: none of {known}")


def _why_lost(name: str, revision: str | None) -> str | None:
    """The reason why the Hub does not answer; None if it answers. ``snapshot_download`` itself waits without limit."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import HfHubHTTPError

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    try:
        HfApi().model_info(name, revision=revision, timeout=TIMEOUT)
    except HfHubHTTPError:
        return None
    except Exception as lost:  # an error of the HTTP client, which differs between releases of huggingface_hub
        return str(lost) or type(lost).__name__
    return None
