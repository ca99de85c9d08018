"""Imagined runs, against the probabilities they were made from and the guarantees that must hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srs_core.simulation import (
    FORMULAS,
    Cell,
    Scenario,
    cell_probabilities,
    largest_mismatch,
    radius_by,
    simulate_claims,
    simulate_run,
)
from srs_core.smoothing.certificate import AuditCounts


@given(p_a=st.floats(0.01, 0.99), mismatch=st.floats(0, 0.9))
def test_cells_are_probabilities_that_mean_what_they_say(p_a, mismatch):
    true, false, lost, other = cell_probabilities(p_a, mismatch)
    assert min(true, false, lost, other) >= -1e-12
    assert true + false + lost + other == pytest.approx(1)
    assert true + lost == pytest.approx(p_a)
    assert lost == pytest.approx(false / 2)
    assert false / (true + false) == pytest.approx(min(mismatch, largest_mismatch(p_a)), abs=1e-9)


@pytest.mark.parametrize("drift", [False, True])
def test_a_run_follows_its_scenario(drift):
    scenario = Scenario(0.8, 0.1, n=100_000, audit=10_000, drift=drift)
    run = simulate_run(scenario, seed=3)
    expected = scenario.cell_probabilities().mean(axis=0)
    # Five standard deviations of a share of 100,000: a false alarm in fewer than one of 10^5 seeds.
    assert np.abs(np.bincount(run.cells) / scenario.n - expected).max() < 5 * np.sqrt(0.25 / scenario.n)
    halves = [np.mean(half == Cell.FALSE_VOTE) for half in np.split(run.cells, 2)]
    assert (halves[1] > 2 * halves[0]) == drift


def test_counts_add_up_and_the_two_audits_differ():
    scenario = Scenario(0.7, 0.05, n=1000, audit=200)
    run = simulate_run(scenario, seed=1)
    for early in (False, True):
        counts = run.counts(early)
        assert counts.audited + counts.audited_others == 200
        assert counts.votes == int(np.isin(run.cells, (Cell.TRUE_VOTE, Cell.FALSE_VOTE)).sum())
    assert run.early_audit.nonzero()[0].tolist() == list(range(200))
    assert not np.array_equal(run.early_audit, run.random_audit)


def test_an_audit_of_everything_finds_everything():
    scenario = Scenario(0.7, 0.05, n=500, audit=500)
    run = simulate_run(scenario, seed=1)
    assert run.counts() == run.counts(early=True)
    assert run.counts().mismatched == int((run.cells == Cell.FALSE_VOTE).sum())
    assert run.counts().recovered == int((run.cells == Cell.LOST_VOTE).sum())


def test_radii_of_known_counts():
    counts = AuditCounts(votes=9500, audited=1000, mismatched=20, audited_others=0, recovered=0)
    assert radius_by("paper", counts, 10_000, 0.001, 0.5) == pytest.approx(0.650240, abs=1e-6)
    assert radius_by("published", counts, 10_000, 0.001, 0.5) == pytest.approx(0.787072, abs=1e-6)
    assert radius_by("exact", counts, 10_000, 0.001, 0.5) == pytest.approx(0.653238, abs=1e-6)
    with pytest.raises(ValueError, match="choose one of"):
        radius_by("hopeful", counts, 10_000, 0.001, 0.5)


def test_random_audits_protect_and_the_published_formula_does_not():
    *_, tally = simulate_claims(Scenario(0.8, 0.05, n=5000, audit=500), runs=60, seed=7)
    assert tally.runs == 60
    # Each sound claim is false with probability 0.001 at most: three or more in 180 have a chance below 10^-3.
    assert sum(tally.false[name, False] for name in ("joint", "exact", "paper")) < 3
    assert tally.share("published", False) > 0.5


def test_auditing_the_first_votes_only_fails_when_mistakes_grow():
    *_, tally = simulate_claims(Scenario(0.8, 0.15, drift=True), runs=40, seed=2)
    for name in FORMULAS:
        assert tally.share(name, early=True) > 0.5
    assert max(tally.share(name, early=False) for name in ("joint", "exact", "paper")) < 0.1


def test_tallies_grow_and_repeat():
    scenario = Scenario(0.8, 0.05, n=500, audit=100)
    runs = [tally.runs for tally in simulate_claims(scenario, runs=50)]
    assert runs == sorted(runs)
    assert runs[-1] == 50
    assert list(simulate_claims(scenario, 30, seed=5))[-1] == list(simulate_claims(scenario, 30, seed=5))[-1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"p_a": 1.0}, "p_a is"),
        ({"mismatch": -0.1}, "mismatch is"),
        ({"audit": 0}, "audit is"),
        ({"n": 10}, "audit is"),
    ],
)
def test_impossible_scenarios_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        Scenario(**{"p_a": 0.8, "mismatch": 0.05, **changes})
