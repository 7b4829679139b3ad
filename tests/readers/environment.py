"""Makes the environment of the trainers' own readers, ``build/readers``: python tests/readers/environment.py

All packages are pinned and installed without looking at what they ask for, because some ask for versions that exclude
each other. PyTorch alone is 200 MB where pip is given wheels of its CPU build (``PIP_FIND_LINKS``), and some gigabytes
with the CUDA libraries that the registry's build asks for.
"""
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
PLACE = HERE.parents[1] / "build" / "readers"


def install(python: Path, *what: str | Path) -> None:
    subprocess.run([python, "-m", "pip", "install", "-q", *what], check=True)


def main() -> None:
    venv.create(PLACE, with_pip=True, clear=True)
    python = PLACE / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    try:
        install(python, "--no-deps", "-r", HERE / "requirements.txt")
        if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
            pinned = (HERE / "requirements.txt").read_text().split()
            install(python, next(line for line in pinned if line.startswith("torch==")))
    except subprocess.CalledProcessError:
        (PLACE / "pyvenv.cfg").unlink()
        python.unlink()  # tests skip where it is missing
        raise


if __name__ == "__main__":
    main()
