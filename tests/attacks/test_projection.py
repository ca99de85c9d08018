import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from srs_core.attacks.projection import distance, project, random_start

WITHIN = 1e-6


def pictures(seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """A picture with many black and white pixels, and a far point outside of [0, 1]."""
    generator = torch.Generator().manual_seed(seed)
    picture = (torch.rand((3, 8, 8), generator=generator, dtype=dtype) * 1.6 - 0.3).clamp(0, 1)
    return picture, picture + torch.randn(picture.shape, generator=generator, dtype=dtype)


@given(
    seed=st.integers(0, 10_000),
    radius=st.floats(1e-3, 30),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_both_constraints_hold_and_a_point_inside_is_left_alone(seed: int, radius: float, dtype: torch.dtype) -> None:
    picture, moved = pictures(seed, dtype)
    nearest = project(picture, moved, radius)
    assert distance(picture.double(), nearest.double()) <= radius
    assert nearest.min() >= 0
    assert nearest.max() <= 1
    assert distance(project(picture, nearest, radius), nearest) <= WITHIN * radius


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_nearest_allowed_point(seed: int) -> None:
    """SciPy's general optimiser, which knows nothing of the closed form, finds the same point."""
    generator = torch.Generator().manual_seed(seed)
    picture = torch.tensor([0.0, 1.0, 0.9, 0.1, 0.5], dtype=torch.float64)
    moved = picture + 0.8 * torch.randn(5, generator=generator, dtype=torch.float64)
    radius = 0.5
    found = minimize(
        lambda p: ((p - moved.numpy()) ** 2).sum(),
        picture.numpy(),
        bounds=[(0, 1)] * 5,
        constraints={"type": "ineq", "fun": lambda p: radius**2 - ((p - picture.numpy()) ** 2).sum()},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert found.success
    assert distance(torch.from_numpy(found.x), project(picture, moved, radius)) < 1e-5


def test_the_ball_is_used_to_its_edge() -> None:
    picture, moved = pictures(0, torch.float32)
    assert distance(picture, project(picture, moved, 0.5)) == pytest.approx(0.5, abs=WITHIN)


def test_random_starts_are_allowed_differ_and_repeat() -> None:
    picture, _ = pictures(1, torch.float32)
    one, other, again = (random_start(picture, 0.3, torch.Generator().manual_seed(seed)) for seed in (5, 6, 5))
    assert 0.1 < distance(picture, one) <= 0.3 + WITHIN
    assert torch.equal(one, again)
    assert distance(one, other) > 0.1
