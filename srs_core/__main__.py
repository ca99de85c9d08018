"""`python -m srs_core`: the command line."""

from srs_core.cli import main

if __name__ == "__main__":
    main()
