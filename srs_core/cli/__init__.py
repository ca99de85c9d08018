"""The command line: `python -m srs_core --help`.

Each command lives in a module of its own and imports the engine inside its function, so that
`--help` and a usage error answer at once.
"""

from srs_core.cli import attack, bench, certify, evaluate, export, models, report, train
from srs_core.cli.app import app, main

__all__ = ["app", "attack", "bench", "certify", "evaluate", "export", "main", "models", "report", "train"]
