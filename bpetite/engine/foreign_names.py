"""The names of other tokenizers that people type: what a view has, the error names with that view."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

#: Library -> the method whose view has its interface, and the names in it that a Tokenizer lacks. Tests compare them
#: with the libraries, which are not imported for an error.
VIEWS = {
    "tiktoken": ("as_tiktoken", """
        decode_bytes_batch decode_single_token_bytes decode_tokens_bytes decode_with_offsets encode_ordinary_batch
        encode_single_token encode_with_unstable is_special_token max_token_value n_vocab name special_tokens_set
        token_byte_values"""),
    "tokenizers": ("as_tokenizers", """
        add_special_tokens add_tokens decoder enable_padding enable_truncation encode_batch_fast encode_special_tokens
        get_added_tokens_decoder get_vocab get_vocab_size id_to_token model no_padding no_truncation normalizer
        num_special_tokens_to_add padding post_processor pre_tokenizer to_str token_to_id truncation"""),
    "transformers": ("as_transformers", """
        add_bos_token add_eos_token add_prefix_space add_special_tokens add_tokens added_tokens_decoder
        added_tokens_encoder all_special_ids all_special_tokens apply_chat_template backend_tokenizer batch_decode
        batch_encode_plus bos_token bos_token_id chat_template clean_up_tokenization_spaces cls_token cls_token_id
        convert_ids_to_tokens convert_tokens_to_ids convert_tokens_to_string encode_plus eos_token eos_token_id
        get_added_vocab get_chat_template get_special_tokens_mask get_vocab is_fast mask_token mask_token_id
        model_input_names model_max_length name_or_path num_special_tokens_to_add pad pad_token pad_token_id
        padding_side push_to_hub save_pretrained save_vocabulary sep_token sep_token_id special_tokens_map tokenize
        train_new_from_iterator truncation_side unk_token unk_token_id"""),
}  # fmt: skip


def _by_name() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for library, (_, names) in VIEWS.items():
        for name in names.split():
            found.setdefault(name, []).append(library)
    return found


#: name -> the libraries that have it.
ELSEWHERE = _by_name()


class _Elsewhere:
    """An attribute that a tokenizer does not have, whose error names a view. Unlike ``__getattr__``, it costs the other
    attributes nothing: with that, encoding a short text took 1.5 times as long on CPython 3.11, and twice as long with
    a compiled one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tokenizer: object, owner: type) -> Self:
        libraries = ELSEWHERE[self.name]
        views = " and ".join(f"{VIEWS[library][0]}()" for library in libraries)
        gives = "gives its interface" if len(libraries) == 1 else "give their interfaces"
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}, a name of {' and '.join(libraries)}: {views} "
            f"{gives}", name=self.name, obj=tokenizer,
        )  # fmt: skip


class OwnNames(type):
    """The names of others cannot be got from a tokenizer, and stay out of ``dir`` and ``help``, too."""

    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        for name in ELSEWHERE:
            if not hasattr(cls, name):
                setattr(cls, name, _Elsewhere(name))

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in ELSEWHERE]
