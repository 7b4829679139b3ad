"""A tokenizer in the shape of a fast tokenizer of ``transformers``, for training scripts and collators.

It is a ``PreTrainedTokenizerFast`` (``TokenizersBackend``), so it goes wherever one of those goes. What it is asked for
most runs on bpetite; the rest are the methods of ``transformers``, for which the ``tokenizers.Tokenizer`` is made that
reads the tokenizer.json of this tokenizer. That is made when it is asked for first, so a view costs nothing, and a
tokenizer that tokenizer.json cannot hold has one, too. It is picklable, and a call changes nothing in it, so
``datasets.map`` finds its cache.
"""
from __future__ import annotations

import copy
import inspect
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import tokenizers
from transformers import AddedToken, PreTrainedTokenizerBase
from transformers.models.auto.tokenization_auto import (
    MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS,
    TOKENIZER_MAPPING_NAMES,
    tokenizer_class_from_name,
)

from ..bytelevel import decode_token_bytes, encode_token
from ..formats import huggingface
from ..patterns import GPT2
from ..steps.splits import PrefixSpace, SplitPattern
from ..steps.template import BARE
from .calls import Calls
from .mirror import Mirror

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from ..vocabulary.vocab import Vocab

__all__ = ["TransformersTokenizer"]

FLAGS = ("lstrip", "rstrip", "single_word")
#: What a class of tokenizers has a default for, beside its special tokens.
SETTINGS = ("padding_side", "truncation_side", "model_input_names")


class TransformersTokenizer(Calls):
    """What :meth:`bpetite.Tokenizer.as_transformers` gives.

    Args:
        options: Those of ``PreTrainedTokenizerFast``: ``pad_token``, ``bos_token``, ``model_max_length``,
            ``padding_side``, ``chat_template`` and so on; and ``tokenizer``, that of bpetite that does the work, which
            is read from ``tokenizer_object`` or ``tokenizer_file`` where it is not given. Special tokens that the
            vocabulary lacks are added.
    """

    def __init__(self, **options: Any) -> None:
        tokenizer: Tokenizer | None = options.pop("tokenizer", None)
        source = [options.pop(name, None) for name in ("tokenizer_object", "tokenizer_file")]
        if tokenizer is None:
            from ..tokenizer import Tokenizer

            tokenizer = Tokenizer.from_huggingface(source[1] if source[0] is None else source[0])
        added: dict[int, AddedToken] = options.pop("added_tokens_decoder", None) or {}
        self.__dict__["_mirror"] = Mirror(None, tokenizer)
        self._add_bos_token: bool = options.get("add_bos_token", False)
        self._add_eos_token: bool = options.get("add_eos_token", False)
        self._should_update_post_processor = "add_bos_token" in options or "add_eos_token" in options
        options.setdefault("backend", "tokenizers")
        PreTrainedTokenizerBase.__init__(self, **options)
        self.add_prefix_space: bool = options.get("add_prefix_space", False)
        self.add_tokens([token for _, token in sorted(added.items())])
        named = [*filter(None, self._special_tokens_map.values()), *self._extra_special_tokens]
        self.add_tokens([token for token in named if str(token) not in tokenizer.special_tokens], special_tokens=True)
        if self._should_update_post_processor:
            self.update_post_processor()

    @classmethod
    def from_pretrained(cls, name_or_directory: Any, *inputs: Any, **options: Any) -> Any:
        """A view of the tokenizer in a directory, or of the Hub, with the settings there."""
        if "tokenizer" in options:
            return super().from_pretrained(name_or_directory, *inputs, **options)
        from ..tokenizer import Tokenizer

        options.setdefault("name_or_path", os.fspath(name_or_directory))
        return view_of(Tokenizer.from_pretrained(name_or_directory), options)

    @classmethod
    def convert_to_native_format(cls, **options: Any) -> dict[str, Any]:
        """The options as they are: the constructor reads the file."""
        return options

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of bpetite that does the work; another one after tokens are added.

        Raises:
            ValueError: The backend was changed, and bpetite does not have what it does now.
        """
        mirror = self._current()
        if mirror is None:
            raise ValueError(f"bpetite does not do what the backend does now: {self.__dict__['_mirror'].reason}")
        return cast("Tokenizer", mirror.tokenizer)

    def _backend(self) -> Any:
        own = self.__dict__
        if "_tokenizer" not in own and "_mirror" in own:
            tokenizer = own["_mirror"].tokenizer
            backend = own["_tokenizer"] = tokenizers.Tokenizer.from_str(_as_json(tokenizer))
            own["_mirror"] = Mirror(backend, tokenizer)
        return own.get("_tokenizer")

    # What is in it

    @property
    def vocab_size(self) -> int:
        """The number of rows that an embedding table needs: the highest id plus one, added tokens included."""
        return len(self)

    def __len__(self) -> int:
        return super().__len__() if self._current() is None else self.tokenizer.vocab_size

    def get_vocab(self) -> dict[str, int]:
        """printable form (the literal, for special tokens) -> id."""
        if self._current() is None:
            return cast("dict[str, int]", super().get_vocab())
        specials = self.tokenizer.special_tokens
        special_ids = set(specials.values())
        vocab = self.tokenizer.vocab.items()
        return {encode_token(token): token_id for token_id, token in vocab if token_id not in special_ids} | specials

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """id -> special token."""
        if self._current() is None:
            return cast("dict[int, AddedToken]", super().added_tokens_decoder)
        vocab = self.tokenizer.to_vocab()
        added = {}
        for literal, token_id in sorted(vocab.special_tokens.items(), key=lambda item: item[1]):
            flags = vocab.token_flags.get(literal, ())
            settings = {flag: flag in flags for flag in (*FLAGS, "normalized")}
            added[token_id] = AddedToken(literal, **settings, special="plain" not in flags)
        return added

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken], special_tokens: bool = False) -> int:
        """New tokens get the next ids. A tokenizer is immutable, so this view changes to another one."""
        if self._current() is None:
            return super()._add_tokens(new_tokens, special_tokens)
        vocab = self.tokenizer.to_vocab()
        specials, flags, tokens = dict(vocab.special_tokens), dict(vocab.token_flags), dict(vocab.tokens)
        for token in new_tokens:
            literal = str(token)
            known = literal in specials
            if not literal or (known and not isinstance(token, AddedToken)):
                continue
            if not known:
                specials[literal] = vocab.id_of.get(literal.encode("utf-8"), max(tokens, default=-1) + 1)
                tokens[specials[literal]] = literal.encode("utf-8")
            given = token if isinstance(token, AddedToken) else AddedToken(literal, special=special_tokens)
            found = [flag for flag in FLAGS if getattr(given, flag)]
            # it matters only for text that is normalized
            if "normalized" in flags.get(literal, ()):
                found.append("normalized")
            if not (special_tokens or given.special):
                found.append("plain")
            one_byte = len(literal.encode("utf-8")) == 1 and specials[literal] not in vocab.tokens
            if one_byte or "added" in flags.get(literal, ()):
                found.append("added")
            flags.pop(literal, None)
            if found:
                flags[literal] = tuple(found)
        added = len(specials) - len(vocab.special_tokens)
        if added or flags != vocab.token_flags:
            self._set(replace(vocab, tokens=tokens, special_tokens=specials, token_flags=flags))
        return added

    def _convert_token_to_id_with_added_voc(self, token: str) -> int | None:
        if self._current() is None:
            return cast("int | None", super()._convert_token_to_id_with_added_voc(token))
        specials = self.tokenizer.special_tokens
        if token in specials:
            return specials[token]
        try:
            return self.tokenizer.token_id(decode_token_bytes(token))
        except (KeyError, ValueError):
            unknown = self._special_tokens_map.get("unk_token")
            return None if unknown is None else specials.get(str(unknown))

    def _convert_id_to_token(self, index: int) -> str | None:
        if self._current() is None:
            return cast("str | None", super()._convert_id_to_token(index))
        vocab = self.tokenizer.to_vocab()
        token = vocab.tokens.get(int(index))
        if token is None:
            return None
        literal = token.decode("utf-8", "replace")
        return literal if vocab.special_tokens.get(literal) == index else encode_token(token)

    def convert_ids_to_tokens(self, ids: int | Sequence[int], skip_special_tokens: bool = False) -> Any:
        """The printable form of an id or of each; None for an id without a token."""
        if isinstance(ids, int):
            return self._convert_id_to_token(ids)
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return [self._convert_id_to_token(token_id) for token_id in map(int, ids) if token_id not in skipped]

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """The text of tokens in printable form."""
        if self._current() is None:
            return cast(str, super().convert_tokens_to_string(tokens))
        return self._decode([self._convert_token_to_id_with_added_voc(token) for token in tokens])

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """How many tokens the template puts around a text, or a pair."""
        if self._current() is None:
            return cast(int, super().num_special_tokens_to_add(pair))
        template = self.tokenizer.template
        if template is None:
            return 0
        return sum(len(part.ids) for part in (template.pair if pair else template.single))

    def train_new_from_iterator(self, *arguments: Any, **options: Any) -> Any:
        """A view of a tokenizer that the library trains on other texts, with the steps and special tokens here."""
        template = self.tokenizer.template
        if template is None or not template.trim_offsets:
            return super().train_new_from_iterator(*arguments, **options)
        # transformers gives a template its new ids, but not one that is in a sequence with what trims offsets
        plain = copy.copy(self)
        plain._set(replace(self.tokenizer.to_vocab(), template=replace(template, trim_offsets=())))
        made = super(TransformersTokenizer, plain).train_new_from_iterator(*arguments, **options)
        vocab = made.tokenizer.to_vocab()
        made._set(replace(vocab, template=replace(vocab.template or BARE, trim_offsets=template.trim_offsets)))
        return made

    def _set(self, vocab: Vocab) -> None:
        """Change to the tokenizer of another vocabulary."""
        self.__dict__["_mirror"] = Mirror(None, type(self.tokenizer).from_vocab(vocab))
        self.__dict__.pop("_tokenizer", None)

    # Files

    def _save_pretrained(self, save_directory: Any, file_names: tuple[str, ...], **options: Any) -> tuple[str, ...]:
        """Write a directory that ``transformers.AutoTokenizer`` loads without bpetite."""
        with open(file_names[0], encoding="utf-8") as file:
            config = json.load(file)
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
        with open(file_names[0], "w", encoding="utf-8") as file:
            json.dump(config, file, ensure_ascii=False, indent=2, sort_keys=True)
            file.write("\n")
        return file_names + self.save_vocabulary(str(save_directory), options.get("filename_prefix"))

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write tokenizer.json."""
        path = os.path.join(save_directory, (f"{filename_prefix}-" if filename_prefix else "") + "tokenizer.json")
        self.tokenizer.to_merges().save(path, format="huggingface", overwrite=True)
        return (path,)


def _as_json(tokenizer: Tokenizer) -> str:
    """The tokenizer.json of a tokenizer, without what changes nothing in what the backend is asked for."""
    vocab = replace(tokenizer.to_merges().to_vocab(), errors="strict", unicode=None)
    return huggingface.dump(vocab).decode("utf-8")


def view_of(tokenizer: Tokenizer, options: dict[str, Any]) -> TransformersTokenizer:
    """What :meth:`bpetite.Tokenizer.as_transformers` gives: with the settings of the directory that the tokenizer comes
    from, as ``transformers`` reads them; those given count more."""
    beside = tokenizer.to_vocab().beside
    defaults = _defaults(beside)
    settings = defaults | _config(beside) if defaults else {}
    if (prefix_space := options.get("add_prefix_space", settings.get("add_prefix_space"))) is not None:
        tokenizer = _with_prefix_space(tokenizer, prefix_space)
    if not beside:
        if tokenizer.eot_token is not None:
            options.setdefault("eos_token", tokenizer.token_bytes(tokenizer.eot_token).decode("utf-8"))
        return TransformersTokenizer(tokenizer=tokenizer, **options)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in beside.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
            file.write('{"added_tokens": []}')  # that it is there counts; its content is in the tokenizer
        view = TransformersTokenizer.from_pretrained(folder, tokenizer=tokenizer, **(defaults | options))
    view.name_or_path = view.init_kwargs["name_or_path"] = options.get("name_or_path", "")
    return cast(TransformersTokenizer, view)


def _config(beside: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        found |= json.loads(beside.get(name, "{}"))
    return found


def _defaults(beside: dict[str, str]) -> dict[str, Any]:
    """What a directory leaves to the class of tokenizers that it names, or that is known for its type of model."""
    config = _config(beside)
    kind_of_model = json.loads(beside.get("config.json", "{}")).get("model_type")
    name = config.get("tokenizer_class") or TOKENIZER_MAPPING_NAMES.get(kind_of_model)
    # for byte-level BPE, AutoTokenizer takes the general class in place of these
    if not isinstance(name, str) or kind_of_model in MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS or "Llama" in name:
        return {}
    kind = tokenizer_class_from_name(name)
    if not isinstance(kind, type) or not issubclass(kind, PreTrainedTokenizerBase):
        return {}
    found: dict[str, Any] = {key: getattr(kind, key) for key in SETTINGS}
    for key, parameter in inspect.signature(kind).parameters.items():
        named = key in PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES
        if (named and isinstance(parameter.default, str | AddedToken)) or key == "add_prefix_space":
            found[key] = parameter.default
    return {key: value for key, value in found.items() if key not in config}


def _with_prefix_space(tokenizer: Tokenizer, wanted: bool) -> Tokenizer:
    """The tokenizer that puts a space before a text, or does not, where its pattern is that of GPT-2: as the classes of
    ``transformers`` that have this option set it in ``ByteLevel``."""
    vocab = tokenizer.to_vocab()
    patterns_of: dict[bool, SplitPattern] = {False: GPT2, True: (PrefixSpace(), GPT2)}
    if vocab.pattern not in patterns_of.values() or vocab.pattern == patterns_of[wanted]:
        return tokenizer
    return type(tokenizer).from_vocab(replace(vocab, pattern=patterns_of[wanted]))
