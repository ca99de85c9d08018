"""The teaching model of the plane."""

import pytest
import torch

from srs_core.model import Model
from srs_core.planar import CLASSES, CONTRACTION, PlanarDEQ, load_planar, save_planar, spiral_class, train_planar
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify
from srs_core.solvers import SOLVERS, solve


@pytest.fixture(scope="module")
def model() -> PlanarDEQ:
    return load_planar()


@pytest.fixture(scope="module")
def points() -> torch.Tensor:
    return torch.rand(2000, 2, generator=torch.Generator().manual_seed(1))


def labels(model, points, solver="naive", steps=200, start=None):
    start = model.initial(points) if start is None else start
    return model.classify(solve(model.step, model.inject(points), start, solver, steps, tol=0).z).argmax(dim=1)


def test_it_is_a_model_that_certification_can_use(model):
    assert isinstance(model, Model)
    certificate = certify(model, torch.tensor([0.9, 0.3]), Settings(sigma=0.05, n=500, audit=200, steps=5))
    assert certificate.model == "plane"
    assert certificate.model_hash == model.hash
    assert certificate.class_name in CLASSES
    assert certificate.radius > 0


def test_every_step_contracts(model, points):
    assert torch.linalg.matrix_norm(model.recurrent, 2) <= CONTRACTION + 1e-6
    generator = torch.Generator().manual_seed(2)
    one, other = (torch.randn(len(points), 24, generator=generator) for _ in range(2))
    injection = model.inject(points)
    before = (one - other).norm(dim=1)
    after = (model.step(one, injection) - model.step(other, injection)).norm(dim=1)
    assert (after <= CONTRACTION * before + 1e-5).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_find_the_same_answers(model, points, solver):
    changed = labels(model, points, solver, 40) != labels(model, points)
    assert changed.float().mean() < 0.002


def test_it_learnt_the_spiral(model, points):
    assert (labels(model, points) == spiral_class(points)).float().mean() > 0.95
    shares = torch.bincount(spiral_class(points), minlength=3) / len(points)
    assert shares.min() > 0.2


def test_convergence_is_visible_and_a_warm_start_helps(model, points):
    truth = labels(model, points)
    wrong = [float((labels(model, points, "naive", steps) != truth).float().mean()) for steps in (1, 3, 5, 8, 20)]
    assert wrong == sorted(wrong, reverse=True)
    assert wrong[0] > 0.5
    assert wrong[-1] < 0.01
    noise = 0.05 * torch.randn(points.shape, generator=torch.Generator().manual_seed(3))
    neighbours = solve(model.step, model.inject(points + noise), model.initial(points), "naive", 200, tol=0).z
    warm = (labels(model, points, "naive", 3, neighbours) != truth).float().mean()
    assert warm < wrong[1] / 2


def test_training_learns_and_keeps_its_promise():
    model = train_planar(steps=60, batch=256, seed=3)
    points = torch.rand(1000, 2, generator=torch.Generator().manual_seed(4))
    assert (labels(model, points) == spiral_class(points)).float().mean() > 0.5
    assert torch.linalg.matrix_norm(model.recurrent, 2) <= CONTRACTION + 1e-6
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_weights_round_trip(model, tmp_path, monkeypatch):
    path = tmp_path / "weights.safetensors"
    save_planar(model, path)
    monkeypatch.setattr("srs_core.planar.WEIGHTS", path)
    assert load_planar().hash == model.hash
