"""The Attack page's last part: what happened when many certified test pictures were attacked."""

from pathlib import Path

import streamlit as st

from pages.widgets import BARE
from srs_core.figures.attack import success_figure

__all__ = ["STUDIES", "show_studies"]

STUDIES = Path(__file__).parents[1] / "docs" / "attacks"
"""Where `scripts/attack_study.py` keeps its rows, a .tsv for each model."""


def show_studies() -> None:
    """Draw each kept study: how often attacks won inside and outside of the certificates."""
    from srs_core.attacks.study import read_rows
    from srs_core.attacks.tables import by_reach, contradictions

    files = sorted(STUDIES.glob("*.tsv"))
    if not files:
        return
    st.subheader("On many pictures")
    st.markdown(
        "The same, done beforehand with pictures of the test set that are certified. Each was attacked at multiples of "
        "**its own** certified radius: up to 1 (the green part) is inside of the certificate."
    )
    for column, file in zip(st.columns(len(files)), files, strict=True):
        rows = read_rows(file)
        summaries = by_reach(rows)
        broken, furthest = len(contradictions(rows)), summaries[-1]
        pictures = len({row.idx for row in rows})
        with column:
            st.markdown(f"#### {file.stem}")
            st.plotly_chart(
                success_figure(summaries),
                config=BARE,
                key=f"attack_study_{file.stem}",
                alt="The share of attacks that won, by multiples of the certified radius.",
            )
            told = "no attack won" if not broken else f"**{broken} attacks won**"
            st.caption(
                f"{pictures} certified pictures. Inside of the certificates {told}; at {furthest.radius:g} times the "
                f"certified radius {furthest.successes} of {furthest.pictures} did. An attack that won keeps its win "
                "when it may go further."
            )
