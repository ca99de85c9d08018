"""The command line, run as a user runs it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from srs_core.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """The command line from its `main` on: exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["srs_core", *arguments])
        monkeypatch.chdir(ROOT)
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return run


def hear_interrupts() -> None:
    """Listen to SIGINT again in a child, which inherits that a pytest in the background ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def interrupt() -> Callable[..., tuple[int, str, str]]:
    """A command in a process of its own, interrupted once its progress bar shows a word; what `run` gives."""

    def interrupt(word: str, *arguments: str) -> tuple[int, str, str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "srs_core", *arguments],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "FORCE_COLOR": "1"},  # FORCE_COLOR draws the bar
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hear_interrupts,
        )
        assert process.stderr is not None
        seen = b""
        while word.encode() not in seen:
            part = os.read(process.stderr.fileno(), 4096)
            assert part, seen
            seen += part
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
        return process.returncode, stdout.decode(), stderr.decode()

    return interrupt
