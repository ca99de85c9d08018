"""Gradients through the equilibrium against finite differences in double precision."""

import copy
import math

import pytest
import torch
from torch import Tensor

from srs_core.attacks.gradient import smoothed_loss, uphill
from srs_core.data import gallery
from srs_core.mdeq.inference import for_inference
from srs_core.mdeq.network import MDEQ
from srs_core.planar import load_planar
from srs_core.solvers import solve


def fixed_point(model: object, copies: Tensor, steps: int = 100) -> object:
    return solve(model.step, model.inject(copies), model.initial(copies), solver="broyden", steps=steps, tol=1e-11).z


def difference(model: object, picture: Tensor, noise: Tensor, label: int, direction: Tensor, width: float) -> float:
    """The slope of the loss along a direction, each side solved to the end."""
    sides = []
    for sign in (1, -1):
        copies = picture + sign * width * direction + noise
        sides.append(float(smoothed_loss(model.classify(fixed_point(model, copies)), label)))
    return (sides[0] - sides[1]) / (2 * width)


@pytest.mark.parametrize("draws", [1, 4])
def test_on_the_plane_the_gradient_is_the_finite_difference(draws: int) -> None:
    model = load_planar().double()
    generator = torch.Generator().manual_seed(draws)
    picture = torch.tensor([0.36, 0.72], dtype=torch.float64)
    noise = 0.05 * torch.randn((draws, 2), generator=generator, dtype=torch.float64)
    copies = picture + noise
    found = uphill(model, copies, fixed_point(model, copies), 1, gradient_steps=60)
    assert torch.linalg.vector_norm(found.gradient) > 1e-3
    for direction in torch.eye(2, dtype=torch.float64):
        slope = difference(model, picture, noise, 1, direction, 1e-5)
        assert float(found.gradient @ direction) == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_on_a_trained_mdeq_the_gradient_is_the_finite_difference(mdeq: MDEQ) -> None:
    model = copy.deepcopy(mdeq).double()
    generator = torch.Generator().manual_seed(0)
    picture = gallery()[3].image.double()[:, 8:24, 8:24]  # a part of it, to be quick
    noise = 0.25 * torch.randn((2, *picture.shape), generator=generator, dtype=torch.float64)
    copies = picture + noise
    found = uphill(model, copies, fixed_point(model, copies), 8, gradient_steps=80)
    size = torch.linalg.vector_norm(found.gradient)
    assert size > 1e-3
    other = torch.randn(picture.shape, generator=generator, dtype=torch.float64)
    for direction in (found.gradient / size, other / torch.linalg.vector_norm(other)):
        slope = difference(model, picture, noise, 8, direction, 1e-5)
        assert float((found.gradient * direction).sum()) == pytest.approx(slope, rel=1e-3, abs=1e-4 * float(size))


def test_the_few_steps_of_an_attack_nearly_give_that_direction(mdeq: MDEQ) -> None:
    generator = torch.Generator().manual_seed(1)
    copies = gallery()[0].image + 0.25 * torch.randn((2, 3, 32, 32), generator=generator)
    z = solve(mdeq.step, mdeq.inject(copies), mdeq.initial(copies), steps=60, tol=1e-5).z
    exact = uphill(mdeq, copies, z, 3, gradient_steps=40).gradient.flatten()

    def cosine(steps: int) -> float:
        found = uphill(mdeq, copies, z, 3, gradient_steps=steps).gradient.flatten()
        return float(torch.cosine_similarity(found, exact, dim=0))

    assert cosine(0) < cosine(2) < cosine(5)
    assert cosine(5) > 0.98


def test_the_loss_is_minus_the_log_of_the_mean_probability() -> None:
    logits = torch.randn((4, 10), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mean = torch.softmax(logits, dim=1)[:, 6].mean()
    assert float(smoothed_loss(logits, 6)) == pytest.approx(-math.log(float(mean)))
    # Where a class has no chance left in single precision, the logarithm still has a slope.
    hopeless = torch.tensor([[0.0, 200.0]], requires_grad=True)
    smoothed_loss(hopeless, 0).backward()
    assert hopeless.grad is not None
    assert float(hopeless.grad[0, 0]) == pytest.approx(-1.0)


def test_a_model_without_gradients_and_an_unknown_class_are_named(mdeq: MDEQ) -> None:
    copies = torch.rand(1, 3, 32, 32)
    with pytest.raises(ValueError, match="InferenceMDEQ gives no gradients"):
        uphill(for_inference(mdeq), copies, mdeq.initial(copies), 0, 1)
    with pytest.raises(ValueError, match="label is 10; the model's classes go from 0 to 9"):
        uphill(mdeq, copies, mdeq.initial(copies), 10, 1)
