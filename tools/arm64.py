"""bpetite on arm64 where the processor is another: Debian's arm64 Python under qemu, bpetite cross-compiled.

    python tools/arm64.py                           makes or renews everything below build/arm64
    python tools/arm64.py --check                   and compares: results of every form, ids of texts, the core's tests
    python tools/arm64.py -c 'import bpetite'       and runs the arm64 Python with these arguments
    python tools/arm64.py -m pytest tests/engine

The tests run on a processor of this kind in .github/workflows/tests.yml; this is for machines that have none.

It takes ``qemu-user`` and ``gcc-aarch64-linux-gnu``, both of Debian, and ``apt-get`` and ``pip`` for what it downloads.
Nothing of the system is changed: apt has its own state here, and packages are unpacked, not installed.

    build/arm64/root       Debian's arm64 Python and the libraries that it and wheels for arm64 need
    build/arm64/lib        bpetite, cross-compiled by setup.py
    build/arm64/tests      a copy of the tests, beside which no other bpetite lies
    build/arm64/python     runs the arm64 Python; it is its sys.executable as well, so that tests can start processes
"""
import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = REPOSITORY / "build" / "arm64"

QEMU = "qemu-aarch64"
COMPILER = "aarch64-linux-gnu-gcc"

#: apt adds what these depend on. libstdc++6 is for wheels.
PACKAGES = ["python3-minimal", "libpython3-stdlib", "libpython3-dev", "libstdc++6"]
WHEELS = ["numpy", "regex", "click", "tqdm", "pytest>=8", "hypothesis>=6.100", "tokenizers>=0.22,<1"]
PLATFORMS = ["manylinux2014_aarch64", "manylinux_2_28_aarch64"]


class NotHere(Exception):
    """What cannot be had on this machine."""


def run(*command: str | Path, **options: object) -> None:
    """Run to the end; what it printed is part of the error."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-4000:]}")


def download(*command: str | Path, **options: object) -> None:
    try:
        run(*command, **options)
    except RuntimeError as error:
        raise NotHere(f"packages for arm64 cannot be had: {error}") from None


class Arm64:
    """The folder of the module's docstring."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.lib = folder / "lib"
        self.python = folder / "python"

    def make(self) -> None:
        """Make what is missing, and bring bpetite and the tests up to date. Raises NotHere where that cannot be."""
        for tool in (QEMU, COMPILER, "apt-get", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise NotHere(f"{tool} is not installed (Debian: apt-get install qemu-user gcc-aarch64-linux-gnu)")
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            if not self.python.exists():
                self._unpack()
            self._compile()
            self._copy_tests()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _unpack(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        packages = self._packages()
        for package in packages:
            run("dpkg-deb", "--extract", package, self.root)
        self._install_wheels()
        binary = self.root / "usr" / "bin" / f"python{self.version}"
        self.python.write_text(
            f'#!/bin/sh\nexec {QEMU} -L {shlex.quote(str(self.root))} {shlex.quote(str(binary))} "$@"\n'
        )
        self.python.chmod(0o755)  # last: it says that the root is whole

    def _packages(self) -> list[Path]:
        """The Debian packages, downloaded with the system's sources and keys into a state of their own."""
        apt = self.folder / "apt"
        archives = apt / "cache" / "archives"
        for folder in (apt / "lists" / "partial", archives / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        (apt / "status").touch()
        (apt / "conf").write_text(
            'APT::Architecture "arm64"; APT::Architectures { "arm64"; }; APT::Install-Recommends "false";\n'
            f'Dir::State "{apt}"; Dir::State::status "{apt}/status"; Dir::Cache "{apt}/cache";\n'
        )
        environment = {**os.environ, "APT_CONFIG": str(apt / "conf"), "DEBIAN_FRONTEND": "noninteractive"}
        download("apt-get", "update", env=environment)
        download("apt-get", "install", "--yes", "--download-only", *PACKAGES, env=environment)
        return sorted(archives.glob("*.deb"))

    @property
    def version(self) -> str:
        """Of Debian's Python: "3.11"."""
        return (self.root / "usr" / "bin" / "python3").readlink().name.removeprefix("python")

    def _install_wheels(self) -> None:
        packages = self.root / "usr" / "lib" / "python3" / "dist-packages"
        platforms = [f"--platform={platform}" for platform in PLATFORMS]
        download(
            sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, "--only-binary=:all:",
            "--no-compile", f"--python-version={self.version}", *platforms, *WHEELS,
        )  # fmt: skip
        (packages / "bpetite.pth").write_text(f"{self.lib}\nimport sys; sys.executable = {str(self.python)!r}\n")

    def _compile(self) -> None:
        """setup.py with the cross compiler, and with the headers of the arm64 Python before those of this one."""
        include = self.folder / "include"  # without the C library's headers, which are the compiler's own
        include.mkdir(exist_ok=True)
        headers = self.root / "usr" / "include"
        for name in (f"python{self.version}", "aarch64-linux-gnu"):
            if not (include / name).exists():
                (include / name).symlink_to(headers / name)
        for path in self.lib.rglob("*"):
            if path.is_file() and path.suffix != ".so":
                path.unlink()
        compiler = ["ccache"] * (shutil.which("ccache") is not None) + [COMPILER]
        environment = {
            **{name: value for name, value in os.environ.items() if name not in ("CFLAGS", "LDFLAGS", "CPPFLAGS")},
            "CC": " ".join(compiler),
            "LDSHARED": f"{COMPILER} -shared",
            "_PYTHON_HOST_PLATFORM": "linux-aarch64",
            "SETUPTOOLS_EXT_SUFFIX": f".cpython-{self.version.replace('.', '')}-aarch64-linux-gnu.so",
        }
        run(
            sys.executable, "setup.py", "--quiet",
            "build", "--build-base", self.folder / "temp", "--build-lib", self.lib,
            "build_ext", f"--include-dirs={include / f'python{self.version}'}:{include}",
            cwd=REPOSITORY, env=environment,
        )  # fmt: skip

    def _copy_tests(self) -> None:
        shutil.rmtree(self.folder / "tests", ignore_errors=True)
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / "tests", self.folder / "tests", ignore=unwanted)
        shutil.copy(REPOSITORY / "pyproject.toml", self.folder)

    @property
    def environment(self) -> dict[str, str]:
        """Of this process, without what is meant for its own Python."""
        return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENBLAS_"))}

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The arm64 Python with these arguments and environment variables, among the copied tests."""
        return subprocess.run(
            [str(self.python), *arguments],
            env={**self.environment, **variables}, cwd=self.folder, capture_output=True, text=True,
        )  # fmt: skip


# What --check compares

#: Form of the loops (bpetite/headers/simd.h), from the plain one on.
FORMS = ["plain", "neon"]

#: The core's tests, with few examples, without what takes longest and is the same on every processor.
CORE = [
    "test_merge.py", "vocabulary", "formats/test_json_tokens.py", "splitting/test_scan.py",
    "core/test_encode.py", "core/test_batch.py", "core/test_decode.py",
    "core/test_special.py", "core/test_ids.py", "core/test_waiting_words.py", "core/test_stream_decoder.py",
    "training/merging/test_merger.py", "training/counting/test_counts.py",
]  # fmt: skip
LONG = [
    "test_many_live_streams", "test_few_ids", "test_long_arrays", "test_every_size_around", "test_cuts_at_a_mark",
    "advised_about", "that_free_long", "a_hundred_thousand", "many_large_pages", "what_another_knows",
    "memory_of_a_run", "tokens_without_bytes", "another_thread_changes", "in_every_process", "has_one_object",
]  # fmt: skip

#: Tests of what depends on the form, which run in the plain one, too.
BY_FORM = ["splitting/test_scan.py", "core/test_encode.py", "core/test_special.py"]


def printed(done: subprocess.CompletedProcess[str]) -> list[str]:
    if done.returncode:
        raise SystemExit((done.stdout + done.stderr)[-6_000:])
    return done.stdout.splitlines()


def compare(arm64: Arm64, what: str, *arguments: str) -> None:
    """What a program prints in each form there is what it prints here in the plain one."""
    paths = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests" / "support")])
    environment = {**os.environ, "BPETITE_SIMD": FORMS[0], "PYTHONPATH": paths}
    here = printed(subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True))
    for form in FORMS:
        if printed(arm64.run(*arguments, BPETITE_SIMD=form)) != here:
            raise SystemExit(f"{what}: the {form} form on arm64 gives another result than the plain one here")
        print(f"{what}, {form}: {len(here)} lines are equal", flush=True)


def check(arm64: Arm64) -> None:
    program = "import bpetite; from bpetite._simd import forms; print(*forms(), bpetite.simd())"
    if printed(arm64.run("-c", program)) != [" ".join([*FORMS, FORMS[-1]])]:
        raise SystemExit(f"arm64 has other forms than {FORMS}")
    digests = str(REPOSITORY / "tools" / "digests.py")
    compare(arm64, "results", digests)
    with tempfile.TemporaryDirectory() as folder:
        sys.path.append(str(REPOSITORY / "tests" / "support"))
        import made_texts
        import published

        names = ["gpt2/vocab.json", "gpt2/merges.txt", "openai/o200k_base.tiktoken"]
        found = [path for path in (published.write(name, Path(folder)) for name in names) if path]
        vocabularies = ["bpetite-32k", *{str(path.parent if path.parent.name == "gpt2" else path) for path in found}]
        texts = [Path(folder) / f"{name}.txt" for name in made_texts.NAMES]
        for path in texts:
            path.write_bytes(made_texts.text(path.stem, 200_000).encode())
        compare(arm64, "ids of texts", digests, *vocabularies, "--", *map(str, texts))
    rest = " and ".join(f"not {name}" for name in LONG)
    for form, tests in zip(FORMS, (BY_FORM, CORE), strict=True):
        options = ["-q", "-p", "no:cacheprovider", "-k", rest, *[f"tests/{name}" for name in tests]]
        said = printed(arm64.run("-m", "pytest", *options, BPETITE_SIMD=form, BPETITE_EXAMPLES="5"))
        print(f"the core's tests, {form}: {said[-1]}", flush=True)


def main() -> int:
    arm64 = Arm64()
    try:
        arm64.make()
    except NotHere as error:
        print(error, file=sys.stderr)
        return 1
    if sys.argv[1:] == ["--check"]:
        check(arm64)
        return 0
    if len(sys.argv) == 1:
        return 0
    return subprocess.run([arm64.python, *sys.argv[1:]], env=arm64.environment, cwd=arm64.folder).returncode


if __name__ == "__main__":
    sys.exit(main())
