"""The Correlation page's radii: what the audit's doubt costs by formula, and who certifies more at equal cost."""

import numpy as np
import streamlit as st

from pages.address import BOUND
from pages.correlation_audit import one_run
from pages.widgets import BARE, metrics
from srs_core.equal_cost import Budget, equal_cost, equal_cost_map
from srs_core.figures.correlation import FORMULA_NAMES, cutoff_curves, radius_bars, radius_curves, win_map
from srs_core.paper_tables import cutoff_radii
from srs_core.simulation import FORMULAS, Scenario, largest_mismatch, radius_by
from srs_core.smoothing.bounds import certified_radius, clopper_pearson_lower, cutoff_radius, format_radius
from srs_core.smoothing.settings import ESTIMATORS
from srs_core.words import Fact

__all__ = ["show_price", "show_winner"]

SIGMA = 0.5


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
    lost = {name: 100 * (1 - radii[name] / radii["rs"]) if radii["rs"] else 0.0 for name in ESTIMATORS}
    metrics([Fact(f"Lost by {name}", f"{lost[name]:.1f} %", FORMULA_NAMES[name]) for name in ESTIMATORS])
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
        name: [cutoff_radius(estimator=name, share=share, **sizes) for share in shares] for name in ("rs", *ESTIMATORS)
    }
    tables = {"printed, plain": [row.plain for row in printed], "printed, SRS": [row.serialized for row in printed]}
    st.plotly_chart(cutoff_curves(shares, curves, tables), config=BARE, alt="Cut-off radius by share of votes.")
    columns = {"Share of votes": [f"{100 * share:g} %" for share in shares]}
    columns |= {f"Printed: {name}": [f"{v:.3f}" for v in tables[f"printed, {name}"]] for name in ("plain", "SRS")}
    columns |= {f"Computed: {name}": [format_radius(v) for v in curves[name]] for name in ("rs", *ESTIMATORS)}
    st.dataframe(columns, hide_index=True)
    st.caption(
        f"Computed for {scenario.n:,} votes, {scenario.audit:,} audited, 1 in {round(1 / scenario.alpha):,}, σ = 0.5."
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
            "Formula",
            ESTIMATORS,
            default="joint",
            required=True,
            key="formula",
            help="How the audit is counted.",
            **BOUND,
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
