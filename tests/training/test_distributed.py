"""Two processes on one machine, as torchrun starts them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import srs_core
from srs_core.training.distributed import Team

SCRIPT = """
import sys
import weakref
from pathlib import Path
import torch
import torch.distributed as dist
from srs_core.data import Arrays
from srs_core.training.distributed import join_team
from srs_core.training.run import begin, run
from srs_core.training.settings import TrainingSettings

data = Arrays(torch.randint(0, 255, (16, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)),
              torch.arange(16) % 2)
settings = TrainingSettings(batch_size=4, solve_steps=1, solve_steps_end=1)
folder = Path(sys.argv[1])
with join_team(torch.device("cpu")) as (team, device):
    group = weakref.ref(dist.group.WORLD)
    trainer = begin(settings, data, 2, folder, epochs=1, team=team)
    before = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    stop_here = team.rank == 1  # only one process is asked to stop; both must
    reports = list(run(trainer, folder, stop=lambda: stop_here and trainer.step == 3))
    after = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    everybody = [torch.empty_like(after) for _ in range(team.size)]
    dist.all_gather(everybody, after)
    assert len(reports) == 3, len(reports)
    assert torch.equal(everybody[0], everybody[1])
    assert not torch.equal(before, after)
    mine = trainer._batch()[0]
    batches = [torch.empty_like(mine) for _ in range(team.size)]
    dist.all_gather(batches, mine)
    assert not torch.equal(batches[0], batches[1])
assert group() is None, "the group's threads live on, and one of them may abort the process when it ends"
"""

FAILS = """
import weakref
import torch
import torch.distributed as dist
from srs_core.training.distributed import join_team

try:
    with join_team(torch.device("cpu")) as (team, device):
        group = weakref.ref(dist.group.WORLD)
        torch.optim.Adam([torch.zeros(1, requires_grad=True)])
        assert team.any(team.rank == 1, device)
        raise ValueError("not finite")
except ValueError:
    assert group() is None
"""


def torchrun(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    # A script elsewhere does not see this project unless it is told where it is.
    env = {**os.environ, "PYTHONPATH": str(Path(srs_core.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, env=env)


@pytest.mark.slow
def test_two_processes_share_every_batch_and_keep_the_same_weights(tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = torchrun(script, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    state = torch.load(tmp_path / "run" / "state.pt", weights_only=True)
    assert state["step"] == 3


@pytest.mark.slow
def test_processes_that_fail_leave_their_group_as_well(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(FAILS, encoding="utf-8")
    done = torchrun(script)
    assert done.returncode == 0, done.stderr


def test_a_team_of_one_changes_nothing() -> None:
    team, device = Team(), torch.device("cpu")
    model = torch.nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    team.average_gradients(model)
    assert torch.equal(model.weight.grad, torch.ones(1, 2))  # type: ignore[arg-type]
    assert team.leads
    assert team.agree(3.5, device) == 3.5
    assert team.any(True, device)
    assert not team.any(False, device)
    assert torch.equal(team.mean(torch.tensor([1.0, 2.0])), torch.tensor([1.0, 2.0]))
