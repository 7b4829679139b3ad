"""``python -m bpetite``."""
from .cli import main

if __name__ == "__main__":
    main()
