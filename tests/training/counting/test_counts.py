"""Counting pre-tokens: against a plain Counter, whatever the cuts and threads; counts as values and as files."""
import json
import pickle
import struct
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite import patterns, reference
from bpetite.errors import FormatError
from bpetite.training.counting import counts as module
from bpetite.training.counting import jobs as counting
from bpetite.training.counting.count_pretokens import count_pretokens
from bpetite.training.counting.counts import CountFile, PretokenCounts, merge_count_files
from bpetite.training.counting.cutting import Cutting
from tests.support.running import own_memory, running_threads

DIGITS = r"[0-9]{1,3}|[^0-9]+"

texts = st.one_of(
    st.text("ab \n'sde1的😀", max_size=300),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    st.builds(lambda piece, times: piece * times, st.text("a <|end>", min_size=1, max_size=6), st.integers(1, 60)),
)
split = st.sampled_from([patterns.GPT2, DIGITS, None, r"(?<=a)b|\s+", (r"[0-9]+", r" ?\w+")])
specials = st.sampled_from([(), ("<|end|>",), ("a", "ab", "😀"), ("<|end|>", "<|end", "end")])
normal_forms = st.sampled_from([None, None, "NFC", "NFD", "NFKC", "NFKD"])
MARKED = ("e\u0301\u0323 ﬁ Å" + "\u0301" * 40 + "한국어 가각 " + "x" * 30) * 60


def plain(documents, pattern=patterns.GPT2, special_tokens=(), normalization=None):
    counts = Counter()
    for document in documents:
        for piece, special in reference.cut_specials(document, special_tokens):
            if not special:
                piece = reference.normalize(piece, normalization) if normalization else piece
                counts.update(one.encode() for one in reference.split(piece, pattern))
    return dict(counts)


@pytest.mark.parametrize("threads", slow_but([1, 3], 3))
@pytest.mark.parametrize("part", slow_but([1, 50, 1000, 1777], 1, 1000))
@pytest.mark.parametrize("pattern", [patterns.GPT2, DIGITS], ids=["gpt2", "digits"])
@pytest.mark.parametrize(
    "text",
    [
        "The cat's hat. " * 700,
        "1234567" * 1500,  # digits in threes: no part begins where the one before it ends
        "x" + "12" * 3000 + " y " + "345" * 1500,
        " " * 9000,
        "\n \n" * 3000 + "a",
        "a" * 6000 + " b" * 2000,
        "Ж我é 的了 <|end|>" * 800,
        "<|end|>" * 1500,
        "<|end|><|end" * 900 + "|>",
        "😀" * 4000 + "é 1",
        "é" + "word " * 2000,
    ],
    ids=["words", "digits", "mixed", "spaces", "newlines", "letters", "scripts", "specials", "almost", "wide", "latin"],
)
def test_one_text_in_parts(text, pattern, part, threads, monkeypatch):
    if part == 1:
        text = text[:1300]
    monkeypatch.setattr(counting, "JOB_SIZE", part)
    expected = plain([text], pattern, ["<|end|>"])
    for given_text in (text, text.encode()):
        counts = count_pretokens(given_text, pattern=pattern, special_tokens=["<|end|>"], num_threads=threads)
        assert dict(counts) == expected


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "superbpe"])
def test_threads_share_a_long_text(name, monkeypatch):
    monkeypatch.setattr(counting, "JOB_SIZE", 1000)
    text = "The cat's hat, é 12 的了!\n" * 2000
    for given_text in (text, text.encode()):
        cuts = counting.Preparation.of(Cutting.of(pattern=name)).cuts
        assert len([*counting._ranges(given_text, cuts)]) > len(given_text) // 1200
        assert dict(count_pretokens(given_text, pattern=name, num_threads=2)) == plain([text], patterns.resolve(name))


@settings(deadline=None, max_examples=300)
@given(st.lists(texts, max_size=40), st.integers(1, 400), split, specials, normal_forms, st.integers(1, 3))
@example([MARKED], 37, patterns.GPT2, (), "NFC", 2)
@example([MARKED], 37, patterns.GPT2, (), "NFKD", 2)
def test_any_parts(documents, part, pattern, literals, form, threads):
    """A batch may hold texts longer than a part beside others."""
    options = {"pattern": pattern, "special_tokens": literals, "normalization": form}
    text = "".join(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "JOB_SIZE", part)
        for given_texts, expected in ((text, [text]), (text.encode(), [text]), (documents, documents)):
            counts = count_pretokens(given_texts, num_threads=threads, **options)
            assert dict(counts) == plain(expected, pattern, literals, form)
            assert (counts.total, counts.documents) == (sum(counts.values()), len(expected))
            assert counts.size == sum(map(len, counts))
            assert list(counts) == sorted(counts)


def test_long_pre_tokens_and_the_ends_of_texts():
    for length in range(1, 40):
        for tail in ("", " ", "  x"):
            text = "a" * length + tail
            assert dict(count_pretokens([text, text.encode()])) == {
                key: 2 * count for key, count in plain([text]).items()
            }
    keys = ["a" * 15, "a" * 16, "a" * 17, "a" * 16 + "b", "a" * 100_000, "a" * 99_999 + "b"]
    assert dict(count_pretokens(keys * 3)) == {key.encode(): 3 for key in keys}


@pytest.mark.parametrize("threads", [1, 2, 7, 13])
def test_the_tables_of_any_number_of_threads_are_added_up(threads):
    numbers = [f"{number:x}" * (1 + number % 4) for number in range(50_000)]
    expected = {pretoken: 6 * count for pretoken, count in plain(numbers, None).items()}
    assert dict(count_pretokens(numbers * 6, pattern=None, num_threads=threads)) == expected


@pytest.mark.parametrize("pattern", [patterns.GPT2, r"(?<=a)b|\s+"], ids=["compiled", "regex"])
@pytest.mark.parametrize("part", [7, 1 << 20])
def test_the_longest_special_token_wins_wherever_windows_end(part, pattern, monkeypatch):
    monkeypatch.setattr(counting, "JOB_SIZE", part)
    literals = ["<|é|>", "<|é|><|é|>", "<", "éé"]
    text = "a<|é|><|é|><|é|> b<|<ééé|>é" * 20
    for form in (None, "NFD"):
        counts = count_pretokens(text, pattern=pattern, special_tokens=literals, normalization=form)
        assert dict(counts) == plain([text], pattern, literals, form)


@pytest.mark.parametrize("options", [{}, {"normalization": "NFC"}, {"pattern": r"(?<=a)b|\s+"}], ids=str)
def test_special_tokens_with_the_same_first_byte_cost_nothing_more(options):
    """Four times the literals in four times the text: four times the time, where comparing each would take sixteen."""

    def seconds(size):
        literals = [f"<|{number}|>" for number in range(size)]
        text = "<|x " * (20 * size)
        times = []
        for _ in range(3):
            begin = time.process_time()
            count_pretokens(text, special_tokens=literals, num_threads=1, **options)
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(10_000) < 9 * seconds(2_500)


def test_bytes_that_are_not_utf8(monkeypatch):
    monkeypatch.setattr(counting, "JOB_SIZE", 100)
    for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\xf0\x8f\xbf\xbf"):
        for before in (0, 1, 99, 100, 101, 250, 1999):
            for after in (b"", b"x" * 1500):
                data = b"x" * before + bad + after
                with pytest.raises(UnicodeDecodeError) as ours:
                    count_pretokens(data)
                with pytest.raises(UnicodeDecodeError) as theirs:
                    data.decode()
                assert (ours.value.start, ours.value.end) == (theirs.value.start, theirs.value.end)
                assert ours.value.object is data


@pytest.mark.parametrize("wide", ["é", "的", "😀"])
def test_lone_surrogates(wide, monkeypatch):
    monkeypatch.setattr(counting, "JOB_SIZE", 100)
    for before in (0, 1, 99, 100, 300, 1999):
        text = wide * before + "\udc80" + "x" * 700
        with pytest.raises(UnicodeEncodeError) as ours:
            count_pretokens(text)
        assert (ours.value.start, ours.value.object) == (before, text)


def test_every_valid_character_passes():
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    data = text.encode()
    assert count_pretokens(data, pattern=None, num_threads=1)[data] == 1
    assert count_pretokens(text, pattern=None, num_threads=1)[data] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="has no getrusage")
@own_memory
@pytest.mark.parametrize("last", ["x", "é", "λ"])
def test_one_long_pre_token_is_held_about_twice(last):
    """Once by the table, and once as UTF-8 where the text is not that already; 2 of 16 MB is what else is needed."""
    script = (
        "import resource\n"
        "from bpetite.training.counting.count_pretokens import count_pretokens\n"
        f"text = 'word' * (1 << 22) + {last!r}\n"
        "count_pretokens(text[:1000])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert count_pretokens(text).total == 1\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 3 << 24


def test_texts_are_read_as_they_are_needed():
    read, held = [], []

    def documents():
        for _ in range(200):
            read.append(100_000)
            yield "some words " * (100_000 // 11)

    count_pretokens(documents(), num_threads=2, progress=lambda stage, done, total: held.append(sum(read) - done))
    assert max(held) < 12_000_000


def test_no_threads_are_left():
    before = running_threads()
    count_pretokens(["a b c" * 1000] * 3000, num_threads=4)
    assert running_threads() == before

    def failing():
        yield from ["a b c" * 1000] * 3000
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        count_pretokens(failing(), num_threads=4)
    assert running_threads() == before


def test_as_a_mapping():
    counts = PretokenCounts([(b"b", 2), (b"a", 1), (b"b", 3), (b"zero", 0)])
    assert dict(counts) == {b"a": 1, b"b": 5}
    assert counts == {b"b": 5, b"a": 1}
    assert len(counts) == 2
    assert counts[b"b"] == 5
    assert b"zero" not in counts
    assert "b" not in counts
    assert counts.get(b"c", 0) == 0
    with pytest.raises(KeyError):
        counts[b"zero"]
    assert repr(counts) == "PretokenCounts(2 different pre-tokens, 6 in all, 0 documents)"
    again = pickle.loads(pickle.dumps(counts))
    assert again == counts
    assert again.pattern == counts.pattern


def test_pickled_counts_are_bytes_of_records():
    counts = PretokenCounts({b"%x" % number: number for number in range(1, 50_000)}, pattern=None, documents=9)
    pickled = pickle.dumps(counts)
    assert len(pickled) < 13 * len(counts) + counts.size
    again = pickle.loads(pickled)
    assert (dict(again), again.documents, again.pattern) == (dict(counts), 9, None)


def test_adding():
    one, other = count_pretokens(["the cat", "the"]), count_pretokens("the dog" + "x" * 50)
    both = one + other
    assert dict(both) == plain(["the cat", "the", "the dog" + "x" * 50])
    assert both.documents == 3
    assert dict(one) == plain(["the cat", "the"])
    with pytest.raises(ValueError, match="do not add up: pattern"):
        one + count_pretokens("a", pattern=None)
    with pytest.raises(ValueError, match="do not add up: special_tokens"):
        one + count_pretokens("a", special_tokens=["<s>"])
    with pytest.raises(TypeError):
        one + {b"a": 1}
    with pytest.raises(OverflowError):
        PretokenCounts({b"a": 2**62}) + PretokenCounts({b"a": 2**62})
    with pytest.raises(OverflowError):
        PretokenCounts([(b"a", 2**62), (b"a", 2**62)])
    assert (PretokenCounts({b"a": 2**62}) + PretokenCounts({b"a": 2**62 - 1})).total == 2**63 - 1


#: Strings that agree in their first bytes, in zeros at their ends, in all but their lengths.
strings = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.builds(bytes.__add__, st.sampled_from([b"aaaaaaaa", b"\0" * 7, b"a" * 16]), st.binary(max_size=3)),
    st.binary(min_size=1, max_size=3).map(lambda end: end + b"\0" * 6),
)
words = st.dictionaries(strings, st.integers(1, 2**63 - 1), max_size=30)


@settings(deadline=None, max_examples=50)
@given(words, st.sampled_from([patterns.GPT2, None, ("a", "b")]))
def test_files_give_back_what_was_saved(tmp_path_factory, mapping, pattern):
    path = tmp_path_factory.mktemp("counts") / "one.counts"
    counts = PretokenCounts(mapping, pattern=pattern, special_tokens=["<s>"], normalization="NFC", documents=7)
    counts.save(path)
    again = PretokenCounts.load(path)
    assert dict(again) == mapping
    assert (again.pattern, again.special_tokens, again.normalization, again.documents) == (pattern, ("<s>",), "NFC", 7)
    with CountFile(path) as counts:
        assert sorted(counts) == sorted(mapping.items())
    first = path.read_bytes()
    PretokenCounts(dict(reversed(mapping.items())), pattern=pattern, special_tokens=["<s>"], normalization="NFC",
                   documents=7).save(path, overwrite=True)
    assert path.read_bytes() == first


def test_a_file_names_its_version_of_unicode(tmp_path):
    path = tmp_path / "some"
    count_pretokens("ab").save(path)
    assert b'"unicode": "16.0"' in path.read_bytes()
    described(path, lambda line: line.replace(b'"unicode": "16.0"', b'"unicode": "17.0"'))
    with pytest.raises(FormatError, match=r"some: the description .*unicode '17.0': this release of bpetite has"):
        PretokenCounts.load(path)


def test_files_of_another_version_are_refused(tmp_path):
    path = tmp_path / "some"
    path.write_bytes(b'bpetite counts 1\n{"pattern": null}\n')
    with pytest.raises(FormatError, match="some: counts of version 1; this release reads version 2: count again"):
        PretokenCounts.load(path)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.dictionaries(strings, st.integers(1, 1000)), min_size=1, max_size=5))
def test_merging_files(tmp_path_factory, mappings):
    folder = tmp_path_factory.mktemp("counts")
    expected = Counter()
    for number, mapping in enumerate(mappings):
        PretokenCounts(mapping, documents=number).save(folder / str(number))
        expected.update(mapping)
    for memory in (1, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "MERGE_MEMORY", memory)
            merge_count_files([folder / str(number) for number in range(len(mappings))], folder / "all", overwrite=True)
        merged = PretokenCounts.load(folder / "all")
        assert dict(merged) == expected
        assert merged.documents == sum(range(len(mappings)))
        merged.save(folder / "again", overwrite=True)
        assert (folder / "again").read_bytes() == (folder / "all").read_bytes()


def test_merging_what_does_not_fit(tmp_path):
    PretokenCounts({b"a": 2**62}).save(tmp_path / "a")
    PretokenCounts({b"a": 2**62}, pattern=None).save(tmp_path / "b")
    with pytest.raises(ValueError, match=r"a and .*b do not add up: pattern"):
        merge_count_files([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    with pytest.raises(OverflowError):
        merge_count_files([tmp_path / "a", tmp_path / "a"], tmp_path / "out")
    with pytest.raises(ValueError, match="no count files"):
        merge_count_files([], tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    with pytest.raises(FileExistsError):
        merge_count_files([tmp_path / "a"], tmp_path / "b")


def described(path, change):
    """Changes the description at the end of a file; its checksum fits."""
    written = path.read_bytes()
    size, _ = struct.unpack("<II", written[-8:])
    line = change(written[-8 - size : -8])
    end = struct.pack("<II", len(line), zlib.crc32(line, zlib.crc32(b"bpetite counts 2\n")))
    path.write_bytes(written[: -8 - size] + line + end)


@pytest.mark.parametrize(
    "options",
    [
        {"pattern": 7}, {"pattern": ["a", 7]}, {"normalization": []}, {"special_tokens": None}, {"special_tokens": [1]},
        {"partitions": []}, {"partitions": [[1, 2]] * 64}, {"partitions": [["a", 2]] * 64}, {"totals": [1]},
    ],
)
def test_settings_of_the_wrong_type(tmp_path, options):
    path = tmp_path / "counts"
    PretokenCounts({b"x" * 40: 5}).save(path)
    described(path, lambda line: json.dumps(json.loads(line) | options).encode())
    with pytest.raises(FormatError, match="counts: the description at its end is not one: "):
        PretokenCounts.load(path)


def test_what_is_huge_takes_no_memory(tmp_path):
    path = tmp_path / "counts"
    PretokenCounts({b"x" * 40: 5}).save(path)
    whole = path.read_bytes()
    described(path, lambda line: b"[" * 200_000)
    with pytest.raises(FormatError, match="the description at its end is not one"):
        PretokenCounts.load(path)
    tracemalloc.start()
    for damaged in (whole[:17] + b"\xff" * 4 + whole[21:], whole[:-8] + b"\xff" * 8):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="counts: damaged"):
            PretokenCounts.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16_000_000


def test_long_pretokens_are_read_in_parts(tmp_path):
    counts = PretokenCounts({b"x" * 3_000_000: 1, b"y": 2})
    counts.save(tmp_path / "counts")
    assert dict(PretokenCounts.load(tmp_path / "counts")) == dict(counts)


def test_damaged_files(tmp_path):
    path = tmp_path / "counts"
    PretokenCounts({b"one": 1, b"two": 300, b"x" * 40: 5}).save(path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(FormatError, match="counts"):
            PretokenCounts.load(path)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(FormatError, match="counts"):
            PretokenCounts.load(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(FormatError):
        PretokenCounts.load(path)
    path.write_bytes(whole)
    with CountFile(path) as counts:
        assert counts.pattern == patterns.GPT2
