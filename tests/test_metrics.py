"""Metrics have known answers on small tables, and the properties that mathematics gives them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import binomtest

from srs_core.metrics import (
    accuracy_interval,
    average_certified_radius,
    certified_accuracy,
    relative_radius_differences,
    seconds,
    speed_up,
    summary,
)


def frame(*rows, **columns):
    """Rows of (idx, label, predict, radius)."""
    table = pd.DataFrame(rows, columns=["idx", "label", "predict", "radius"])
    table["correct"] = (table["label"] == table["predict"]).astype(int)
    table["time"] = "0:00:02.000000"
    for name, values in columns.items():
        table[name] = values
    return table


FOUR = frame((0, 1, 1, 0.6), (1, 1, 2, 0.9), (2, 5, -1, 0.0), (3, 4, 4, 0.2))
"""Right at 0.6, wrong at 0.9, abstained, right at 0.2."""

rows = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.floats(0.001, 4.0)),  # abstains, right, radius
    min_size=1,
    max_size=30,
).map(lambda drawn: frame(*((i, 1, -1 if a else 1 if r else 2, 0.0 if a else x) for i, (a, r, x) in enumerate(drawn))))


def test_certified_accuracy_counts_right_answers_beyond_the_radius_among_all_pictures():
    assert certified_accuracy(FOUR, [0.0, 0.1, 0.2, 0.59, 0.6, 2.0]).tolist() == [0.5, 0.5, 0.25, 0.25, 0.0, 0.0]


def test_abstentions_stay_in_the_denominator():
    silent = frame((0, 1, 1, 0.6), *((i, 1, -1, 0.0) for i in range(1, 10)))
    assert certified_accuracy(silent, [0.0]).tolist() == [0.1]
    assert average_certified_radius(silent) == pytest.approx(0.06)
    assert summary(silent).abstained == 0.9


def test_an_abstention_is_not_right_even_if_a_file_says_so():
    odd = frame((0, 1, -1, 0.5), correct=[1])
    assert certified_accuracy(odd, [0.0]).tolist() == [0.0]


def test_the_average_radius_counts_wrong_answers_as_nothing():
    assert average_certified_radius(FOUR) == pytest.approx((0.6 + 0.2) / 4)


def test_the_average_radius_prefers_one_easy_picture_to_three_hard_ones():
    """The weakness that its description names."""
    easy = frame((0, 1, 1, 3.0), (1, 1, 2, 0.1), (2, 1, 2, 0.1), (3, 1, 2, 0.1))
    broad = frame(*((i, 1, 1, 0.5) for i in range(4)))
    assert average_certified_radius(easy) > average_certified_radius(broad)
    assert certified_accuracy(easy, [0.25])[0] < certified_accuracy(broad, [0.25])[0]


@settings(deadline=None)
@given(rows)
def test_certified_accuracy_never_rises_with_the_radius(table):
    shares = certified_accuracy(table, np.linspace(0, 5, 60))
    assert (np.diff(shares) <= 0).all()
    assert 0 <= shares[-1] <= shares[0] <= 1


@settings(deadline=None)
@given(rows)
def test_the_average_radius_is_the_area_under_certified_accuracy(table):
    grid = np.linspace(0, 4.5, 20_001)
    assert average_certified_radius(table) == pytest.approx(trapezoid(certified_accuracy(table, grid), grid), abs=1e-3)


@settings(deadline=None)
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_an_accuracy_is_scipys_exact_one(pair):
    hits, n = pair
    expected = binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert accuracy_interval(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_relative_radius_differences_are_against_the_base_where_it_certifies():
    base = frame((0, 1, 1, 0.8), (1, 1, 1, 0.5), (2, 5, -1, 0.0), (3, 4, 4, 0.1), (9, 1, 1, 1.0))
    # Picture 2 has no base radius, picture 9 is in the base alone, picture 1 and 3 gained.
    assert relative_radius_differences(FOUR, base) == pytest.approx([0.25, -0.8, -1.0])


def test_an_abstention_loses_the_whole_radius():
    ours, base = frame((0, 1, -1, 0.0)), frame((0, 1, 1, 0.8))
    assert relative_radius_differences(ours, base).tolist() == [1.0]


def test_speed_ups_compare_totals_over_the_pictures_of_both():
    ours = frame((0, 1, 1, 0.1), (1, 1, 1, 0.1), evaluations=[100, 300], time=["0:00:01.000000", "0:00:03.000000"])
    base = frame((0, 1, 1, 0.1), (5, 1, 1, 0.1), evaluations=[1000, 9999], time=["0:00:05.000000", "1:00:00.000000"])
    found = speed_up(ours, base)
    assert (found.evaluations, found.seconds) == (10.0, 5.0)
    assert speed_up(ours, frame((7, 1, 1, 0.1))) is None
    assert speed_up(FOUR, FOUR).evaluations is None


def test_times_are_read_beyond_a_day():
    assert seconds(pd.Series(["0:00:01.500000", "1:01:01.000000", "1 day, 0:00:01.000000"])).tolist() == [
        1.5,
        3661.0,
        86401.0,
    ]


@pytest.mark.parametrize("times", [[1.5, 2.0, 0.0], ["1.5", "0:00:02", "0"]])
def test_times_that_are_plain_numbers_are_seconds(times):
    assert seconds(pd.Series(times)).tolist() == [1.5, 2.0, 0.0]
    slow, fast = (frame(*((i, 1, 1, 0.1) for i in range(3)), time=each) for each in ("0:00:07", times))
    assert summary(fast).seconds == pytest.approx(3.5 / 3)
    assert speed_up(fast, slow).seconds == pytest.approx(6.0)


def test_speed_ups_count_the_pictures_whose_cost_both_tell():
    ours = frame((0, 1, 1, 0.1), (1, 1, 1, 0.1), (2, 1, 1, 0.1), evaluations=[100, 300, np.nan])
    base = frame((0, 1, 1, 0.1), (1, 1, 1, 0.1), (2, 1, 1, 0.1), evaluations=[1000, np.nan, 5000])
    assert speed_up(ours, base).evaluations == 10.0
    assert speed_up(ours, base.assign(evaluations=np.nan)).evaluations is None


def test_two_files_are_compared_whatever_other_columns_they_have():
    ours = frame((0, 1, 1, 0.1), radius_base=9.0, time_base="never", seconds_base=0)
    found = summary(ours, base=frame((0, 1, 1, 0.2), time="0:00:06"))
    assert (found.rrd, found.speed_up.seconds) == (0.5, 3.0)


def test_a_summary_of_a_usual_file_leaves_out_what_it_cannot_know():
    found = summary(FOUR, radii=(0.0, 0.5))
    assert (found.pictures, found.abstained, found.certified) == (4, 0.25, (0.5, 0.25))
    assert found.seconds == 2.0
    assert (found.p_a, found.p_m, found.gap, found.violations, found.beaten, found.rrd, found.speed_up) == (None,) * 7


def test_a_summary_counts_bounds_that_failed_and_pictures_on_which_plain_wins():
    ours = frame(
        *((i, 1, 1, 0.2) for i in range(4)),
        (4, 1, -1, 0.0),  # where both abstain nobody wins
        p_m=[0.1, 0.2, 0.3, np.nan, np.nan],
        gap=[0.05, -0.01, 0.02, np.nan, np.nan],
        equal_cost_radius=[0.1, 0.2, 0.3, np.nan, 0.0],
    )
    found = summary(ours)
    assert found.p_m == pytest.approx(0.2)
    assert found.gap == pytest.approx(0.02)
    assert found.violations == 1
    assert found.beaten == pytest.approx(2 / 4)


def test_nothing_has_no_accuracy():
    with pytest.raises(ValueError, match="no pictures"):
        certified_accuracy(FOUR.iloc[:0], [0.0])
