"""The Correlation page's simulated runs: one run vote by vote, and many certificates with the false ones counted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from pages.address import BOUND
from pages.widgets import BARE, metrics
from srs_core.figures.correlation import audit_grid
from srs_core.simulation import FORMULAS, ClaimTally, Scenario, SimulatedRun, simulate_claims, simulate_run
from srs_core.smoothing.estimate import mismatch_bound
from srs_core.smoothing.settings import ESTIMATORS
from srs_core.words import Fact, percent_up

__all__ = ["one_run", "show_audit", "show_false_claims"]

RUNS = 300
RANDOM, FIRST = "a random choice", "only the first ones"


def show_audit(scenario: Scenario) -> None:
    """Part 1: one run, vote by vote."""
    st.markdown(
        "In serialized smoothing each vote's solver starts where an earlier one ended and takes only a few steps. That "
        "is fast, but a vote now **depends on the votes before it**, and some are simply **false**: the full model "
        "would have said something else. So the full model checks some of them, and what it refutes is taken off. "
        "Every square is one vote, in the order in which they were cast."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        rule = st.segmented_control(
            "Which votes are audited",
            (RANDOM, FIRST),
            default=RANDOM,
            required=True,
            key="rule",
            **BOUND,
        )
        drift = st.toggle("Mistakes grow along the chain", key="drift", **BOUND)
        reveal = st.toggle("Reveal what nobody sees", key="reveal", help="Show the false votes not audited.", **BOUND)
    scenario = with_drift(scenario, drift)
    run = one_run(scenario)
    early = rule == FIRST
    counts = run.counts(early)
    st.plotly_chart(
        audit_grid(run, early, reveal),
        config=BARE,
        key="grid",
        alt="Every vote of a simulated run as a square, coloured by what the audit found.",
    )
    bound = mismatch_bound("paper", counts, scenario.alpha)
    truly = float(np.mean(run.cells[run.cells <= 1] == 1))
    metrics(
        [
            Fact(
                "Votes for the winner",
                f"{counts.votes:,}",
                f"N_A: the shortcut's votes for the winning class, of N = {scenario.n:,}.",
            ),
            Fact("Of these audited", f"{counts.audited:,}", "N2, or n2 in the formulas."),
            Fact("Dropped", f"{counts.mismatched:,}", "h: audited votes that the full model did not confirm."),
            Fact(
                "False, at most", percent_up(bound), "Upper bound on p_m, with half of alpha, by the paper's formula."
            ),
            Fact("False, in truth", f"{100 * truly:.1f} %", "p_m in this run. Only a simulation knows it."),
        ]
    )
    if truly > bound:
        st.error(
            "The audit was **fooled**: more votes are false than its bound says. It looked at the first votes only, "
            "before the mistakes came. No formula can repair that."
        )
    else:
        st.success("The bound holds: no more votes are false than it says.")


def with_drift(scenario: Scenario, drift: bool) -> Scenario:
    """The same scenario, with or without mistakes that grow."""
    return Scenario(scenario.p_a, scenario.mismatch, scenario.n, scenario.audit, scenario.alpha, drift)


@st.cache_data(show_spinner=False, max_entries=50)
def one_run(scenario: Scenario) -> SimulatedRun:
    """A simulated run, always the same for the same settings."""
    return simulate_run(scenario, seed=1)


def show_false_claims(scenario: Scenario) -> None:
    """Part 3: many certificates, and how many of them are false."""
    st.markdown(
        "A certificate may be wrong, but only as rarely as promised. Here many certificates are simulated whose truth "
        "is known, with four formulas and two ways to choose the audited votes, and **the false ones are counted**."
    )
    drift = st.toggle("Mistakes grow along the chain", value=True, key="drift_claims", **BOUND)
    scenario = with_drift(scenario, drift)
    kept: tuple[Scenario, ClaimTally] | None = st.session_state.get("claims")
    pressed = st.button(f"Simulate {RUNS} certificates", type="primary")
    place, words = st.empty(), st.empty()
    if pressed:
        bar = st.progress(0.0)
        for tally in simulate_claims(scenario, RUNS, seed=round(1e6 * scenario.p_a) + scenario.n):
            st.session_state["claims"] = kept = (scenario, tally)
            bar.progress(tally.runs / RUNS, f"{tally.runs} of {RUNS} certificates")
            draw_claims(place.bar_chart, tally)
        bar.empty()
    if kept is None or kept[0] != scenario:
        place.info("Press the button: it takes a few seconds.")
        return
    tally = kept[1]
    if not pressed:
        draw_claims(place.bar_chart, tally)
    worst_honest = max(tally.false[name, False] for name in ESTIMATORS)
    words.markdown(
        f"Of {tally.runs} certificates, 1 in {round(1 / scenario.alpha):,} may be false. With a **random** audit the "
        f"three sound formulas were false {worst_honest} times at most, the **published** one "
        f"**{tally.false['published', False]}** times. With an audit of the **first votes only**, even the sound "
        f"formulas were false **{tally.false['joint', True]}** (joint), {tally.false['exact', True]} (exact) and "
        f"{tally.false['paper', True]} (paper) times. (Plain smoothing with all votes: {tally.oracle_false}.)"
    )


def draw_claims(chart: Callable[..., Any], tally: ClaimTally) -> None:
    """The counts so far; a light chart, which keeps its place while it changes."""
    rows = [
        {
            "formula": formula,
            "false certificates (%)": 100 * tally.share(formula, early),
            "audit": "first votes only" if early else "random",
        }
        for formula in FORMULAS
        for early in (False, True)
    ]
    chart(
        rows,
        x="formula",
        y="false certificates (%)",
        color="audit",
        stack=False,
        horizontal=True,
        height=320,
        sort=False,
    )
