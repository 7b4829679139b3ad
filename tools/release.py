"""What a release does, without publishing: run it before a tag.

    pip install build twine check-manifest
    python tools/release.py                    everything below, and a wheel that is built from the source distribution
                                               and tried in an environment of its own; some two minutes
    python tools/release.py --sdist FOLDER     the first checks, and the source distribution
    python tools/release.py --check FOLDER     the sizes of the wheels in a folder

Checked are: one version in all files that name it and in the tag, that git and the source distribution have the same
files, the descriptions that the package index shows, the processor time of the build, the size of each wheel, and that
the commands work where only the wheel is installed. The workflow of a release calls the two last forms.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, which does not build the source distribution
    resource = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parents[1]
#: The most bytes of a wheel, and the seconds of processor time that a build takes at most where nothing else runs.
LARGEST, LONGEST = 4_000_000, 60
#: Files that name the version, and where.
VERSIONS = {
    "pyproject.toml": r'^version = "(.+)"$',
    "bpetite/release.py": r'^__version__ = "(.+)"$',
    "conda/recipe.yaml": r'^  version: "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"^## (\S+)",
}


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """What a command prints; ends the program where it fails."""
    print("$", *command, flush=True)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\n{command[0]}: exit status {done.returncode}")
    return done.stdout


def check_versions() -> str:
    """The version, which is the same everywhere."""
    found = {}
    for name, pattern in VERSIONS.items():
        match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        found[name] = match[1] if match else None
    versions = {*found.values()}
    if len(versions) != 1 or None in versions:
        sys.exit(f"the versions differ: {found}")
    tag = os.environ.get("GITHUB_REF_NAME") if os.environ.get("GITHUB_REF_TYPE") == "tag" else None
    if tag not in (None, f"v{found['pyproject.toml']}"):
        sys.exit(f"the tag is {tag}, and the files have {found['pyproject.toml']}")
    return str(found["pyproject.toml"])


def check_sizes(folder: Path) -> None:
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        sys.exit(f"{folder}: no wheels")
    for wheel in wheels:
        size = wheel.stat().st_size
        print(f"{wheel.name}: {size / 1e6:.2f} MB")
        if size > LARGEST:
            sys.exit(f"{wheel.name}: larger than {LARGEST / 1e6:g} MB")


def build_sdist(folder: Path) -> Path:
    run(sys.executable, "-m", "check_manifest")
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder)
    (archive,) = folder.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", archive)
    return archive


def build_wheel(archive: Path, folder: Path) -> Path:
    """The wheel that users get where there is none ready for them."""
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, source)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print(f"{seconds:.0f} s of processor time" + f", more than {LONGEST}: is the machine busy?" * (seconds > LONGEST))
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel)
    return wheel


def try_wheel(wheel: Path, folder: Path, version: str) -> None:
    """Install the wheel into an environment of its own and use it."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel)
    text = folder / "text"
    text.write_text("Hello, world!", encoding="utf-8")
    if version not in run(programs / "bpetite", "--version", folder=folder):
        sys.exit(f"the command does not say {version}")
    if '"tokens"' not in run(programs / "bpetite", "count", "--json", text, folder=folder):
        sys.exit("the command does not count tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--sdist", type=Path, metavar="FOLDER")
    only.add_argument("--check", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    version = check_versions()
    if args.check:
        check_sizes(args.check)
    elif args.sdist:
        build_sdist(args.sdist.resolve())
    else:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wheel = build_wheel(build_sdist(folder), folder)
            check_sizes(folder)
            try_wheel(wheel, folder, version)
            print(f"ready: git tag v{version} && git push origin v{version}")


if __name__ == "__main__":
    main()
