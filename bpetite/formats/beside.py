"""The settings of ``transformers`` in the files beside a tokenizer.json: chat templates, named tokens, sides."""
from __future__ import annotations

import json
import os
from contextlib import suppress

from ..vocabulary.vocab import Vocab

__all__ = ["BESIDE", "remember"]

#: The files, as ``transformers`` names them.
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "config.json")
#: The folder of further chat templates.
TEMPLATES = "additional_chat_templates"


def remember(vocab: Vocab, folder: str) -> Vocab:
    """The vocabulary with the settings in its directory; of config.json, only the type of the model is kept."""
    templates = os.path.join(folder, TEMPLATES)
    names = [*BESIDE]
    if os.path.isdir(templates):
        names += [f"{TEMPLATES}/{name}" for name in sorted(os.listdir(templates)) if name.endswith(".jinja")]
    found: dict[str, str] = {}
    for name in names:
        with suppress(OSError, ValueError), open(os.path.join(folder, name), encoding="utf-8") as file:
            content = file.read()
            if name.endswith(".json"):
                value = json.loads(content)
                if not isinstance(value, dict):
                    continue
                if name == "config.json":
                    if not isinstance(value.get("model_type"), str):
                        continue
                    content = json.dumps({"model_type": value["model_type"]})
            found[name] = content
    vars(vocab)["beside"] = found
    return vocab
