"""Every public method where the n-th allocation fails, for every n: MemoryError or the right result, nothing else."""
import subprocess
import sys
from pathlib import Path

import pytest
from paths import TOOLS

pytest.importorskip("_testcapi", reason="this Python comes without its own test modules")

PROGRAM = """
import sys, tempfile
from pathlib import Path
from _testcapi import remove_mem_hooks, set_nomemory
from threads_stress import calls_of
from dataclasses import replace
from bpetite import Tokenizer, count_pretokens, serving
from bpetite.steps.template import Template, TemplatePart

folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
tok = Tokenizer.train("ab ab abc é中😀 the cat " * 20, 300, special_tokens=["<|endoftext|>", "<s>"])
text = "ab é ab<s>c zzz 中 " * 3
ids, counts, ranks = tok.encode(text), count_pretokens(text), tok.to_ranks()
tok.save(f"{folder}/tokenizer.json", format="huggingface")
ranks.save(f"{folder}/t.tiktoken")
tok.save(f"{folder}/gpt2", format="gpt2")
template = Template((TemplatePart((ids[0],)), TemplatePart(text="A")), ())
around = Tokenizer.from_vocab(replace(tok.to_vocab(), template=template))
every = [*calls_of(tok, text, folder).items(), *calls_of(ranks, text, folder).items()]
calls = [call for name, call in every if name != "pickle"]  # CPython says that the import of a module failed
calls += [
    lambda: around.encode_batch([text] * 3, add_special_tokens=True),
    lambda: tok.encode_batch([text * 50] * 8, num_threads=2),
    lambda: tok.encode_batch_to_arrow([text] * 3).nbytes,  # its to_pylist crashes without memory
    lambda: tok.truncate(text, 5, truncation_side="left"),
    lambda: tok.decode_bytes(ids, skip_special_tokens=True),
    lambda: [(one.feed(ids), one.flush()) for one in [tok.decode_stream(context=ids[:1])]],
    lambda: (serving.first_divergence(tok, ids), serving.continue_ids(tok, ids, text)),
    lambda: serving.encode_bytes(tok, b"ab\\xff ab", errors="bytes"),
    lambda: [batch.input_ids.tolist() for batch in serving.padded_batches(tok, [text, "a"], max_tokens=99)],
    lambda: Tokenizer(tok.vocab, tok.merges, tok.special_tokens).encode("ab"),
    lambda: Tokenizer.from_huggingface(folder / "tokenizer.json").encode(text),
    lambda: Tokenizer.from_pretrained(folder).encode(text),
    lambda: Tokenizer.from_tiktoken(folder / "t.tiktoken", pattern=tok.pattern).encode("ab"),
    lambda: Tokenizer.from_files(folder / "gpt2/vocab.json", folder / "gpt2/merges.txt").encode("ab"),
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


#: CPython 3.12 and 3.13.0 free the code of a generator expression twice if its function cannot be allocated.
PYTHON_ALONE = """
from _testcapi import remove_mem_hooks, set_nomemory

def call(values):
    return all(value for value in values)

for failing in range(12):
    for _ in range(5):
        set_nomemory(failing, failing + 1)
        try:
            call([1])
        except MemoryError:
            pass
        finally:
            remove_mem_hooks()
"""


def test_a_failing_allocation_is_a_memory_error(tmp_path: Path) -> None:
    """The calls of tools/threads_stress.py, which have every public method (test_races.py), and some more. In a process
    of its own, which a wrong reference count would end."""
    if subprocess.run([sys.executable, "-c", PYTHON_ALONE], capture_output=True).returncode < 0:
        pytest.skip("this CPython crashes without bpetite, too, where a function cannot be allocated")
    program = f"import sys; sys.path.append({str(TOOLS)!r})\n{PROGRAM}"
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("done "), done.stderr[-2000:]
