"""The command as a user runs it: a process, a terminal, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from srs_core.cli.app import app

OPTIONS = ["--device", "cpu", "--batch-size", "2", "--unrolled", "1", "--unrolled-steps", "1"]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An .npz of 16 training pictures of 32 x 32 pixels in 2 classes."""
    import numpy as np

    path = tmp_path / "tiny.npz"
    pictures = np.random.default_rng(3).integers(0, 256, (16, 32, 32, 3), dtype=np.uint8)
    np.savez(path, x_train=pictures, y_train=np.arange(16) % 2)
    return path


def train(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "srs_core", "train", *map(str, arguments)]
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        # A pytest that runs in the background ignores SIGINT, which children would inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def step_of(run: Path) -> int:
    return int(torch.load(run / "state.pt", weights_only=True)["step"])


@pytest.mark.slow
def test_control_c_saves_first_and_the_run_can_go_on(archive: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = train("--data", archive, "--out", run, "--epochs", 100_000, *OPTIONS)
    try:
        while not (run / "log.csv").exists() and process.poll() is None:  # written at the fiftieth step
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "the state is saved" in said
    reached = step_of(run)
    assert reached >= 50

    more = train("--data", archive, "--out", run, "--resume", "--epochs", (reached + 2) / 8, "--device", "cpu")
    _, said = more.communicate(timeout=120)
    assert more.returncode == 0, said
    assert "Done" in said
    assert step_of(run) == reached + 2


def test_bad_input_is_one_sentence(archive: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    cli = CliRunner()
    both = cli.invoke(
        app, ["train", "--data", str(archive), "--out", str(tmp_path / "a"), "--resume", "--init-from", "x"]
    )
    assert "exclude each other" in str(both.exception)
    nothing = cli.invoke(app, ["train", "--data", str(archive), "--out", str(tmp_path / "a")])
    assert "either --epochs or --time-limit" in str(nothing.exception)
    wrong = cli.invoke(app, ["train", "--data", str(archive), "--out", str(tmp_path / "a"), "--sigma", "-1"])
    assert "sigma is -1.0" in str(wrong.exception)


def test_help_teaches() -> None:
    from typer.testing import CliRunner

    text = CliRunner().invoke(app, ["train", "--help"]).output
    assert "torchrun" in text
    assert "--jacobian-weight" in text
