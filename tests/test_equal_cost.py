"""Radii at equal cost, against mean radii from an independent simulation."""

import numpy as np
import pytest

from srs_core.equal_cost import Budget, equal_cost, equal_cost_map


def test_what_a_budget_buys():
    budget = Budget(n=10_000, audit=1_000, steps=3, reference_steps=30)
    assert budget.evaluations == 60_000
    assert budget.plain_n == 2_000


@pytest.mark.parametrize(
    ("p_a", "mismatch", "plain", "paper", "joint", "published"),
    [
        (0.6, 0.005, 0.083, 0.090, 0.100, 0.108),
        (0.6, 0.05, 0.082, 0.059, 0.087, 0.125),
        (0.8, 0.005, 0.373, 0.374, 0.387, 0.400),
        (0.8, 0.05, 0.371, 0.325, 0.363, 0.434),
        (0.95, 0.005, 0.751, 0.728, 0.751, 0.799),
        (0.95, 0.02, 0.750, 0.676, 0.723, 0.836),
        (0.99, 0.005, 1.042, 0.939, 0.982, 1.148),
    ],
)
def test_typical_radii_are_near_simulated_means(p_a, mismatch, plain, paper, joint, published):
    radii = {
        name: equal_cost(p_a, mismatch, Budget(), alpha=0.001, sigma=0.5, estimator=name)
        for name in ("paper", "joint", "published")
    }
    assert radii["joint"].plain == pytest.approx(plain, abs=0.005)
    for name, mean in (("paper", paper), ("joint", joint), ("published", published)):
        assert radii[name].serialized == pytest.approx(mean, abs=0.009)


def test_the_map_has_a_winner_on_either_side_and_an_empty_corner():
    p_a, mismatch = np.array([0.6, 0.8, 0.99]), np.array([0.0, 0.05])
    advantage = equal_cost_map(p_a, mismatch, Budget(), alpha=0.001, sigma=0.5)
    assert advantage.shape == (2, 3)
    assert advantage[0, 0] > 0
    assert advantage[0, 1] > 0
    assert advantage[0, 2] < 0
    assert advantage[1, 1] < 0
    assert np.isnan(advantage[1, 2])
