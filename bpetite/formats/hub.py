"""Tokenizers by name: local ones first, then those of the Hugging Face Hub, through ``huggingface_hub``."""
from __future__ import annotations

import os
from contextlib import suppress

from ..errors import FormatError, MissingExtraError
from ..vocabulary.vocab import Vocab
from . import FILES, named, unknown_name
from . import load as load_local
from .beside import BESIDE
from .files import Source

__all__ = ["TIMEOUT", "load"]

#: Seconds in which the Hub has to answer at first.
TIMEOUT = 10


def load(name_or_directory: Source, *, revision: str | None = None) -> Vocab:
    """As :meth:`bpetite.Tokenizer.from_pretrained`.

    "gpt2" names an encoding and a repository: where the ranks of the one cannot be had, the cache of the other is
    enough, since they give the same ids.
    """
    name = os.fspath(name_or_directory)
    if os.path.exists(name):
        if revision is not None:
            raise ValueError(f"revision {revision!r}: {name} is not on the Hub")
        return load_local(name)
    if not isinstance(name_or_directory, str) or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise FileNotFoundError(f"{name}: no such file or directory")
    try:
        local = named(name) if revision is None else None
    except ConnectionError as lost:
        with suppress(OSError, ImportError, FormatError):
            return _from_hub(name, None, str(lost))
        raise
    return local if local is not None else _from_hub(name, revision)


def _from_hub(name: str, revision: str | None, lost: str | None = None) -> Vocab:
    """From the Hub; only from its cache where the network is lost, for the reason that is given."""
    try:
        from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import EntryNotFoundError, HFValidationError, LocalEntryNotFoundError
        from huggingface_hub.utils import validate_repo_id
    except ImportError:
        raise MissingExtraError(f"loading {name!r} from the Hugging Face Hub", "huggingface_hub", "hub") from None

    try:
        validate_repo_id(name)
    except HFValidationError:
        raise unknown_name(name) from None
    lost = lost or _unreachable(name, revision)
    missing: Exception | None = None
    for format, files in FILES.items():
        try:
            paths = [hf_hub_download(name, file, revision=revision, local_files_only=bool(lost)) for file in files]
        except EntryNotFoundError as absent:  # also: not reachable, and not in the cache
            missing = missing or absent
            if isinstance(absent, LocalEntryNotFoundError):
                lost = lost or _cause(absent)
            continue
        for file in BESIDE:
            if try_to_load_from_cache(name, file, revision=revision) is None:  # nor known to be missing
                lost = lost or _unreachable(name, revision, file)
                with suppress(EntryNotFoundError):
                    hf_hub_download(name, file, revision=revision, local_files_only=bool(lost))
        return load_local(os.path.dirname(paths[0]), format=format)  # all are in one folder of the cache
    if lost:
        raise ConnectionError(
            f"{name}: {constants.ENDPOINT} cannot be asked for this repository ({lost}), and the cache "
            f"{constants.HF_HUB_CACHE} does not have its tokenizer. Without a network, put its tokenizer.json (or "
            "vocab.json and merges.txt) into a folder and give the path of the folder"
        )
    raise FormatError(f"{name}: no tokenizer that bpetite reads in this repository of the Hub: {missing}")


def _unreachable(name: str, revision: str | None, file: str = FILES["huggingface"][0]) -> str | None:
    """Why the Hub does not answer: found out with one request, where ``huggingface_hub`` tries several times to fetch a
    file that its cache lacks. None if it answers, whatever it says, or if the file is in the cache."""
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, FileMetadataError, HfHubHTTPError

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    if isinstance(try_to_load_from_cache(name, file, revision=revision), str):
        return None
    try:
        get_hf_file_metadata(hf_hub_url(name, file, revision=revision), timeout=TIMEOUT)
    except (EntryNotFoundError, HfHubHTTPError, FileMetadataError):
        return None
    except Exception as lost:  # those of the HTTP client, which is another one in every release of huggingface_hub
        return _cause(lost)
    return None


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__
