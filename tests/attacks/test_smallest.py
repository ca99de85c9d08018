from collections.abc import Callable

import pytest
from torch import Tensor

from srs_core.attacks import AttackSettings, Hunt, smallest_radius_stream

Make = Callable[..., tuple[object, Tensor]]
SETTINGS = AttackSettings(samples=4, sigma=0.02, n=400)


def hunt(model: object, picture: Tensor, **bounds: float) -> list[Hunt]:
    return list(smallest_radius_stream(model, picture, 0, SETTINGS, **bounds))


def test_the_hunt_closes_in_on_a_known_margin(halfspaces: Make) -> None:
    model, picture = halfspaces(0.5)
    steps = hunt(model, picture, low=0.2, high=1.2, attacks=7)
    last = steps[-1]
    assert last.over
    assert last.smallest is not None
    assert 0.5 < last.smallest.distance < 0.53
    assert len(last.attempts) == 7
    assert not any(step.over for step in steps[:-1])
    # Where the hunt goes depends on the verdicts, so no verdict may use the noise of another.
    assert len({attempt.settings.seed for attempt in last.attempts}) == 7
    # Nothing is tried inside of what is known to hold.
    assert min(attempt.radius for attempt in last.attempts) > 0.2


def test_it_ends_at_once_when_nothing_wins_at_the_far_end(halfspaces: Make) -> None:
    model, picture = halfspaces(0.5)
    last = hunt(model, picture, high=0.3)[-1]
    assert last.over
    assert last.smallest is None
    assert [attempt.outcome for attempt in last.attempts] == ["same"]


def test_bounds_that_make_no_sense_are_named(halfspaces: Make) -> None:
    model, picture = halfspaces(0.5)
    with pytest.raises(ValueError, match=r"from 0.6 to 0.5; the first must be at least 0 and below the second"):
        hunt(model, picture, low=0.6, high=0.5)
    with pytest.raises(ValueError, match="attacks is 0; it must be at least 1"):
        hunt(model, picture, high=0.5, attacks=0)
