"""A free-threaded Python to test with: CPython without the interpreter lock, made from Debian's source package.

    python tools/freethreaded.py                           makes what is missing, and compiles the modules
    python tools/freethreaded.py --check                   and runs the core's tests and the stress of threads on them
    python tools/freethreaded.py -m bpetite --help         and runs that Python with these arguments
    python tools/freethreaded.py --ordinary -c '...'       the same version with the lock, to compare with
    python tools/freethreaded.py --sanitized -c '...'      without the lock, all of it under ThreadSanitizer

The first run compiles CPython: some ten minutes of processor time. It takes gcc, make, CPython's usual libraries, and
``apt-get`` and ``pip`` for what is downloaded; nothing of the system is changed. The interpreters are kept for all
clones, in ``BPETITE_FREETHREADED`` or else ``~/.cache/bpetite/freethreaded``:

    source/                        Debian's source package
    free/, ordinary/, sanitized/   the interpreters, each with the packages that bpetite needs

The modules compiled for them are in ``build/freethreaded/free`` and its neighbours in the clone.
"""
import fcntl
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("BPETITE_FREETHREADED") or Path.home() / ".cache" / "bpetite" / "freethreaded")
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCES = f"deb-src [signed-by={KEYS}] http://deb.debian.org/debian trixie main\n"
PACKAGE, VERSION = "python3.13", "3.13"
MACHINE = platform.machine()
OPTIONS = {"free": ["--disable-gil"], "ordinary": [], "sanitized": ["--disable-gil", "--with-thread-sanitizer"]}
WHEELS = ["numpy", "regex", "click", "tqdm", "pytest>=8", "hypothesis>=6.100"]


class NotHere(Exception):
    """What cannot be had on this machine."""


def run(*command: str | Path, log: Path, **options: object) -> None:
    """Run to the end; the end of what it printed is part of the error."""
    with open(log, "a") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, **options)  # type: ignore[call-overload]
    if done.returncode:
        end = log.read_text(errors="replace")[-2000:]
        raise NotHere(f"a free-threaded Python cannot be made here: {command[0]} failed; {log} ends with\n{end}")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Interpreter:
    """CPython with the lock or without it.

    Args:
        kind: "free", "ordinary" or "sanitized".
    """

    def __init__(self, kind: str = "free") -> None:
        self.home = FOLDER / kind
        self.python = self.home / "bin" / f"python{VERSION}"
        self.lib = REPOSITORY / "build" / "freethreaded" / kind
        self.kind = kind

    @property
    def made(self) -> bool:
        """True if only the modules have to be compiled."""
        whole = self.home / "whole"
        return whole.exists() and whole.read_text() == " ".join(WHEELS)

    def make(self) -> None:
        """Make what is missing, and bring the modules up to date. Raises NotHere where that cannot be."""
        with locked(FOLDER):
            if not (self.home / "built").exists():
                self._build(self._source())
                (self.home / "built").touch()
            if not self.made:
                self._install()
                (self.home / "whole").write_text(" ".join(WHEELS))
        with locked(self.lib):
            self._compile()

    def run(self, *arguments: str | Path, environment: dict[str, str] | None = None) -> int:
        """Run the interpreter in the repository, on the modules compiled for it; returns its exit status."""
        return subprocess.run([self.python, *arguments], cwd=REPOSITORY, env=self.environment(environment)).returncode

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        """The variables of a process that is to find the modules; the lock stays off whatever is imported."""
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        off = {"PYTHON_GIL": "0"} if self.kind != "ordinary" else {}
        paths = f"{self.lib}{os.pathsep}{REPOSITORY}"
        return {**kept, **off, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1", **(more or {})}

    def _source(self) -> Path:
        """The folder of CPython's source, downloaded with apt's keys into a state of its own."""
        for tool in ("apt-get", "gcc", "make", "tar"):
            if shutil.which(tool) is None:
                raise NotHere(f"a free-threaded Python cannot be made here: {tool} is not installed")
        folder, log = FOLDER / "source", FOLDER / "log"
        found = sorted(folder.glob("*.orig.tar.xz"))
        if not found:
            apt = FOLDER / "apt"
            for part in ("lists/partial", "cache/archives/partial"):
                (apt / part).mkdir(parents=True, exist_ok=True)
            folder.mkdir(exist_ok=True)
            (apt / "status").touch()
            (apt / "sources.list").write_text(SOURCES)
            (apt / "conf").write_text(
                f'Dir::State "{apt}"; Dir::State::status "{apt}/status"; Dir::Cache "{apt}/cache";\n'
                f'Dir::Etc::sourcelist "{apt}/sources.list"; Dir::Etc::sourceparts "-";\n'
            )
            environment = {**os.environ, "APT_CONFIG": str(apt / "conf")}
            run("apt-get", "update", env=environment, log=log)
            run("apt-get", "source", "--download-only", PACKAGE, cwd=folder, env=environment, log=log)
            found = sorted(folder.glob("*.orig.tar.xz"))
        unpacked = folder / "python"
        if not (unpacked / "configure").exists():
            unpacked.mkdir(exist_ok=True)
            run("tar", "-xf", found[-1], "-C", unpacked, "--strip-components=1", log=log)
        return unpacked

    def _build(self, source: Path) -> None:
        build, log = FOLDER / f"build-{self.kind}", FOLDER / f"log-{self.kind}"
        build.mkdir(exist_ok=True)
        options = ["--without-ensurepip", "--disable-test-modules", "--with-computed-gotos", *OPTIONS[self.kind]]
        plain = {name: value for name, value in os.environ.items() if name not in ("CC", "CFLAGS", "PYTHONPATH")}
        run(source / "configure", f"--prefix={self.home}", "--quiet", *options, cwd=build, env=plain, log=log)
        run("make", "-s", f"-j{os.cpu_count()}", cwd=build, env=plain, log=log)
        run("make", "-s", "install", cwd=build, env=plain, log=log)
        shutil.rmtree(build)

    def _install(self) -> None:
        if self.kind == "sanitized":  # pip would take a quarter of an hour here, and the wheels are the same
            plain = Interpreter()
            if not plain.made:
                raise NotHere("make the interpreter without ThreadSanitizer first: python tools/freethreaded.py")
            packages = Path("lib", f"python{VERSION}t", "site-packages")
            shutil.copytree(plain.home / packages, self.home / packages, dirs_exist_ok=True)
            return
        log = FOLDER / f"log-{self.kind}"
        pip = [sys.executable, "-m", "pip", "--python", str(self.python)]
        run(*pip, "install", "-q", "--only-binary=:all:", *WHEELS, log=log)

    def _compile(self) -> None:
        """setup.py of this Python, whose Cython is compiled, with the headers of the other one before its own."""
        compiler = ["ccache"] * (shutil.which("ccache") is not None) + ["gcc"]
        suffix = "t" if self.kind != "ordinary" else ""
        sanitize = {"BPETITE_SANITIZE": "thread"} if self.kind == "sanitized" else {}
        run(
            sys.executable, "setup.py", "--quiet",
            "build", "--build-base", self.lib.with_name(f"{self.kind}-objects"), "--build-lib", self.lib,
            "build_ext", f"--include-dirs={self.home / 'include' / f'python{VERSION}{suffix}'}",
            cwd=REPOSITORY, log=self.lib / "log",
            env={
                **os.environ, **sanitize, "CC": " ".join(compiler),
                "SETUPTOOLS_EXT_SUFFIX": f".cpython-{VERSION.replace('.', '')}{suffix}-{MACHINE}-linux-gnu.so",
            },
        )  # fmt: skip


# What --check runs

IMPORTS = """
import importlib, pathlib, sys
names = [".".join(path.with_suffix("").parts) for path in pathlib.Path("bpetite").rglob("*.pyx")]
for name in names:
    importlib.import_module(name)
sys.exit(len(names) < 30 or sys._is_gil_enabled())
"""

#: The core's tests, with few examples, but for what takes longest and is the same with the lock.
CORE = [
    "core/test_batch.py", "core/test_concurrency.py", "core/test_decode.py", "core/test_dropout.py",
    "core/test_encode.py", "core/test_ids.py", "core/test_interpreters.py", "core/test_long.py",
    "core/test_special.py", "core/test_stream_decoder.py", "core/test_threads.py", "engine/test_streaming.py",
    "test_merge.py", "training/counting/test_counts.py", "vocabulary/test_pickling.py", "vocabulary/test_tokens.py",
]  # fmt: skip
REST = "not published and not many_live_streams and not a_signal and not second_interpreter"


def check(free: Interpreter) -> int:
    """No module turns the lock on; threads share everything at once, with each allocator; the core's tests pass."""
    on = {"PYTHON_GIL": ""}  # the lock is on again where a module is not declared
    stress = ("-W", "error", "tools/threads_stress.py", "6")
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", REST, *[f"tests/{name}" for name in CORE]]
    return (
        free.run("-W", "error", "-c", IMPORTS, environment=on)
        or free.run(*stress, environment=on)
        or free.run(*stress, environment={**on, "PYTHONMALLOC": "debug"})
        or free.run("-m", "bpetite", "encode", "--help", environment=on)
        or free.run(*tests, environment={**on, "BPETITE_EXAMPLES": "5"})
    )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    kinds = [kind for kind in OPTIONS if arguments[:1] == [f"--{kind}"]]
    arguments = arguments[len(kinds) :]
    chosen = Interpreter(*kinds)
    try:
        chosen.make()
    except NotHere as error:
        sys.exit(str(error))
    if arguments == ["--check"]:
        sys.exit(check(chosen))
    sys.exit(chosen.run(*arguments) if arguments else 0)
