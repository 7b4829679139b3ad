"""Reading a tokenizer, wherever a command line names one."""
from __future__ import annotations

import os
import re

from ..tokenizer import Tokenizer
from .console import say

#: The tokenizer that ships inside the package.
PACKAGED = "bpetite-32k"

#: What names a tokenizer, for people.
SOURCES = f"a file, a folder, a repository of the Hub, or a name such as gpt2, cl100k_base or {PACKAGED}"


def load_tokenizer(spec: str | None) -> Tokenizer:
    """The tokenizer of a file, a folder, a name or a repository of the Hub; None is the packaged one, which a message
    says."""
    if spec is None:
        say(f"no --tokenizer given: using the packaged {PACKAGED}", always=True)
        return Tokenizer.load(PACKAGED)
    is_file_name = spec.endswith((".json", ".tiktoken", ".model", ".gguf"))
    if re.fullmatch(r"[\w.-]+/[\w.-]+", spec) and not is_file_name and not os.path.isdir(os.path.dirname(spec)):
        return Tokenizer.from_pretrained(spec)  # a repository of the Hub
    return Tokenizer.load(spec)
