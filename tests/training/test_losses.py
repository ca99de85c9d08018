import math

import pytest
import torch

from srs_core.training.losses import consistency_loss, jacobian_estimate, relative_change


def test_the_jacobian_estimate_is_unbiased() -> None:
    """Against the exact Frobenius norm of a linear map; six standard errors: a false alarm in 10^8 seeds."""
    torch.manual_seed(0)
    a, b = torch.randn(5, 5), torch.randn(3, 3)
    samples = 20_000
    z = (torch.zeros(samples, 5), torch.zeros(samples, 3))
    estimate = float(jacobian_estimate(lambda z: (z[0] @ a.T, z[1] @ b.T), z))
    exact = float(a.square().sum() + b.square().sum()) / 8
    # Var ||v^T A||^2 = 2 ||A A^T||_F^2 for v ~ N(0, I)
    variance = 2.0 * float((a @ a.T).square().sum() + (b @ b.T).square().sum()) / 64
    assert abs(estimate - exact) < 6.0 * math.sqrt(variance / samples)


def test_the_jacobian_estimate_has_a_gradient_that_makes_it_small() -> None:
    torch.manual_seed(1)
    weight = torch.randn(4, 4, requires_grad=True)
    jacobian_estimate(lambda z: (z[0] @ weight.T,), (torch.zeros(5000, 4),)).backward()
    assert weight.grad is not None
    # d/dW ||W||_F^2 / 4 = W / 2; the estimate's gradient scatters around it
    torch.testing.assert_close(weight.grad, weight.detach() / 2, atol=0.1, rtol=0.1)


def test_draws_that_agree_cost_only_their_entropy() -> None:
    logits = torch.zeros(3, 4, 10)
    assert float(consistency_loss(logits)) == pytest.approx(0.0, abs=1e-6)
    assert float(consistency_loss(logits, entropy_weight=0.5)) == pytest.approx(0.5 * math.log(10), rel=1e-5)


def test_draws_that_disagree_cost_their_divergence() -> None:
    p = torch.tensor([0.9, 0.1])
    logits = torch.stack([p.log(), p.flip(0).log()]).unsqueeze(1)
    expected = 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1)
    assert float(consistency_loss(logits)) == pytest.approx(expected, rel=1e-5)
    assert float(consistency_loss(logits, 1.0)) == pytest.approx(expected + math.log(2), rel=1e-5)


def test_relative_change_is_over_all_resolutions_of_a_sample() -> None:
    old = (torch.zeros(2, 1, 1, 1), torch.zeros(2, 1, 1, 1))
    new = (torch.tensor([3.0, 1.0]).view(2, 1, 1, 1), torch.tensor([4.0, 0.0]).view(2, 1, 1, 1))
    middle = (new[0] / 2, new[1] / 2)
    assert float(relative_change(new, old)) == pytest.approx(1.0)
    assert float(relative_change(new, middle)) == pytest.approx(0.5)
