"""`python -m srs_core`: the command line."""

import sys

if __name__ == "__main__":
    try:
        # An interrupt may come while this is still being imported, too.
        from srs_core.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
