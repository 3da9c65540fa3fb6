"""``python -m headrace``: as the command ``headrace``."""

from headrace.cli import main

if __name__ == "__main__":
    main()
