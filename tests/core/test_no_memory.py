"""Every public method where the n-th allocation fails, for every n: MemoryError or the right result, nothing else."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bpetite import Tokenizer, serving

pytest.importorskip("_testcapi", reason="this Python comes without its own test modules")

PROGRAM = """
import dataclasses, sys, tempfile
from _testcapi import remove_mem_hooks, set_nomemory
from bpetite import Tokenizer, count_pretokens, serving
from bpetite.steps.template import Template, TemplatePart

folder = tempfile.mkdtemp(dir=sys.argv[1])
tok = Tokenizer.train("ab ab abc é中😀 " * 20, 300, special_tokens=["<|endoftext|>", "<s>"])
text = "ab é ab<s>c zzz 中 " * 3
ids, array, counts = tok.encode(text), tok.encode_to_numpy(text), count_pretokens(text)
tok.save(f"{folder}/native.json")
tok.save(f"{folder}/tokenizer.json", format="huggingface")
ranks = tok.to_ranks()
ranks.save(f"{folder}/t.tiktoken")
tok.save(f"{folder}/gpt2", format="gpt2")
template = Template((TemplatePart((ids[0],)), TemplatePart(text="A")), ())
around = Tokenizer.from_vocab(tok.to_vocab().replace(template=template))
stream = lambda: [(one.feed(ids), one.flush()) for one in [tok.decode_stream(context=ids[:1])]]

calls = [
    lambda: tok.encode(text),
    lambda: tok.with_cache(0).encode(text),
    lambda: tok.encode(text, dropout=0.1, seed=1),
    lambda: tok.encode(text, allowed_special={"<s>"}, disallowed_special=()),
    lambda: tok.encode_ordinary(text),
    lambda: tok.encode_to_numpy(text).tolist(),
    lambda: tok.encode_batch([text] * 3),
    lambda: around.encode_batch([text] * 3, add_special_tokens=True),
    lambda: tok.encode_batch([text * 50] * 8, num_threads=2),
    lambda: [found.tolist() for found in tok.encode_batch_to_numpy([text] * 3)],
    lambda: tok.encode_batch_to_arrow([text] * 3).nbytes,  # its to_pylist crashes without memory
    lambda: tok.encode_with_offsets(text),
    lambda: list(tok.encode_iterable(["ab <", "s> a", "b"])),
    lambda: tok.encode_padded([text, "a"], pad_token="<s>").input_ids.tolist(),
    lambda: tok.count(text),
    lambda: tok.count(text * 99, limit=40),
    lambda: list(tok.count_batch([text] * 2)),
    lambda: tok.truncate(text, 5),
    lambda: tok.truncate(text, 5, truncation_side="left"),
    lambda: list(tok.chunks(text, 5)),
    lambda: tok.decode(ids),
    lambda: tok.decode(array),
    lambda: tok.decode_bytes(ids, skip_special_tokens=True),
    lambda: tok.decode_batch([ids, ids]),
    lambda: list(tok.decode_iterable(ids)),
    stream,
    lambda: (tok.vocab, tok.merges, tok.special_tokens, tok.token_bytes(256), tok.token_id("ab"), tok.fingerprint()),
    lambda: (tok.pattern, tok.normalization, tok.template, tok.errors, tok.kind, tok.scanner, tok.vocab_size),
    lambda: (tok.eot_token, len(tok), repr(tok), hash(tok), tok == ranks),
    lambda: serving.heal(tok, text),
    lambda: serving.is_canonical(tok, ids),
    lambda: serving.first_divergence(tok, ids),
    lambda: serving.retokenized(tok, ids),
    lambda: serving.continue_ids(tok, ids, text),
    lambda: serving.encode_segments(tok, [(text, True), (text, False)]),
    lambda: serving.encode_bytes(tok, b"ab\\xff ab", errors="bytes"),
    lambda: list(serving.completions(tok, b"ab")),
    lambda: list(serving.prefixes(tok, b"abc")),
    lambda: [batch.input_ids.tolist() for batch in serving.padded_batches(tok, [text, "a"], max_tokens=99)],
    lambda: Tokenizer.train("ab ab abc" * 5, 260).merges,
    lambda: Tokenizer.train_from_counts(counts, 260).merges,
    lambda: count_pretokens(text) == counts,
    lambda: Tokenizer(tok.vocab, tok.merges, tok.special_tokens).encode("ab"),
    lambda: Tokenizer.from_vocab(tok.to_vocab()).encode("ab"),
    lambda: tok.extend("zzz zzz zz", 2).merges,
    lambda: tok.prune("ab ab abc", vocab_size=258).tokenizer.merges,
    lambda: (tok.to_ranks().encode(text), ranks.to_merges().encode(text)),
    lambda: tok.as_tiktoken().encode_ordinary(text),
    lambda: Tokenizer.load(f"{folder}/native.json").encode(text),
    lambda: Tokenizer.from_huggingface(f"{folder}/tokenizer.json").encode(text),
    lambda: Tokenizer.from_pretrained(folder).encode(text),
    lambda: Tokenizer.from_tiktoken(f"{folder}/t.tiktoken", pattern=tok.pattern).encode("ab"),
    lambda: Tokenizer.from_files(f"{folder}/gpt2/vocab.json", f"{folder}/gpt2/merges.txt").encode("ab"),
    lambda: tok.save(f"{folder}/again.json", overwrite=True),
]
for number, call in enumerate(calls):
    expected = (call(),)
    successes = failing = 0
    while successes < 3:  # the first ones may be calls that can do without
        set_nomemory(failing, failing + 1)
        try:
            found = (call(),)
        except (MemoryError, SystemError):  # NumPy and CPython lose some of these exceptions
            found = None
        except Exception as error:
            remove_mem_hooks()
            cause = error
            while cause is not None and not isinstance(cause, MemoryError):
                cause = cause.__cause__ or cause.__context__
            lost = "os.PathLike" in str(error) or "can't allocate" in str(error)  # in CPython's own code of files
            assert cause is not None or lost, (number, failing, error)
            found = None
        finally:
            remove_mem_hooks()
        assert found in (None, expected), (number, failing)
        successes = successes + 1 if found is not None else 0
        failing += 1 + failing // 60  # fewer of a call that makes thousands
    assert (call(),) == expected, number
    print(number, failing, file=sys.stderr)
print("done", len(calls))
"""


def test_a_failing_allocation_is_a_memory_error(tmp_path: Path) -> None:
    """In a process of its own, which a wrong reference count would end."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"done {PROGRAM.count('lambda: ')}\n"), done.stderr[-2000:]


def test_it_has_every_public_method() -> None:
    named = set(re.findall(r"\w+", PROGRAM))
    tok = Tokenizer.train("ab", 257)
    names = {name for name in dir(tok) if not name.startswith("_") and hasattr(tok, name)}  # not those of hints
    # the work of one is that of another library; the other asks `typing`, in which CPython 3.11 itself crashes
    others = {"as_transformers", "train_from_files"}
    assert sorted((names | set(serving.__all__)) - {"Chunk", "Splitter"} - others - named) == []
