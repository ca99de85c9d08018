"""The joint estimator, against a brute-force version and known answers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from srs_core.smoothing import joint
from srs_core.smoothing.intervals import TIE, clopper_pearson_lower, clopper_pearson_upper
from srs_core.smoothing.joint import AuditedGroup, critical_value, joint_bound, joint_lower, joint_upper

unhurried = settings(deadline=None)  # a busy machine is no failure


@st.composite
def runs(draw: st.DrawFn, most: int = 24) -> dict[str, int]:
    """The counts of a small audited run."""
    n = draw(st.integers(1, most))
    census = draw(st.integers(0, n // 3))
    votes = draw(st.integers(0, n - census))
    audited = draw(st.integers(0, votes))
    audited_others = draw(st.integers(0, n - census - votes))
    return {
        "votes": votes,
        "n": n,
        "audited": audited,
        "mismatched": draw(st.integers(0, audited)),
        "audited_others": audited_others,
        "recovered": draw(st.integers(0, audited_others)),
        "census": census,
        "census_hits": draw(st.integers(0, census)),
    }


ALPHAS = st.sampled_from([1e-6, 0.001, 0.05, 0.3, 0.9])


def brute_force(run: dict[str, int], limit: float) -> float:
    """The definition, word for word: try every number of missed mismatches in either group."""
    n, outside = run["n"], run["n"] - run["census"]
    groups = [
        (run["votes"], run["audited"], run["mismatched"]),
        (outside - run["votes"], run["audited_others"], run["audited_others"] - run["recovered"]),
    ]
    hits = run["census_hits"] + sum(population - found for population, _, found in groups)
    best = 1.0
    for missed in itertools.product(*(range(population - audited + 1) for population, audited, _ in groups)):
        cost = 0.0
        for (population, audited, found), j in zip(groups, missed, strict=True):
            q = stats.hypergeom.cdf(found, population, found + j, audited) if audited else 1.0
            cost += max(-stats.norm.ppf(q), 0.0) ** 2
        if cost < limit:
            level = stats.norm.sf(np.sqrt(limit - cost))
            k = hits - sum(missed)
            best = min(best, stats.beta.ppf(level, k, n - k + 1) if k else 0.0)
    return best


@settings(deadline=None, max_examples=60)
@given(runs(), ALPHAS)
def test_joint_agrees_with_brute_force(run: dict[str, int], alpha: float) -> None:
    limit = critical_value(alpha, 3)
    bound = joint_lower(**run, alpha=alpha)
    assert bound <= brute_force(run, limit) + 1e-12
    # Ties are taken to the safe side, hence a limit that is larger by as much.
    assert bound >= brute_force(run, limit + 2 * TIE) - 1e-9


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ((6060, 10_000, 606, 12, 394, 6), 0.574385),
        ((8020, 10_000, 802, 4, 198, 2), 0.780377),
        ((90, 100, 30, 1, 5, 1), 0.604085),
    ],
)
def test_joint_known_answers(run: tuple[int, ...], expected: float) -> None:
    assert joint_lower(*run, alpha=0.001) == pytest.approx(expected, abs=1e-6)


def test_joint_known_answer_with_a_census() -> None:
    bound = joint_lower(7900, 10_000, 608, 1, 142, 0, alpha=0.001, census=250, census_hits=130)
    assert bound == pytest.approx(0.782945, abs=1e-6)


@pytest.mark.parametrize(
    ("group", "tests", "expected"),
    [((9500, 1000, 20), 2, 0.910816), ((10_000, 1000, 0), 2, 0.991888), ((10_000, 1000, 0), 3, 0.990980)],
)
def test_joint_known_answers_with_one_group(group: tuple[int, int, int], tests: int, expected: float) -> None:
    bound = joint_bound(group[0] - group[2], 10_000, [AuditedGroup(*group)], 0.001, tests)
    assert bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("tests", "expected"), [(1, 9.549536), (2, 11.762507), (3, 13.474077), (4, 14.961905)])
def test_critical_values(tests: int, expected: float) -> None:
    assert critical_value(0.001, tests) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_critical_value_cuts_off_a_volume_of_alpha(alpha: float) -> None:
    # A fixed seed and five standard errors: a correct value fails for fewer than one seed in a million.
    draws = 400_000
    scores = np.maximum(np.random.default_rng(1).standard_normal((draws, 3)), 0.0) ** 2
    share = np.mean(scores.sum(axis=1) >= critical_value(alpha, 3))
    assert abs(share - alpha) < 5 * np.sqrt(alpha * (1 - alpha) / draws)


def test_the_critical_value_of_a_large_alpha_is_zero() -> None:
    # The positive scores are all 0 with chance 1/8, so no limit is passed with chance more than 7/8.
    assert critical_value(0.9, 3) == 0.0
    assert critical_value(0.87, 3) > 0.0


@unhurried
@given(
    st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([1e-6, 0.001, 0.05, 0.3]),
)
def test_without_audited_groups_joint_is_clopper_pearson(counts: tuple[int, int], alpha: float) -> None:
    bound = joint_bound(*counts, [], alpha, tests=1)
    assert bound == pytest.approx(clopper_pearson_lower(*counts, alpha), rel=1e-8)
    assert bound <= clopper_pearson_lower(*counts, alpha)


@unhurried
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.data())
def test_a_full_audit_leaves_only_the_standard_labels(counts: tuple[int, int], data: st.DataObject) -> None:
    votes, n = counts
    mismatched = data.draw(st.integers(0, votes))
    recovered = data.draw(st.integers(0, n - votes))
    level = stats.norm.sf(np.sqrt(critical_value(0.001, 3)))
    hits = votes - mismatched + recovered
    bound = joint_lower(votes, n, votes, mismatched, n - votes, recovered, 0.001)
    assert bound == pytest.approx(clopper_pearson_lower(hits, n, level), abs=1e-9)
    assert bound == joint_lower(0, n, 0, 0, 0, 0, 0.001, census=n, census_hits=hits)


@unhurried
@given(runs(most=300), ALPHAS)
def test_joint_is_monotone(run: dict[str, int], alpha: float) -> None:
    bound = joint_lower(**run, alpha=alpha)
    slack = 1e-12
    assert joint_lower(**run, alpha=alpha / 2) <= bound + slack
    if run["mismatched"] < run["audited"]:
        worse = {**run, "mismatched": run["mismatched"] + 1}
        assert joint_lower(**worse, alpha=alpha) <= bound + slack
    if run["recovered"] < run["audited_others"]:
        better = {**run, "recovered": run["recovered"] + 1}
        assert joint_lower(**better, alpha=alpha) >= bound - slack
    if run["census_hits"] < run["census"]:
        better = {**run, "census_hits": run["census_hits"] + 1}
        assert joint_lower(**better, alpha=alpha) >= bound - slack
    if run["audited"] < run["votes"]:  # one more audited vote, and confirmed
        better = {**run, "audited": run["audited"] + 1}
        assert joint_lower(**better, alpha=alpha) >= bound - slack
    if run["audited_others"] < run["n"] - run["census"] - run["votes"]:  # one more found to be c after all
        better = {**run, "audited_others": run["audited_others"] + 1, "recovered": run["recovered"] + 1}
        assert joint_lower(**better, alpha=alpha) >= bound - slack


@unhurried
@given(runs(most=300), st.sampled_from([1e-6, 0.001, 0.05, 0.3]))
def test_the_upper_bound_is_above_the_lower_and_both_are_probabilities(run: dict[str, int], alpha: float) -> None:
    lower, upper = joint_lower(**run, alpha=alpha), joint_upper(**run, alpha=alpha)
    assert 0.0 <= lower <= upper <= 1.0
    confirmed = run["audited"] - run["mismatched"] + run["recovered"] + run["census_hits"]
    refuted = run["mismatched"] + run["audited_others"] - run["recovered"] + run["census"] - run["census_hits"]
    # Knowing the missing labels could not do harm: the bounds lie outside the best and the worst case.
    assert lower <= clopper_pearson_lower(run["n"] - refuted, run["n"], alpha) + 1e-12
    assert upper >= clopper_pearson_upper(confirmed, run["n"], alpha) - 1e-12


def test_nothing_audited_certifies_nothing() -> None:
    assert joint_lower(100, 100, 0, 0, 0, 0, 0.05) == 0.0
    assert joint_upper(0, 100, 0, 0, 0, 0, 0.05) == 1.0
    assert joint_lower(1, 1, 1, 1, 0, 0, 0.05) == 0.0
    assert joint_lower(100, 100, 50, 50, 0, 0, 0.05) == 0.0


def test_a_tiny_alpha_stays_sound_and_finite() -> None:
    bound = joint_lower(10_000, 10_000, 1000, 0, 0, 0, 1e-50)
    # The best one could know is all labels, with all of alpha.
    assert 0.5 < bound < clopper_pearson_lower(10_000, 10_000, 1e-50)


def test_neighbours_taken_together_lower_the_bound_only_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [(6060, 10_000, 606, 12, 394, 6), (9000, 10_000, 90, 2, 10, 0), (600, 1000, 60, 3, 0, 0)]
    exact = [joint_lower(*run, alpha=0.001) for run in runs]
    monkeypatch.setattr(joint, "_WIDEST", 40)
    coarse = [joint_lower(*run, alpha=0.001) for run in runs]
    for narrow, wide in zip(coarse, exact, strict=True):
        assert wide - 0.02 < narrow < wide


def test_a_hundred_thousand_draws_are_bounded_like_ten_thousand() -> None:
    # Ten times the draws and the audit narrow the bound towards the same shares.
    small = joint_lower(6060, 10_000, 606, 12, 394, 6, 0.001)
    large = joint_lower(60_600, 100_000, 6060, 120, 3940, 60, 0.001)
    assert small < large < 0.606 - 0.606 * 0.0198 + 0.394 * 0.0153


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "n = 0 is impossible"),
        ({"votes": 101}, "votes = 101 is impossible: it must be from 0 to n - census = 100"),
        ({"audited": 91}, "audited = 91 is impossible: it must be from 0 to votes = 90"),
        ({"mismatched": 31}, "mismatched = 31"),
        ({"mismatched": -1}, "mismatched = -1"),
        ({"audited_others": 11}, "audited_others = 11 is impossible: it must be from 0 to n - census - votes = 10"),
        ({"recovered": 6}, "recovered = 6"),
        ({"census": 101}, "census = 101"),
        ({"census": 20}, "votes = 90 is impossible: it must be from 0 to n - census = 80"),
        ({"census_hits": 1}, "census_hits = 1 is impossible: it must be from 0 to census = 0"),
        ({"alpha": 1.0}, "alpha = 1.0"),
        ({"votes": 90.5}, "votes = 90.5 is not a whole number"),
    ],
)
def test_impossible_counts_are_refused_by_name(changes: dict[str, float], message: str) -> None:
    run = {"votes": 90, "n": 100, "audited": 30, "mismatched": 1, "audited_others": 5, "recovered": 1, "alpha": 0.05}
    for bound in (joint_lower, joint_upper):
        with pytest.raises(ValueError, match=message):
            bound(**{**run, **changes})  # type: ignore[arg-type]


def test_impossible_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="tests = 1 is too few"):
        joint_bound(5, 10, [AuditedGroup(5, 5, 0)], 0.05, tests=1)
    with pytest.raises(ValueError, match="the 4 unaudited pictures are counted in it"):
        joint_bound(3, 10, [AuditedGroup(5, 1, 0)], 0.05, tests=2)
    with pytest.raises(ValueError, match="audited = 6 is impossible: it must be from 0 to the group's population = 5"):
        AuditedGroup(5, 6, 0)
