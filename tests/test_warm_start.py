"""Solvers followed step by step from different starts, on the planar model."""

import numpy as np
import pytest
import torch

from srs_core.planar import load_planar
from srs_core.smoothing.settings import STARTS
from srs_core.solvers import SOLVERS, solve
from srs_core.warm_start import Stage, follow, set_stage, start_distances

POINT = torch.tensor([0.36, 0.72])


@pytest.fixture(scope="module")
def model():
    return load_planar()


@pytest.fixture(scope="module")
def stage(model) -> Stage:
    return set_stage(model, POINT, sigma=0.05, copies=200)


def test_the_stage_holds_noisy_copies_and_all_starts(stage):
    assert stage.pictures.shape == (200, 2)
    assert float((stage.pictures - POINT).std()) == pytest.approx(0.05, rel=0.15)
    assert set(stage.starts) == set(STARTS)
    assert all(start.shape == stage.fixed.shape for start in stage.starts.values())
    assert torch.unique(stage.starts["clean"], dim=0).shape[0] == 1
    assert torch.unique(stage.starts["mean"], dim=0).shape[0] == 1
    assert torch.unique(stage.starts["previous"], dim=0).shape[0] == 200


@pytest.mark.parametrize("solver", SOLVERS)
def test_labels_after_each_step_are_those_of_a_solve_with_so_many_steps(model, stage, solver):
    trace = follow(model, stage, solver, "previous", 6)
    assert trace.residuals.shape == trace.labels.shape == (6, 200)
    injection = model.inject(stage.pictures)
    for steps in (1, 3, 6):
        solution = solve(model.step, injection, stage.starts["previous"], solver, steps, tol=0)
        assert trace.labels[steps - 1].tolist() == model.classify(solution.z).argmax(dim=1).tolist()


def test_warm_starts_are_nearer_and_settle_sooner(model, stage):
    distances = {name: float(np.median(values)) for name, values in start_distances(stage).items()}
    assert distances["zero"] == pytest.approx(1.0)
    assert distances["mean"] < distances["previous"] < distances["zero"]
    changed = {start: follow(model, stage, "naive", start, 20).changed(stage) for start in STARTS}
    for start in ("clean", "previous", "mean"):
        assert changed[start][2] < changed["zero"][2] / 2
    assert max(share[-1] for share in changed.values()) < 0.03


def test_residuals_start_where_the_start_is(model, stage):
    cold, warm = (follow(model, stage, "anderson", start, 8).residuals for start in ("zero", "clean"))
    assert cold[0] == pytest.approx(1.0, abs=1e-6)
    assert np.median(warm[0]) < 0.5
    assert (np.diff(np.median(cold, axis=1)) < 0).all()


def test_the_same_seed_gives_the_same_stage(model, stage):
    assert torch.equal(set_stage(model, POINT, sigma=0.05, copies=200).pictures, stage.pictures)
    assert not torch.equal(set_stage(model, POINT, sigma=0.05, copies=200, seed=1).pictures, stage.pictures)


def test_impossible_requests_are_refused(model, stage):
    with pytest.raises(ValueError, match="start is 'tepid'"):
        follow(model, stage, "naive", "tepid", 3)
    with pytest.raises(ValueError, match="copies is 0"):
        set_stage(model, POINT, 0.05, copies=0)
