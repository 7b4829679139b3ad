"""Instructions for each byte of text on arm64, by emulation: the plain form of the loops beside NEON.

    python -m benchmarks.instructions               needs qemu-user and gcc-aarch64-linux-gnu (tools/arm64.py)

The number of instructions of a process that encodes a text three times more than another, divided by three and by the
text's bytes; one thread, the packaged tokenizer, the text in the word cache. It depends on the compiler and on the
text, not on the machine, and says nothing about how many instructions a processor runs at once.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from arm64 import QEMU, Arm64, NotHere

from . import texts

SIZE = 1_000_000
ROUNDS = 3
FORMS = ("plain", "neon")

PROGRAM = """
import sys
from pathlib import Path
from bpetite import Tokenizer
text = Path(sys.argv[1]).read_text(encoding="utf-8")
tok = Tokenizer.load("bpetite-32k")
for _ in range(int(sys.argv[2])):
    tok.encode_to_numpy(text, num_threads=1)
"""


def build(folder: Path) -> Path:
    """The plugin that counts, compiled for the machine that qemu runs on."""
    source, library = Path(__file__).with_suffix(".c"), folder / "instructions.so"
    unresolved = "-Wl,--unresolved-symbols=ignore-all"  # they are qemu's
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", unresolved, "-o", library, source], check=True)
    return library


def count(arm64: Arm64, plugin: Path, form: str, text: Path, rounds: int) -> int:
    binary = arm64.root / "usr" / "bin" / f"python{arm64.version}"
    counted = text.with_suffix(".count")
    emulator = [QEMU, "-plugin", plugin, "-d", "plugin", "-D", counted, "-L", arm64.root]
    subprocess.run(
        [*emulator, binary, "-c", PROGRAM, text, str(rounds)],
        env={**arm64.environment, "BPETITE_SIMD": form, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
        cwd=arm64.folder, check=True,
    )  # fmt: skip
    return int(counted.read_text())


def main() -> int:
    arm64 = Arm64()
    try:
        arm64.make()
    except NotHere as error:
        print(error, file=sys.stderr)
        return 1
    if shutil.which("gcc") is None:
        print("gcc is not installed: it compiles the plugin", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        plugin = build(Path(folder))
        print(f"{'':<14}", *(f"{form:>8}" for form in FORMS), f"{'ratio':>8}")
        for name in texts.NAMES:
            path = Path(folder) / f"{name}.txt"
            path.write_text(texts.text(name, SIZE), encoding="utf-8")
            count(arm64, plugin, FORMS[0], path, 1)  # the first process compiles Python's modules
            size = path.stat().st_size * ROUNDS
            plain, neon = (
                (count(arm64, plugin, form, path, 1 + ROUNDS) - count(arm64, plugin, form, path, 1)) / size
                for form in FORMS
            )
            print(f"{name:<14} {plain:8.1f} {neon:8.1f} {neon / plain:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
