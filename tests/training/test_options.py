"""What training refuses or warns of before and after the work: paths for texts, patterns that cut nothing, ids."""
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from inspect import get_annotations, signature
from pathlib import Path
from typing import Any

import pytest
import regex

from bpetite import CountFile, PretokenCounts, Tokenizer, TrainingWarning, count_pretokens, patterns
from bpetite.training.counting.documents import texts_not_paths
from bpetite.training.options import TrainingOptions

TEXT = "the cat sat on the mat and the dog sat on the cat"
train = Tokenizer.train


# Too few pairs


@pytest.mark.parametrize(
    "learn",
    [
        lambda: train("ab ab", 300),
        lambda: train([TEXT], 300, min_frequency=9),
        lambda: train([TEXT], 1000, max_token_bytes=2),
        lambda: Tokenizer.train_from_counts({b"ab": 2}, 258),
    ],
)
def test_too_few_pairs_are_a_warning_at_the_callers_line(learn: Callable[[], Tokenizer]) -> None:
    with pytest.warns(TrainingWarning, match=r"no pair is left to learn .* tokens, not \d+") as caught:
        learn()
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.filterwarnings("error")
def test_enough_pairs_are_none() -> None:
    assert train("ab ab ab", 258).vocab_size == 259
    assert train([], 256).vocab_size == 257


# Paths in place of texts


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    for number in range(120):
        (tmp_path / f"{number}.txt").write_text("x")
    return [str(tmp_path / f"{number}.txt") for number in range(120)]


@pytest.mark.parametrize(
    "corpus",
    [
        lambda paths: paths[0],
        lambda paths: Path(paths[0]),
        lambda paths: paths[:1],
        lambda paths: tuple(paths),
        lambda paths: iter(paths),
        lambda paths: (Path(path) for path in paths),
        lambda paths: [*paths[:100], "a text"],
        lambda paths: str(Path(paths[0]).parent),
        lambda paths: Path(paths[0]).parent,
        lambda paths: [str(Path(paths[0]).parent), *paths],
    ],
)
def test_paths_in_place_of_texts(paths: list[str], corpus: Callable[[list[str]], Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(str(Path(paths[0]).parent))) as caught:
        train(corpus(paths), 300)
    assert "train_from_files" in str(caught.value)
    with pytest.raises(ValueError, match="the path of a file or folder"):
        count_pretokens(corpus(paths))


def test_a_word_that_names_a_folder(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(paths[0]).parent.parent)
    name = Path(paths[0]).parent.name
    for use in (lambda text: train(text, 256), lambda text: train("ab", 256).extend(text, 0), train("ab", 256).prune):
        with pytest.raises(ValueError, match=r"the path of a file or folder: train_from_files .* is given as bytes"):
            use(name)
        use(name.encode())
    for text in (".", "..", "/"):
        train(text, 256)


def test_texts_among_which_a_path_is(paths: list[str]) -> None:
    for corpus in ([*paths[:99], "a text"], iter([*paths[:99], "a text"]), ["a text", *paths], [paths[0] + "x"], []):
        assert len(list(texts_not_paths(corpus))) in (100, 121, 1, 0)
    read: list[int] = []

    def documents() -> Iterator[str]:
        for number in range(50):
            read.append(number)
            yield f"text {number}"

    kept = texts_not_paths(documents())
    assert read == [0]  # one text is enough
    assert list(kept) == [f"text {number}" for number in range(50)]


# Patterns that leave documents whole


@pytest.mark.parametrize("pattern", ["foo", r"[^\n]+", "(?s).+", (r"\d", "foo"), "é|ß"])
def test_a_pattern_that_leaves_documents_whole_is_refused(pattern: patterns.Pattern) -> None:
    for corpus in ([TEXT] * 3, TEXT):
        with pytest.raises(ValueError, match=r"documents into \d+ pre-tokens, such as 'the cat sat.*\(\?:\.\.\.\)"):
            train(corpus, 260, pattern=pattern)
    counts = count_pretokens([TEXT], pattern=pattern)
    with pytest.raises(ValueError, match="such as 'the cat sat"):
        Tokenizer.train_from_counts(counts, 260)


@pytest.mark.parametrize("pattern", ["(?:foo)", "(?s:.+)", None, "none", regex.compile("foo"), re.compile(r"[^\n]+")])
def test_where_that_is_meant_it_is_done(pattern: Any) -> None:
    assert train([TEXT], 260, pattern=pattern).vocab_size == 261


@pytest.mark.parametrize(
    "corpus",
    [["cat", "dog"], ["हिन्दी", "A\u0300U\u0300"], ["ACGTACGTACGTACGTACGTACGT"] * 3, ["中文字" * 9], [""], []],
)
def test_documents_that_no_pattern_would_cut_are_no_sign(corpus: list[str]) -> None:
    train(corpus, 257, pattern="[A-Zx]+")


# Special tokens with ids


def test_special_tokens_with_ids_of_the_callers_choice() -> None:
    tok = train("ab ab<eot>ab", 258, special_tokens={"<eot>": 1000, "<pad>": 300})
    assert tok.special_tokens == {"<eot>": 1000, "<pad>": 300}
    assert tok.encode("ab<eot>") == [256, 1000]
    assert tok.merges == train("ab ab<eot>ab", 258, special_tokens=["<eot>"]).merges
    first = train("ab ab", 257, special_tokens={"<eot>": 1, "<pad>": 0}, special_ids="before")
    assert first.special_tokens == {"<eot>": 1, "<pad>": 0}
    assert first.encode("ab<eot>") == [258, 1]
    assert train("a|b", 256, special_tokens={"|": 124}).special_tokens == {"|": 124}
    counts = count_pretokens("ab ab", special_tokens={"<eot>": 9})
    assert Tokenizer.train_from_counts(counts, 257, special_tokens={"<eot>": 257}).special_tokens == {"<eot>": 257}


@pytest.mark.parametrize(
    ("special_tokens", "options", "message"),
    [
        ({"<a>": 0}, {}, "'<a>' cannot have the id 0: bytes and learned tokens have 0..259. Give ids from 260 on"),
        ({"<a>": 259}, {}, "cannot have the id 259"),
        ({"<a>": 300, "<b>": 300}, {}, "'<b>' cannot have the id 300: '<a>' has it"),
        ({"<a>": -1}, {}, "ids are int, 0..4294967295"),
        ({"<a>": 2**32}, {}, "ids are int"),
        ({"<a>": "7"}, {}, "cannot have the id '7'"),
        ({"<a>": True}, {}, "cannot have the id True"),
        ({"|": 300}, {}, "it has 124"),
        ({"<a>": 1, "<b>": 2}, {"special_ids": "before"}, "'<b>' cannot have the id 2: .* special tokens have 0..1"),
    ],
)
def test_ids_that_collide(special_tokens: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(TEXT, 260, special_tokens=special_tokens, **options)


# Options of counting that counts carry


END = "<|endoftext|>"


@pytest.mark.parametrize("memory", [None, "1MB"])
def test_by_default_the_end_of_text_is_in_no_merge(memory: Any, tmp_path: Path) -> None:
    """Counting, training, their files and their defaults agree: no <|, en or ex is learned."""
    texts = [f"ab{END}cd{END}ab " * 9]
    counts = count_pretokens(texts, memory=memory)
    learned = Tokenizer.train_from_counts(counts, 258)
    assert learned == Tokenizer.train(texts, 258)
    assert learned.merges == [(b"a", b"b"), (b"c", b"d")]
    assert learned.special_tokens == {END: 258}
    counts.save(tmp_path / "counts")
    for again in (CountFile(tmp_path / "counts"), PretokenCounts.load(tmp_path / "counts")):
        assert again.special_tokens == (END,)
        assert Tokenizer.train_from_counts(again, 258) == learned
        assert learned.prune(again) == learned.prune(texts)


OPTIONS: dict[str, Any] = {"pattern": r" ?\w+", "normalization": "NFC", "special_tokens": ("<s>",)}


def test_options_of_the_counts_hold_unless_others_are_given() -> None:
    counts = count_pretokens("ab ab<s>ab", **OPTIONS)
    learned = Tokenizer.train_from_counts(counts, 257)
    assert learned == train("ab ab<s>ab", 257, **OPTIONS) == Tokenizer.train_from_counts(counts, 257, **OPTIONS)
    vocab = learned.to_vocab()
    assert (vocab.pattern, vocab.normalization) == (r" ?\w+", "NFC")
    assert learned.special_tokens == {"<s>": 257}
    assert Tokenizer.train_from_counts({b"ab": 1}, 257).pattern == patterns.GPT2
    assert (learned.extend(counts, 1), learned.prune(counts)) == (
        learned.extend("ab ab<s>ab", 1), learned.prune("ab ab<s>ab")
    )  # fmt: skip


@pytest.mark.parametrize("option", OPTIONS)
def test_options_that_contradict_counts_or_a_tokenizer(option: str) -> None:
    others: dict[str, tuple[Any, ...]] = {
        "pattern": (None, patterns.GPT2), "normalization": (None, "NFD"),
        "special_tokens": ((), ("<s>", END), (END,)),
    }  # fmt: skip
    counts, tok = count_pretokens("ab ab", **OPTIONS), train("ab ab", 257, **OPTIONS)
    for other in others[option]:  # a given option counts also when it is the default
        with pytest.raises(ValueError, match=f"^{option}=.* contradicts these counts, made with {option}="):
            Tokenizer.train_from_counts(counts, 257, **{option: other})
        made = count_pretokens("ab ab", **OPTIONS | {option: other})
        uses: list[Callable[[Any], Any]] = [lambda counts: tok.extend(counts, 1), tok.prune]
        for use in uses:
            with pytest.raises(ValueError, match=f"made with .*{option}=.* contradict the tokenizer, which has"):
                use(made)
            use({b"cd": 2})  # another mapping says nothing


def test_the_order_of_special_tokens_does_not_matter() -> None:
    one, other = (count_pretokens("<a>ab<b>", special_tokens=given) for given in (["<a>", "<b>"], ["<b>", "<a>"]))
    assert dict(one + other) == {b"ab": 2}
    assert (one + other).special_tokens == ("<a>", "<b>")
    learned = Tokenizer.train_from_counts(one, 257, special_tokens=["<b>", "<a>"])
    assert learned.special_tokens == {"<b>": 257, "<a>": 258}
    placed = Tokenizer.train_from_counts(one, 257, special_tokens={"<b>": 300, "<a>": 400})
    assert placed.special_tokens == {"<b>": 300, "<a>": 400}
    assert Tokenizer.train("ab", 256, special_tokens=["<a>", "<b>"]).extend(other, 1).merges == [(b"a", b"b")]


def test_special_tokens_that_extend_adds_are_those_of_the_counts() -> None:
    tok = Tokenizer.train(["ab ab"], 257)
    text = f"cd{END}cd"
    more = count_pretokens(text, special_tokens=[END, "<s>"])
    assert tok.extend(more, 1, special_tokens=["<s>"]).merges[-1] == (b"c", b"d")
    for counts, added in ((more, []), (count_pretokens(text), ["<s>"])):
        with pytest.raises(ValueError, match="special_tokens"):
            tok.extend(counts, 1, special_tokens=added)


@pytest.mark.parametrize(
    ("learn", "option"),
    [
        (lambda **options: Tokenizer.train("ab", 256, **options), "min_count"),
        (lambda **options: Tokenizer.train_from_counts({}, 256, **options), "superwords_from"),
        (lambda **options: Tokenizer.train_from_counts({}, 256, **options), "num_threads"),
        (lambda **options: Tokenizer.train_from_files("missing", 256, **options), "min_count"),
        (lambda **options: Tokenizer.train("ab", 256).extend("ab", 0, **options), "special_ids"),
        (lambda **options: count_pretokens("ab", **options), "min_frequency"),
    ],
)
def test_an_option_that_there_is_not(learn: Callable[..., Any], option: str) -> None:
    with pytest.raises(TypeError, match=rf"got an unexpected keyword argument '{option}'"):
        learn(**{option: 257})


@pytest.mark.parametrize("method", ["train", "train_from_files", "train_from_counts", "extend"])
def test_the_methods_have_the_options_as_they_are_declared(method: str) -> None:
    declared = {one.name: one.default for one in fields(TrainingOptions)}
    found = {name: one for name, one in signature(getattr(Tokenizer, method)).parameters.items() if name in declared}
    if method == "extend":  # without superwords; special tokens are further ones
        assert (found.pop("superword_pattern").default, found.pop("special_tokens").default) == (None, ())
    hints = get_annotations(TrainingOptions)
    assert {name: one.default for name, one in found.items() if name != "vocab_size"} == {
        name: declared[name] for name in found if name != "vocab_size"
    }
    assert {name: one.annotation for name, one in found.items()} == {name: hints[name] for name in found}
    if method.startswith("train"):
        missing = {"train_from_counts": "special_tokens pattern normalization superwords_from superword_pattern"}
        assert declared.keys() - found == {*missing.get(method, "").split()}
