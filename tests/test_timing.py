"""A short measurement turns into settings that take about as long as wished."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from srs_core.smoothing.settings import Settings
from srs_core.timing import SIZES, Speed, default_sizes, expected_seconds, measure_speed

speeds = st.builds(
    Speed,
    seconds=st.floats(min_value=1e-7, max_value=1.0),
    evaluations=st.floats(min_value=1.0, max_value=30.0),
)


class Halving(torch.nn.Module):
    """A model whose state halves its distance to the injection at every step."""

    def inject(self, x: Tensor) -> Tensor:
        return x.flatten(1)

    def initial(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x.flatten(1))

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        return (z + injection) / 2

    def classify(self, z: Tensor) -> Tensor:
        return z[:, :2]


def both(settings: Settings, speed: Speed) -> float:
    return expected_seconds(settings, speed) + expected_seconds(settings.with_(method="rs"), speed)


def test_the_measurement_counts_evaluations_of_complete_solves():
    settings = Settings(reference_solver="naive", reference_steps=30, tol=1e-3)
    speed = measure_speed(Halving(), torch.rand(3, 4, 4), settings, pictures=4)
    assert speed.seconds > 0
    assert 9 <= speed.evaluations <= 12  # the distance is halved until it is below a thousandth


@given(speeds, st.floats(min_value=0.1, max_value=100.0))
def test_the_default_is_the_largest_that_fits_or_the_smallest_there_is(speed, seconds):
    chosen = default_sizes(speed, Settings(), seconds)
    assert chosen.n in SIZES
    assert 1 <= chosen.audit <= chosen.n
    if chosen.n > SIZES[0]:
        assert both(chosen, speed) <= seconds


@given(speeds)
def test_a_faster_device_gets_no_fewer_votes(speed):
    faster = Speed(speed.seconds / 3, speed.evaluations)
    assert default_sizes(faster, Settings()).n >= default_sizes(speed, Settings()).n


@given(speeds)
def test_more_votes_or_a_larger_audit_take_longer(speed):
    settings = Settings(n=1000, audit=100, n0=50)
    assert expected_seconds(settings.with_(n=2000), speed) > expected_seconds(settings, speed)
    assert expected_seconds(settings.with_(audit=200), speed) > expected_seconds(settings, speed)
    plain = settings.with_(method="rs")
    assert expected_seconds(plain, speed) > 0
