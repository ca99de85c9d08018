"""Correlation: what the audit protects from, what it costs, and where the shortcut pays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from pages.widgets import metrics, require_frame
from srs_core.equal_cost import Budget, equal_cost, equal_cost_map
from srs_core.figures.correlation import (
    FORMULA_NAMES,
    audit_grid,
    cutoff_curves,
    radius_bars,
    radius_curves,
    win_map,
)
from srs_core.paper_tables import cutoff_radii
from srs_core.simulation import (
    FORMULAS,
    ClaimTally,
    Scenario,
    SimulatedRun,
    largest_mismatch,
    radius_by,
    simulate_claims,
    simulate_run,
)
from srs_core.smoothing.bounds import certified_radius, clopper_pearson_lower, cutoff_radius, format_radius
from srs_core.smoothing.estimate import mismatch_bound
from srs_core.words import Fact, percent_up

SIGMA = 0.5
RUNS = 300
BARE = {"displayModeBar": False}
BOUND: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
HONEST = ("joint", "exact", "paper")
RANDOM, FIRST = "a random choice", "only the first ones"


@st.cache_data(show_spinner=False, max_entries=500)
def typical_radii(scenario: Scenario, budget: Budget, formula: str) -> tuple[list[float], list[float], list[float]]:
    """Mismatches from none to the possible, and the radii of the formula and of plain smoothing at equal cost."""
    top = min(largest_mismatch(scenario.p_a), max(0.1, 1.5 * scenario.mismatch))
    shares = np.linspace(0, top, 41).tolist()
    found = [equal_cost(scenario.p_a, share, budget, scenario.alpha, SIGMA, formula) for share in shares]
    return shares, [radii.serialized for radii in found], [radii.plain for radii in found]


@st.cache_data(show_spinner="Comparing at 600 places …", max_entries=50)
def advantages(budget: Budget, alpha: float, estimator: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The equal-cost map over how often the model is right and how often the shortcut is wrong."""
    p_a, mismatch = np.linspace(0.52, 0.995, 30), np.linspace(0, 0.1, 21)
    return p_a, mismatch, equal_cost_map(p_a, mismatch, budget, alpha, SIGMA, estimator)


def ask_scenario() -> Scenario:
    """The imagined run."""
    p_a = st.slider(
        "How often the full model answers the winner (%)",
        52.0,
        99.5,
        80.0,
        0.5,
        "%g",
        key="right",
        help="p_A: the chance that the full, cold solve gives the winning class to a noisy copy. In a real run nobody "
        "knows it; here it is yours to choose.",
        **BOUND,
    )
    mismatch = st.slider(
        "False votes of the shortcut (%)",
        0.0,
        30.0,
        5.0,
        0.5,
        "%g",
        key="false",
        help="p_m: of the shortcut's votes for the winner, the share that the full model would not give. For every two "
        "false votes, this simulation also loses one true vote.",
        **BOUND,
    )
    n = st.select_slider(
        "Votes", (500, 1000, 2500, 5000, 10_000), 10_000, key="votes", help="N, the noisy copies.", **BOUND
    )
    audit = st.select_slider(
        "Votes audited",
        (50, 100, 250, 500, 1000, 2500, 5000),
        1000,
        key="audited",
        help="K: so many votes are checked by the full model. At most all of them.",
        **BOUND,
    )
    alpha = st.select_slider(
        "Wrong certificates allowed",
        (0.05, 0.01, 0.001, 0.0001),
        0.001,
        format_func=lambda value: f"1 in {round(1 / value):,}",
        key="alpha",
        help="alpha: the share of certificates that may claim too much. The paper takes 1 in 1,000.",
        **BOUND,
    )
    possible = largest_mismatch(p_a / 100)
    if mismatch / 100 > possible:
        st.caption(
            f"When the full model answers the winner {p_a:g} % of the time, at most {percent_up(possible)} of the "
            "votes can be false; that is what is shown."
        )
    return Scenario(p_a / 100, min(mismatch / 100, possible), n, min(audit, n), alpha)


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


def show_price(scenario: Scenario) -> None:
    """Part 2: what the audit's doubt costs in radius, by formula."""
    st.markdown(
        "The audit's findings lower the number of votes that count, and its own uncertainty lowers it further. How "
        "much radius that costs depends on the formula: the **paper's** is the simplest; **exact** counts the audit as "
        "what it is, a draw without replacement; **joint** does not split the allowed error in two halves and gives "
        "credit for votes that the shortcut lost. All three hold. (Noise σ = 0.5, as in the paper's tables.)"
    )
    counts = one_run(scenario).counts()
    true_radius = certified_radius(scenario.p_a, SIGMA)
    standard = clopper_pearson_lower(round(scenario.p_a * scenario.n), scenario.n, scenario.alpha)
    radii = {"rs": certified_radius(standard, SIGMA)} | {
        name: radius_by(name, counts, scenario.n, scenario.alpha, SIGMA) for name in FORMULAS
    }
    st.plotly_chart(radius_bars(radii, true_radius), config=BARE, alt="The radius that each formula claims.")
    lost = {name: 100 * (1 - radii[name] / radii["rs"]) if radii["rs"] else 0.0 for name in HONEST}
    metrics([Fact(f"Lost by {name}", f"{lost[name]:.1f} %", FORMULA_NAMES[name]) for name in HONEST])
    st.markdown("**If more of the shortcut's votes were false**, on average:")
    budget = Budget(scenario.n, scenario.audit)
    shares, _, plain = typical_radii(scenario, budget, "joint")
    curves = {name: typical_radii(scenario, budget, name)[1] for name in FORMULAS} | {"plain": plain}
    figure = radius_curves([100 * share for share in shares], curves, 100 * scenario.mismatch, true_radius)
    st.plotly_chart(figure, config=BARE, alt="Radius by formula against the share of false votes.")
    st.caption(
        "Above the dashed red line a claim is false. The published code's formula scales the votes and their total "
        "alike, so its radius *grows* as more votes are false. Equal cost is counted for 3 steps a vote and 30 a "
        "full solve."
    )
    show_cutoffs(scenario)


def show_cutoffs(scenario: Scenario) -> None:
    """The largest radius that a share of votes can give, beside the printed table."""
    st.subheader("The most that can be certified")
    st.markdown(
        "Even if the audit finds no mistake at all, a finite number of votes has a largest radius, the *cut-off*. The "
        "paper prints a table of it; computed from its own formula at its stated settings (10,000 votes, 1,000 "
        "audited, 1 in 1,000) the numbers are different, so both are shown."
    )
    printed = cutoff_radii()
    shares = [row.share for row in printed]
    sizes = {"n": scenario.n, "alpha": scenario.alpha, "sigma": SIGMA, "audit": scenario.audit}
    curves = {
        name: [cutoff_radius(estimator=name, share=share, **sizes) for share in shares] for name in ("rs", *HONEST)
    }
    tables = {"printed, plain": [row.plain for row in printed], "printed, SRS": [row.serialized for row in printed]}
    st.plotly_chart(cutoff_curves(shares, curves, tables), config=BARE, alt="Cut-off radius by share of votes.")
    columns = {"Share of votes": [f"{100 * share:g} %" for share in shares]}
    columns |= {f"Printed: {name}": [f"{v:.3f}" for v in tables[f"printed, {name}"]] for name in ("plain", "SRS")}
    columns |= {f"Computed: {name}": [format_radius(v) for v in curves[name]] for name in ("rs", *HONEST)}
    st.dataframe(columns, hide_index=True)
    st.caption(
        f"Computed for {scenario.n:,} votes, {scenario.audit:,} audited, 1 in {round(1 / scenario.alpha):,}, σ = 0.5."
    )


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
    worst_honest = max(tally.false[name, False] for name in HONEST)
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


def show_winner(scenario: Scenario) -> None:
    """Part 4: the equal-cost map."""
    st.markdown(
        "Would it be better to forget the shortcut and simply take **fewer votes with the full model**? At the same "
        "price in evaluations of f, blue is where the audited shortcut certifies the larger radius, orange where "
        "plain smoothing does. In the empty corner so many votes cannot be false."
    )
    with st.container(horizontal=True):
        steps = st.slider(
            "Steps of the shortcut", 1, 10, 3, key="steps", help="S. A full solve takes L = 30.", width=260, **BOUND
        )
        estimator = st.segmented_control(
            "Formula", HONEST, default="joint", required=True, key="formula", help="How the audit is counted.", **BOUND
        )
    budget = Budget(scenario.n, scenario.audit, steps)
    p_a, mismatch, advantage = advantages(budget, scenario.alpha, estimator)
    st.plotly_chart(
        win_map(p_a, mismatch, advantage, (scenario.p_a, scenario.mismatch)),
        config=BARE,
        alt="Where serialized smoothing certifies more than plain smoothing at the same cost.",
    )
    here = equal_cost(scenario.p_a, scenario.mismatch, budget, scenario.alpha, SIGMA, estimator)
    winner = "the shortcut (SRS)" if here.serialized > here.plain else "plain smoothing (RS)"
    metrics(
        [
            Fact("Radius, shortcut", format_radius(here.serialized), "SRS with these settings, on average counts."),
            Fact("Radius, plain", format_radius(here.plain), "RS with as many votes as the same price buys."),
            Fact("Plain votes", f"{budget.plain_n:,}", "(N·S + K·L) / L: what plain smoothing gets for the price."),
            Fact("Evaluations of f", f"{budget.evaluations:,}", "N·S + K·L, without selection and warm-up."),
        ]
    )
    st.markdown(f"At the star, **{winner}** certifies more.")


PARTS: dict[str, Callable[[Scenario], None]] = {
    "The audit": show_audit,
    "Its price": show_price,
    "What goes wrong": show_false_claims,
    "Who wins": show_winner,
}


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("Votes that depend on each other")
    part = st.segmented_control(
        "Part",
        tuple(PARTS),
        default="The audit",
        required=True,
        key="part",
        label_visibility="collapsed",
        **BOUND,
    )
    controls, content = st.columns([1, 3], gap="medium")
    with controls:
        scenario = ask_scenario()
    with content:
        PARTS[part](scenario)


main()
