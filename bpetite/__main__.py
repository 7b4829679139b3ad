"""``python -m bpetite``, and the script ``bpetite``."""
import sys


def main() -> None:
    """Run the command line. Ctrl-C ends the imports before it with one line, too."""
    try:
        from .cli import main
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    main()


if __name__ == "__main__":
    main()
