"""Correlation: what the audit protects from, what it costs, and where the shortcut pays."""

from collections.abc import Callable

import streamlit as st

from pages.address import BOUND
from pages.correlation_audit import show_audit, show_false_claims
from pages.correlation_price import show_price, show_winner
from pages.widgets import require_frame
from srs_core.simulation import Scenario, largest_mismatch
from srs_core.words import percent_up


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
