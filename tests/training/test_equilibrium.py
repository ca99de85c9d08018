"""Gradients of fixed points, against finite differences."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from srs_core.mdeq.layer import State
from srs_core.training.equilibrium import Features, equilibrium, implicit, unrolled


def step_with(bias: Tensor) -> Callable[[State], State]:
    """A contraction of two coupled parts, with one parameter tensor."""
    generator = torch.Generator().manual_seed(4)
    mix = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    mix = 0.6 * mix / torch.linalg.matrix_norm(mix, 2)

    def f(z: State) -> State:
        joined = torch.sin(torch.cat(z, dim=1) @ mix.T + bias)
        return joined[:, :2], joined[:, 2:]

    return f


START: State = (torch.zeros(3, 2, dtype=torch.float64), torch.zeros(3, 3, dtype=torch.float64))


def score(features: Features) -> Tensor:
    return features.z[0].square().sum() + features.z[1].exp().sum()


def finite_differences(bias: Tensor, width: float = 1e-5) -> Tensor:
    slopes = []
    for i in range(len(bias)):
        moved = [score(unrolled(step_with(bias + sign * width * torch.eye(5)[i]), START, 200)) for sign in (1, -1)]
        slopes.append((moved[0] - moved[1]) / (2 * width))
    return torch.stack(slopes)


@pytest.fixture
def bias() -> Tensor:
    return torch.linspace(-1, 1, 5, dtype=torch.float64)


def test_the_implicit_gradient_is_that_of_the_fixed_point(bias: Tensor) -> None:
    parameter = bias.clone().requires_grad_()
    features = implicit(step_with(parameter), START, solve_steps=200, backward_steps=100)
    (gradient,) = torch.autograd.grad(score(features), parameter)
    torch.testing.assert_close(gradient, finite_differences(bias), atol=1e-7, rtol=1e-7)
    assert float(features.residual) < 1e-12


def test_a_longer_tail_comes_closer_to_the_implicit_gradient(bias: Tensor) -> None:
    exact = finite_differences(bias)
    errors = []
    for tail_steps in (1, 2, 4, 40):
        parameter = bias.clone().requires_grad_()
        features = equilibrium(step_with(parameter), START, solve_steps=200, tail_steps=tail_steps)
        (gradient,) = torch.autograd.grad(score(features), parameter)
        errors.append(float((gradient - exact).norm()))
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1e-2 > 1e-6 > errors[-1]


def test_unrolling_differentiates_every_step(bias: Tensor) -> None:
    parameter = bias.clone().requires_grad_()

    def loss(parameter: Tensor) -> Tensor:
        return score(unrolled(step_with(parameter), START, 3))

    assert torch.autograd.gradcheck(loss, parameter)
