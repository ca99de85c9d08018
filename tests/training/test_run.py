"""A run can be stopped anywhere, and ends as if it had not been."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from srs_core.data import Arrays
from srs_core.training.log import LOG_FILE
from srs_core.training.run import begin, resume, run, stored_settings
from srs_core.training.settings import TrainingSettings
from srs_core.training.state import STATE_FILE, read_state
from srs_core.training.trainer import NotFiniteError, Trainer

Start = Callable[..., Trainer]


def same(a: object, b: object) -> bool:
    """Bit for bit the same nested state."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / LOG_FILE).open(newline="", encoding="utf-8") as file:
        return [{key: row[key] for key in row if key != "seconds"} for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"optimizer": "sgd", "learning_rate": 0.01, "schedule": "cosine"},
        {"noise_draws": 2, "consistency": 10.0, "label_smoothing": 0.1, "dropout": 0.2},
        {"adversarial": 0.5, "adversarial_draws": 2},
        {"gradient": "implicit", "backward_steps": 2},
    ],
    ids=["adam", "sgd", "consistency", "adversarial", "implicit"],
)
def test_an_interrupted_run_equals_an_uninterrupted_one(
    change: dict[str, object], started: Start, recipe: TrainingSettings, tiny: Arrays, tmp_path: Path
) -> None:
    settings = replace(recipe, **change)
    reports = list(run(started("whole", settings, epochs=6 / (24 // settings.pictures_per_step)), tmp_path / "whole"))
    assert [report.step for report in reports] == [1, 2, 3, 4, 5, 6]

    first = run(started("parts", settings, epochs=6 / (24 // settings.pictures_per_step)), tmp_path / "parts")
    for _ in range(3):
        next(first)
    first.close()
    torch.manual_seed(99)  # what another process would have drawn must not matter
    again = resume(tiny, tmp_path / "parts")
    assert again.step == 3
    assert list(run(again, tmp_path / "parts"))[-1].loss == reports[-1].loss

    whole, parts = read_state(tmp_path / "whole"), read_state(tmp_path / "parts")
    for state in (whole, parts):
        del state["seconds"]
    assert same(whole, parts)


def test_the_test_above_sees_one_changed_bit(started: Start, tmp_path: Path) -> None:
    started("a")
    started("b")
    a, b = read_state(tmp_path / "a"), read_state(tmp_path / "b")
    assert same(a, b)
    b["average"]["classifier.bias"][0] = torch.nextafter(b["average"]["classifier.bias"][0], torch.tensor(9.0))
    assert not same(a, b)


def test_a_killed_run_writes_the_lines_of_its_log_again(started: Start, tiny: Arrays, tmp_path: Path) -> None:
    list(run(started("whole"), tmp_path / "whole", log_steps=2))
    folder = tmp_path / "killed"
    steps = run(started("killed"), folder, log_steps=2, save_seconds=1e9)
    for _ in range(5):
        next(steps)
    saved = (folder / STATE_FILE).read_bytes()
    steps.close()
    (folder / STATE_FILE).write_bytes(saved)  # as if the process had been killed: the log is ahead of the state
    assert [row["step"] for row in rows(folder)] == ["2", "4"]
    list(run(resume(tiny, folder), folder, log_steps=2))
    assert rows(folder) == rows(tmp_path / "whole")
    assert [row["step"] for row in rows(folder)] == ["2", "4", "6"]


def test_training_learns_what_the_pictures_show(tiny: Arrays, recipe: TrainingSettings, tmp_path: Path) -> None:
    settings = replace(recipe, sigma=0.1, batch_size=12, learning_rate=0.01)
    trainer = begin(settings, tiny, 3, tmp_path, epochs=15)
    reports = list(run(trainer, tmp_path))
    late = reports[-8:]
    assert sum(report.accuracy for report in late) / len(late) > 0.8  # a third would be chance
    assert all(report.jacobian is None for report in reports if report.progress < recipe.unrolled)
    assert any(report.jacobian is not None for report in reports)


def test_a_step_that_is_not_finite_stops_and_keeps_the_last_good_state(
    started: Start, recipe: TrainingSettings, tiny: Arrays, tmp_path: Path
) -> None:
    trainer = started(settings=recipe)
    steps = run(trainer, tmp_path / "run", save_seconds=0.0)
    next(steps)
    next(steps)
    before = (tmp_path / "run" / STATE_FILE).read_bytes()
    with torch.no_grad():
        trainer.model.classifier.weight[0, 0] = float("nan")
    with pytest.raises(NotFiniteError, match=r"Step 3 gave a loss of nan .* last good state is kept"):
        next(steps)
    assert (tmp_path / "run" / STATE_FILE).read_bytes() == before
    assert len(list(run(resume(tiny, tmp_path / "run"), tmp_path / "run"))) == 4


def test_broken_weights_are_never_written_over_good_ones(started: Start, tmp_path: Path) -> None:
    trainer = started()
    before = (tmp_path / "run" / STATE_FILE).read_bytes()
    with torch.no_grad():
        trainer.model.classifier.bias[0] = float("inf")
    with pytest.raises(NotFiniteError, match=r"classifier\.bias"):
        trainer.save(tmp_path / "run")
    assert (tmp_path / "run" / STATE_FILE).read_bytes() == before


def test_a_time_limit_ends_the_schedule_with_the_time_whatever_the_speed(started: Start, tmp_path: Path) -> None:
    now = 1000.0

    def clock() -> float:
        return now

    rates = []
    for _ in run(trainer := started(minutes=2, clock=clock), tmp_path / "run"):
        rates.append(trainer.optimizer.param_groups[0]["lr"])
        now += 5.0 if len(rates) <= 6 else 15.0  # the machine gets busy after half a minute
    # 6 steps of 5 s, then 15 s each: the 13th step begins at 120 s and is not taken
    assert len(rates) == 13
    assert trainer.seconds == pytest.approx(120.0)
    top = rates.index(max(rates))
    assert 0 < top < 7
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] < 0.1 * max(rates)


def test_a_resumed_run_can_have_more_time_and_its_rate_does_not_jump(
    started: Start, tiny: Arrays, tmp_path: Path
) -> None:
    now = 0.0
    steps = run(trainer := started(minutes=1, clock=lambda: now), tmp_path / "run")
    for _ in range(4):
        next(steps)
        now += 10.0
    steps.close()
    done = trainer.progress
    longer = resume(tiny, tmp_path / "run", minutes=10, clock=lambda: now)
    assert longer.progress == pytest.approx(done)
    assert longer.plan.progress(0, 600.0) == 1.0
    assert longer.plan.progress(0, 60.0) < 1.0


def test_a_resumed_run_takes_the_changes_it_can(
    started: Start, recipe: TrainingSettings, tiny: Arrays, tmp_path: Path
) -> None:
    started()
    changed = resume(tiny, tmp_path / "run", changes={"learning_rate": 1e-4})
    assert changed.settings.learning_rate == 1e-4
    assert stored_settings(tmp_path / "run", {"clip": 1.0}) == replace(recipe, clip=1.0)
    with pytest.raises(ValueError, match="begun with batch_size 4; resuming cannot make it 8"):
        resume(tiny, tmp_path / "run", changes={"batch_size": 8})


def test_weights_can_come_from_another_run(started: Start, tmp_path: Path) -> None:
    list(run(started("first"), tmp_path / "first"))
    second = started("second", init_from=tmp_path / "first")
    assert same(dict(second.model.state_dict()), read_state(tmp_path / "first")["average"])
    assert second.step == 0


def test_what_cannot_begin_says_why(started: Start, tiny: Arrays, recipe: TrainingSettings, tmp_path: Path) -> None:
    started()
    with pytest.raises(ValueError, match="already holds a run"):
        started()
    with pytest.raises(ValueError, match="no run to resume"):
        resume(tiny, tmp_path / "nothing")
    with pytest.raises(ValueError, match="either --epochs or --time-limit"):
        begin(recipe, tiny, 3, tmp_path / "x", epochs=1, minutes=1)
    with pytest.raises(ValueError, match="24 pictures, fewer than the 32"):
        started("y", replace(recipe, batch_size=32))
    with pytest.raises(ValueError, match="needs a CUDA device"):
        started("z", replace(recipe, mixed_precision=True))
    with pytest.raises(ValueError, match="labels up to 3, but the model knows 3 classes"):
        resume(Arrays(tiny.images, tiny.labels + 1), tmp_path / "run")
    (tmp_path / "run" / STATE_FILE).write_bytes(b"not a state")
    with pytest.raises(ValueError, match="cannot be read"):
        resume(tiny, tmp_path / "run")
