"""The tokenizer that ``AutoTokenizer`` makes of a folder, against the tokenizer.json that is in it.

Classes of ``transformers`` build parts of a tokenizer anew, whatever the file says, and then give other ids in silence.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..adapters.hostile_texts import hostile_texts
from ..errors import MissingExtraError, short_repr

__all__ = ["Disagreement", "disagreements"]

#: The parts of a tokenizer.json whose change may explain other ids.
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "added_tokens", "model")


class Disagreement(NamedTuple):
    """A text with other ids.

    Attributes:
        text: The text.
        ids: The ids of ``AutoTokenizer``, with the special tokens that it adds.
        expected: The ids of the file.
        setting: The part of the file that explains it if it alone is as ``AutoTokenizer`` has it, "normalizer" for
            instance; several if only all of them do; empty if none is different.
    """

    text: str
    ids: list[int]
    expected: list[int]
    setting: str

    def __str__(self) -> str:
        return (
            f"{short_repr(self.text)}: AutoTokenizer gives {short_repr(self.ids)}, tokenizer.json "
            f"{short_repr(self.expected)}; because of: {self.setting or 'its own code'}"
        )


def disagreements(folder: str | os.PathLike[str], texts: Iterable[str] = (), *, most: int = 5) -> list[Disagreement]:
    """The first texts for which ``AutoTokenizer`` and its own tokenizer.json give other ids.

    Some hundred texts that are hard to split are compared, with every special token, and then the given ones.

    Args:
        folder: The folder of a model; nothing is downloaded.
        texts: Further texts.
        most: Stop after this many differences.

    Raises:
        ValueError: The folder cannot be loaded, or ``AutoTokenizer`` gives a tokenizer without a backend.
        FileNotFoundError: The folder has no tokenizer.json.
        MissingExtraError: ``transformers`` is not installed.

    >>> import tempfile
    >>> from bpetite import Tokenizer, analysis
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Tokenizer.train("ab ab ab", 258).save(f"{folder}/tokenizer.json", format="huggingface")
    ...     analysis.disagreements(folder)
    []
    """
    try:
        from tokenizers import Tokenizer
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingExtraError("the comparison with AutoTokenizer", "transformers", "transformers") from None
    name = os.path.join(folder, "tokenizer.json")
    with open(name, encoding="utf-8") as file:
        source = file.read()
    try:
        theirs = _bare(Tokenizer.from_str(source))
        made: Any = AutoTokenizer.from_pretrained(os.fspath(folder), local_files_only=True)
    except Exception as error:  # the libraries raise nothing narrower
        raise ValueError(f"{os.fspath(folder)} cannot be loaded: {error}") from error
    if not getattr(made, "is_fast", False):
        raise ValueError(f"{os.fspath(folder)}: AutoTokenizer gives {type(made).__name__}, which has no backend")
    differences: list[Disagreement] = []
    for text in [*hostile_texts(made.get_added_vocab()), *texts]:
        ids, expected = made(text, verbose=False)["input_ids"], theirs.encode(text).ids
        if ids != expected:
            cause = _cause(Tokenizer, source, made.backend_tokenizer, text, ids)
            differences.append(Disagreement(text, ids, expected, cause))
            if len(differences) >= most:
                break
    return differences


def _bare(tokenizer: Any) -> Any:
    """The file without truncation and padding, which calls of ``transformers`` set themselves."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _cause(kind: Any, source: str, backend: Any, text: str, ids: list[int]) -> str:
    """The part that alone turns the file's ids into these."""
    file, other = json.loads(source), json.loads(backend.to_str())
    parts = [part for part in PARTS if file.get(part) != other.get(part)]
    for tried in [*([part] for part in parts), parts]:
        changed = file | {part: other.get(part) for part in tried}
        try:
            if _bare(kind.from_str(json.dumps(changed))).encode(text).ids == ids:
                return ", ".join(tried)
        except Exception:  # parts that do not fit together; the library raises nothing narrower
            continue
    return ""
