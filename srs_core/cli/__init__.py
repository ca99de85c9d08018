"""The command line: `python -m srs_core --help`.

Each command lives in a module of its own and imports the engine inside its function, so that
`--help` and a usage error answer at once.
"""

from srs_core.cli import certify, models, train
from srs_core.cli.app import app, main

__all__ = ["app", "certify", "main", "models", "train"]
