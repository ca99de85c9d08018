import pytest
from hypothesis import given
from hypothesis import strategies as st

from srs_core.training.schedule import Plan, learning_rate, solve_depth
from srs_core.training.settings import TrainingSettings

PROGRESS = st.floats(0.0, 1.0)


@given(PROGRESS, PROGRESS)
def test_one_cycle_rises_to_its_peak_and_falls_to_zero(a: float, b: float) -> None:
    settings = TrainingSettings(learning_rate=0.1, rise=0.25)
    early, late = sorted((a, b))
    rates = learning_rate(settings, early), learning_rate(settings, late)
    assert all(0.0 <= rate <= 0.1 for rate in rates)
    if late < 0.25:
        assert rates[0] <= rates[1]
    if early >= 0.25:
        assert rates[0] >= rates[1]


def test_known_learning_rates() -> None:
    one_cycle = TrainingSettings(learning_rate=0.1, rise=0.5)
    assert learning_rate(one_cycle, 0.5) == pytest.approx(0.1)
    assert learning_rate(one_cycle, 0.75) == pytest.approx(0.05)
    assert learning_rate(one_cycle, 1.0) == pytest.approx(0.0)
    cosine = TrainingSettings(learning_rate=0.1, schedule="cosine")
    assert learning_rate(cosine, 0.0) == pytest.approx(0.1)
    assert learning_rate(cosine, 0.5) == pytest.approx(0.05)


def test_the_solve_gets_deeper() -> None:
    settings = TrainingSettings(solve_steps=2, solve_steps_end=6)
    assert [solve_depth(settings, progress) for progress in (0.0, 0.5, 1.0)] == [2, 4, 6]


@given(st.integers(0, 99), st.integers(101, 1000))
def test_a_new_budget_goes_on_from_the_progress_reached(spent: int, total: int) -> None:
    plan = Plan("steps", 100)
    longer = plan.replanned("steps", total, spent, 12.0)
    assert longer.progress(spent, 12.0) == pytest.approx(spent / 100)
    assert longer.progress(total, 0.0) == pytest.approx(1.0)
    in_time = plan.replanned("seconds", 60.0, spent, 12.0)
    assert in_time.progress(0, 12.0) == pytest.approx(spent / 100)
    assert in_time.progress(0, 60.0) == pytest.approx(1.0)


def test_a_budget_that_is_already_spent_is_refused() -> None:
    with pytest.raises(ValueError, match="ends after 50 steps, but 60 are already spent"):
        Plan("steps", 100).replanned("steps", 50, 60, 0.0)
