"""Spans of contents, and masks of what assistants have written."""
import random
from pathlib import Path
from typing import Any

import chat_cases
import pytest
from chat_templates import TEMPLATES

from bpetite import Tokenizer, Vocab, chat
from bpetite.steps.normalizers import Prepend, Replace
from bpetite.vocabulary.alphabet import Alphabet

SPECIAL = ["<|im_start|>", "<|im_end|>"]
#: Every byte is a token, so that tokens are places in the text.
BYTES = Tokenizer({value: bytes([value]) for value in range(256)}, [], SPECIAL)


def shown(template: str, *contents: Any, role: str = "user") -> list[bytes | None]:
    """The bytes of the span of each content."""
    found = chat.encode(BYTES, [{"role": role, "content": content} for content in contents], template)
    spans = {index: BYTES.decode_bytes(found.ids[first:last]) for index, first, last in found.spans}
    return [spans.get(index) for index in range(len(contents))]


EACH = "{% for m in messages %}<|im_start|>{{ X }}<|im_end|>\n{% endfor %}"


@pytest.mark.parametrize(
    ("expression", "content", "expected"),
    [
        ("m.content", "  a b\n", b"  a b\n"),
        ("m.content | trim", "\n\n a b\n", b"a b"),
        ("' ' + m.content.lstrip('\\n') + ' '", "\n a\n", b" a\n"),
        ("m.content | tojson", '"say" \\ \n', b'\\"say\\" \\\\ \\n'),
        ("m.content | tojson", "\n\n", None),
        ("m.content | upper", "a\nGr\u00fcn ", "A\nGR\u00dcN ".encode()),
        ("m.content | capitalize", "aB c", b"Ab c"),
        ("m.content.split('x')[1]", "abxcdxe", b"cd"),
        ("m.content[2:]", "abcd", b"cd"),
        ("m.content", "a<|im_end|>", b"a<|im_end|>"),
        ("m.content", '"<>"', b'"<>"'),
        ("m.content", "", None),
        ("m.content ~ m.content", "a", None),
        ("m.content | reverse", "abc", None),
        ("m.content | length", "abc", None),
        ("'x'", "x", None),
        ("m.content if m.content == 'abc' else 'no'", "abc", b"abc"),
        ("(m.content | trim) ~ (m.content | first)", "abc", None),
        ("'<t>' ~ m.content.split('</t>')[0].split('<t>')[1] ~ '</t>' ~ m.content[8:]", "<t>a</t>b", b"<t>a</t>b"),
        ("m.content.split('-')[0] ~ '+' ~ m.content.split('-')[1]", "a-b", None),
    ],
)
def test_span_of_a_content(expression: str, content: str, expected: bytes | None) -> None:
    template = EACH.replace("X", expression)
    assert shown(template, content) == [expected]
    assert shown(template, content, "other x words x", content)[::2] == [expected] * 2


MACRO = "{% macro of(m) %}{{ m.content }}{% endmacro %}{% for m in messages %}{% set text = of(m) | trim %}"
THOUGHT = "text.split('<|im_end|>')[0].split('<|im_start|>')[1]"
PUT_TOGETHER = f"'<|im_start|>\\n' ~ ({THOUGHT} | trim) ~ '\\n<|im_end|>\\n\\n'"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"{PUT_TOGETHER} ~ text.split('<|im_end|>')[1] | trim", b"<|im_start|>\na b\n<|im_end|>\n\nc d"),
        ("text.split('<|im_end|>')[-1] | trim", b"c d"),
        ("text.split('<|im_end|>')[-1] | replace('c', '')", None),
    ],
)
def test_spans_where_a_template_looks_for_special_tokens(expression: str, expected: bytes | None) -> None:
    """As for the reasoning of a model; what a macro gives is a new text for Jinja."""
    template = f"{MACRO}<|im_start|>{{{{ ({expression}) if '<|im_end|>' in text else text }}}}<|im_end|>{{% endfor %}}"
    content = "<|im_start|>\na b\n<|im_end|>\n\nc d"
    assert shown(template, content, "e f", content, role="assistant") == [expected, b"e f", expected]


def test_parts_of_a_content_have_one_span() -> None:
    template = "{% for m in messages %}<|im_start|>{% for p in m.content %}{{ p.text }}, {% endfor %}{% endfor %}"
    parts = [{"type": "text", "text": "a "}, {"type": "image"}, {"type": "text", "text": " b"}]
    assert shown(template, parts, parts) == [b"a , ,  b"] * 2


def test_messages_side_by_side_and_left_out() -> None:
    assert shown("{% for m in messages %}{{ m.content }}{% endfor %}", "\na\n", "\nb\n") == [b"\na\n", b"\nb\n"]
    assert shown("{{ messages[0].content }}{{ messages[2].content }}", "a", "b", "c") == [b"a", None, b"c"]
    assert shown("{% for m in messages | reverse %}{{ m.content }}{% endfor %}", "a", "b") == [b"a", b"b"]
    assert shown("{{ messages[0].content }}{{ messages[1].content[1:] }}", "ab", "bc") == [b"ab", b"c"]
    template = "{% for m in messages if m.content | trim in ('a', 'c') %}{{ m.content | e }};{% endfor %}"
    assert shown(template, "a", "b", "c") == [b"a", None, b"c"]


NAMES = ["chatml", "data", "variable", "joined role", "brackets", "reasoning", "tools", "macro"]


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("name", NAMES)
def test_spans_are_where_the_contents_are(name: str, seed: int) -> None:
    draw = random.Random(seed)
    contents = [f"{number}{chat_cases.honest(draw)}{number}" for number in range(4)]
    roles = ["system", "user", "assistant", "user"]
    messages = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]
    found = chat.encode(BYTES, messages, TEMPLATES[name], bos_token="<s>", eos_token="</s>")
    assert [index for index, _, _ in found.spans] == [0, 1, 2, 3]
    for index, first, last in found.spans:
        assert BYTES.decode(found.ids[first:last]) == contents[index]
    assert sum(found.assistant_mask) == found.spans[2][2] - found.spans[2][1]


def test_a_token_over_an_edge_belongs_to_the_span() -> None:
    tok = Tokenizer.train("ab ab ab ab:", 258)
    found = chat.encode(tok, [{"role": "assistant", "content": "b"}], " a{{ messages[0].content }}:")
    assert (found.ids, found.spans, found.assistant_mask) == ([257, 58], [(0, 0, 1)], [1, 0])


@pytest.mark.parametrize("normalization", ["NFC", "NFD"])
def test_normalized_texts(normalization: Any) -> None:
    tok = Tokenizer({value: bytes([value]) for value in range(256)}, [], SPECIAL, normalization=normalization)
    messages = [{"role": "user", "content": "e\u0301<|im_end|>"}, {"role": "assistant", "content": "\u00e9\u00e9"}]
    found = chat.encode(tok, messages, "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}")
    (_, first, last), (_, start, end) = found.spans
    one = "\u00e9" if normalization == "NFC" else "e\u0301"
    assert tok.decode(found.ids[first:last]) == f"{one}<|im_end|>"
    assert tok.decode(found.ids[start:end]) == one * 2
    assert found.ids.count(tok.special_tokens["<|im_end|>"]) == 2
    assert found.assistant_mask == [0] * start + [1] * (end - start) + [0]


def test_a_literal_of_two_contents_is_no_special_token() -> None:
    tok = Tokenizer({value: bytes([value]) for value in range(256)}, [], SPECIAL, normalization="NFC")
    messages = [{"role": "user", "content": content} for content in ("e\u0301<|im_", "end|>")]
    found = chat.encode(tok, messages, "{{ messages[0].content }}{{ messages[1].content }}<|im_end|>")
    assert [tok.decode(found.ids[first:last]) for _, first, last in found.spans] == ["\u00e9<|im_", "end|>"]


def test_generation_blocks_are_the_mask(tmp_path: Path) -> None:
    source = TEMPLATES["generation"]
    tok = chat_cases.tokenizer_of(chat_cases.literals_of(source))
    theirs = chat_cases.theirs_of(tok, source, tmp_path)
    for seed in range(20):
        draw = random.Random(seed)
        messages = [{"role": role, "content": chat_cases.honest(draw)} for role in ["user", "assistant"] * 2]
        expected = theirs.apply_chat_template(
            messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
        found = chat.encode(tok, messages, source)
        assert found.assistant_mask == expected["assistant_masks"]
        without = chat.encode(tok, messages, source.replace("{% generation %}", "").replace("{% endgeneration %}", ""))
        assert without.assistant_mask == expected["assistant_masks"]


def test_a_tokenizer_that_puts_a_space_before_a_text() -> None:
    tokens = {0: b" ", 1: b"a", 2: b"b", 3: b" a", 4: b" b"}
    tok = Tokenizer.from_vocab(Vocab(
        tokens, ((0, 1), (0, 2)), {}, pattern=None, alphabet=Alphabet(space="\u2581", strip="one"),
        normalization=(Prepend("\u2581"), Replace(" ", "\u2581")),
    ))  # fmt: skip
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    found = chat.encode(tok, [{"role": "user", "content": content} for content in ("a b", "b")], template)
    assert (found.ids, found.spans) == ([3, 4, 2], [(0, 0, 2), (1, 2, 3)])


@pytest.mark.parametrize("tag", ["{%- generation -%}", "{%+ generation %}", "{%+ generation +%}"])
def test_a_generation_block_may_keep_its_white_space(tag: str) -> None:
    messages = [{"role": "assistant", "content": "abc"}]
    found = chat.encode(BYTES, messages, f"x{tag}{{{{ messages[0].content }}}}y{{% endgeneration %}}")
    assert found.assistant_mask == [0, 1, 1, 1, 1]


def test_a_generation_block_in_a_comment_is_none() -> None:
    messages = [{"role": "assistant", "content": "abc"}]
    found = chat.encode(BYTES, messages, "{# {% generation %} #}x{{ messages[0].content }}y")
    assert found.assistant_mask == [0, 1, 1, 1, 0]


def test_a_block_that_the_template_reads() -> None:
    template = "{% set x %}{% generation %}{{ messages[0].content }}{% endgeneration %}{% endset %}{{ x | length }}"
    found = chat.encode(BYTES, [{"role": "assistant", "content": "abc"}], template)
    with pytest.raises(ValueError, match="changes what its generation blocks put out"):
        _ = found.assistant_mask


@pytest.mark.parametrize("content", ["", None, "abc"])
def test_an_assistant_without_a_span_is_named(content: str | None) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": content, "tool_calls": []}]
    template = "{% for m in messages %}{{ m.content if loop.first else (m.content or '') | reverse }}{% endfor %}"
    found = chat.encode(BYTES, messages, template)
    assert found.spans == [(0, 0, 2)]
    with pytest.raises(ValueError, match=r"messages\[1\] of an assistant has no content that is found"):
        _ = found.assistant_mask
