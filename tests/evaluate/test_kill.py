"""The evaluation is killed, not asked to stop, ten times in a row: what it has finished by then is kept."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 10
PICTURES = 20
OPTIONS = (
    f"evaluate --model cifar10-small-0.25 --data gallery --stop {PICTURES} --method rs --method srs --steps 1 "
    "--reference-steps 2 --n 16 --n0 4 --audit 8 --alpha 0.2 --batch-size 8 --threads 1 --seed 3 --out"
)
FILES = ("MDEQ-2A", "SRS-MDEQ-1A")

# Imports once, which is what takes long, then runs the command line in a process of its own for each line it is given.
STARTER = """
import os, sys
import srs_core.cli, srs_core.data, srs_core.evaluate.on_ray, srs_core.evaluate.summary_table, srs_core.mdeq.checkpoints
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["srs_core", *line.split()]
        srs_core.cli.main()
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Starter:
    """Starts evaluations, each a process that can be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, out: Path) -> int:
        self._process.stdin.write(f"{OPTIONS} {out}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def wait(self) -> int:
        return int(self._process.stdout.readline())


@pytest.fixture
def starter() -> Iterator[Starter]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", STARTER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as process:
        yield Starter(process)


def lines(out: Path) -> int:
    path = out.with_name(f"{out.stem}-{FILES[0]}.tsv")
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="This system cannot fork, which the test does to be quick.")
def test_ten_kills_in_a_row_change_nothing(starter, tmp_path, without_time):
    whole, killed = tmp_path / "whole.tsv", tmp_path / "killed.tsv"
    starter.start(whole)
    assert starter.wait() == 0
    chance = random.Random(11)
    for kill in range(KILLS):
        before = lines(killed)
        process = starter.start(killed)
        # Some kills come wherever the program is just then, most in its work on a picture or on a row.
        wanted = 0 if kill % 3 == 0 else before + 1
        while lines(killed) < wanted:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.2))
        os.kill(process, signal.SIGKILL)
        assert starter.wait() == -signal.SIGKILL, "it was done before it could be killed"
    assert KILLS // 2 < lines(killed) < PICTURES
    starter.start(killed)
    assert starter.wait() == 0
    for name in FILES:
        expected = without_time(tmp_path / f"whole-{name}.tsv")
        assert len(expected) == PICTURES + 1
        assert without_time(tmp_path / f"killed-{name}.tsv") == expected
