"""The Attack page's results: one attack in full, and all of them beside the certificate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages.attack_run import picture_of, three_pictures
from pages.widgets import metrics
from srs_core.attacks.words import class_name, contradicts, distance_up, verdict
from srs_core.figures.attack import OUTCOME_WORDS, attempts_figure, votes_change_figure
from srs_core.result import Result
from srs_core.smoothing.bounds import format_radius
from srs_core.words import Fact, duration

if TYPE_CHECKING:
    from srs_core.attacks import AttackResult

__all__ = ["show_attacks"]

ICONS = {
    "same": ":material/shield:",
    "undecided": ":material/question_mark:",
    "changed": ":material/crisis_alert:",
}


def show_attacks(result: Result, attempts: "Sequence[AttackResult]", reach: float) -> None:
    """Draw the chosen attack, and the map of all attacks on this picture."""
    numbers = list(range(len(attempts)))
    chosen = attempts[-1]
    if len(attempts) > 1:
        key = f"attack_shown_{len(attempts)}"
        names = [f"{ICONS[a.outcome]} {a.radius:.3f}" for a in attempts]
        st.session_state.setdefault(key, numbers[-1])
        picked = st.pills("Attacks so far, by radius", numbers, format_func=names.__getitem__, key=key, required=True)
        chosen = attempts[picked]
    _one(result, chosen)
    left, right = st.columns(2)
    with left:
        st.markdown("#### Votes before and after")
        figure = votes_change_figure(result.certificates[0], chosen, result.classes)
        st.plotly_chart(
            figure, key="attack_votes_chart", alt="Shares of the votes by class, before and after the attack."
        )
        st.caption(_votes_note(result, chosen))
    with right:
        st.markdown("#### All attacks on this picture")
        figure = attempts_figure(attempts, result.certificates[0].radius, reach)
        st.plotly_chart(figure, key="attack_map_chart", alt="Attacks by distance, beside the certified radius.")
        _smallest(result, attempts)


def _one(result: Result, attack: "AttackResult") -> None:
    certificate = result.certificates[0]
    pictures, words = st.columns([3, 2])
    with pictures:
        three_pictures(picture_of(result), attack.attacked)
    with words:
        text = verdict(attack, certificate, result.classes)
        if contradicts(attack, certificate):
            st.error(text, icon=":material/bug_report:")
        elif attack.outcome == "changed":
            st.warning(text, icon=ICONS["changed"])
        elif attack.outcome == "same" and attack.distance < certificate.radius:
            st.success(text, icon=ICONS["same"])
        else:
            st.info(text, icon=ICONS[attack.outcome])
        metrics(_facts(result, attack), width=140)


def _facts(result: Result, attack: "AttackResult") -> list[Fact]:
    answer = "too close to tell" if attack.answer is None else class_name(result.classes, attack.answer)
    return [
        Fact(
            "Answer now",
            answer,
            f"What the smoothed model answers on the attacked picture: a vote of {attack.settings.n:,} noisy copies "
            f"that the attack has not seen, wrong with probability at most α = {attack.settings.alpha:g}.",
        ),
        Fact(
            "Without noise",
            class_name(result.classes, attack.plain_answer),
            "What the plain model says to the attacked picture itself. It is usually fooled earlier than the vote.",
        ),
        Fact(
            "Distance",
            distance_up(attack.distance),
            f"How far the attack went (L2), rounded up; it was allowed {attack.radius:.3f}.",
        ),
        Fact(
            "Time",
            duration(attack.seconds),
            f"{attack.steps} gradient steps in {attack.searches} searches, and the vote.",
        ),
    ]


def _votes_note(result: Result, attack: "AttackResult") -> str:
    certificate = result.certificates[0]
    quick = " (the quick ones)" if certificate.method == "srs" else ""
    return (
        f"Before: the certificate's {certificate.n:,} votes{quick}. After: {sum(attack.votes):,} votes of the full "
        "model on the attacked picture, with other noise. The attack has won when another answer clearly leads."
    )


def _smallest(result: Result, attempts: "Sequence[AttackResult]") -> None:
    certified = result.certificates[0].radius
    won = [attempt.distance for attempt in attempts if attempt.outcome == "changed"]
    failed = sum(attempt.outcome != "changed" for attempt in attempts)
    if not won:
        st.markdown(f"**No attack has won yet** ({failed} tried). Drag the radius further out.")
        return
    st.markdown(
        f"**The smallest distance at which an attack won: {distance_up(min(won))}.** The certificate promised "
        f"{format_radius(certified)}; the truth about this picture lies between the two.",
        help=f"Outcomes: {', '.join(f'{OUTCOME_WORDS[o]}' for o in OUTCOME_WORDS)}. A better attack could win at a "
        "smaller distance, more votes could certify a larger one.",
    )
