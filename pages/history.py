"""History: every certificate that was finished here; search, compare, reopen, delete, export."""

import json
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.certify_settings import query_of
from pages.widgets import metrics, plain_text, require_frame
from srs_core.figures.certify import METHOD_NAMES, radii_figure, votes_figure
from srs_core.history import History, HistoryError, Row
from srs_core.result import certificate_table
from srs_core.smoothing.bounds import format_radius
from srs_core.smoothing.certificate import Certificate
from srs_core.words import claim, facts

# What differs between any two runs and is no setting.
RESULTS = ("created", "seconds", "versions", "picture_hash", "votes", "selection_votes", "counts", "looks", "radius")


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("History")
    try:
        history = History()
        st.caption(
            f"Kept in `{history.path.name}` on this machine, for everybody who can open this dashboard. "
            "Choose rows at their left edge: one to open it again, two to compare them."
        )
        rows = filtered(history)
    except HistoryError as error:
        st.error(str(error))
        return
    if not rows:
        st.info("No certificate fits." if history.models() else "No certificate yet. The Certify page makes them.")
        st.page_link("pages/certify.py", label="Certify a picture", icon=":material/verified_user:")
        return
    chosen = choose(rows)
    actions(history, rows, chosen)
    if len(chosen) == 2:
        compare(chosen)


def filtered(history: History) -> list[Row]:
    """Draw the filters and return what passes them."""
    words, model, method, radius = st.columns([3, 2, 2, 2])
    text = words.text_input(
        "Search", key="history_words", placeholder="picture, answer or model", persist_state="session"
    )
    name = model.selectbox("Model", ["all", *history.models()], key="history_model", persist_state="session")
    kind = method.selectbox(
        "Method",
        ["all", *METHOD_NAMES],
        format_func=lambda key: METHOD_NAMES.get(key, key),
        key="history_method",
        persist_state="session",
    )
    least = radius.number_input(
        "Radius at least",
        min_value=0.0,
        step=0.05,
        key="history_radius",
        persist_state="session",
        help="R, an L2 distance.",
    )
    return history.rows(
        text, model=None if name == "all" else name, method=None if kind == "all" else kind, least_radius=least
    )


def choose(rows: Sequence[Row]) -> list[Row]:
    """Draw the table and return the rows that the visitor chose."""
    table = pd.DataFrame(
        {
            "When": [row.created[:16].replace("T", " ") for row in rows],
            "Picture": [row.picture_name for row in rows],
            "Answer": [row.certificate.class_name if not row.certificate.abstained else "abstains" for row in rows],
            "Radius": [format_radius(row.certificate.radius) for row in rows],
            "Method": [METHOD_NAMES[row.certificate.method] for row in rows],
            "Steps": [f"{row.certificate.steps} {row.certificate.solver}" for row in rows],
            "Votes": [row.certificate.n for row in rows],
            "Noise": [row.certificate.sigma for row in rows],
            "Seconds": [round(row.certificate.seconds, 1) for row in rows],
            "Model": [row.certificate.model for row in rows],
        }
    )
    event = st.dataframe(table, hide_index=True, on_select="rerun", selection_mode="multi-row", key="history_table")
    return [rows[i] for i in event.selection.rows if i < len(rows)]


def actions(history: History, rows: Sequence[Row], chosen: Sequence[Row]) -> None:
    """The buttons under the table: they act on the chosen rows, or export all that are shown."""
    exported = chosen or rows
    amount = f"{len(exported)} chosen" if chosen else f"all {len(exported)}"
    with st.container(horizontal=True, gap="small"):
        if st.button("Open again", disabled=len(chosen) != 1, help="Show the result with its figures and downloads."):
            reopen(history, chosen[0].run)
        if st.button("Delete …", disabled=not chosen):
            confirm_delete(history, sorted({row.run for row in chosen}))
        st.download_button(
            f"Table of {amount} (CSV)",
            lambda: certificate_table([(row.picture_name, row.certificate) for row in exported]).to_csv(index=False),
            file_name="certificates.csv",
            mime="text/csv",
            on_click="ignore",
        )
        st.download_button(
            f"Certificates, {amount} (JSON)",
            lambda: json.dumps(
                [{"picture": row.picture_name, **row.certificate.to_dict()} for row in exported], indent=2
            ),
            file_name="certificates.json",
            mime="application/json",
            on_click="ignore",
        )


def reopen(history: History, run: str) -> None:
    """Show a kept result on the Certify page, with its settings in the widgets there."""
    found = history.get(run)
    query = {} if found is None else query_of(found.certificates)
    st.switch_page("pages/certify.py", query_params={**query, "kept": run})


@st.dialog("Delete for good?")
def confirm_delete(history: History, runs: Sequence[str]) -> None:
    """Ask before anything is deleted."""
    what = "this run with all its certificates" if len(runs) == 1 else f"these {len(runs)} runs with all certificates"
    st.markdown(f"This deletes {what}. It cannot be undone.")
    with st.container(horizontal=True):
        if st.button("Delete", type="primary", key="history_delete"):
            history.delete(runs)
            st.rerun()
        if st.button("Keep", key="history_keep"):
            st.rerun()


def compare(chosen: Sequence[Row]) -> None:
    """Two certificates side by side: their numbers, their figures, and in which settings they differ."""
    st.subheader("Side by side")
    names = [
        f"{i}: {row.picture_name}, {METHOD_NAMES[row.certificate.method].lower()}" for i, row in enumerate(chosen, 1)
    ]
    certificates = [row.certificate for row in chosen]
    for column, name, certificate in zip(st.columns(2), names, certificates, strict=True):
        with column, st.container(border=True):
            st.markdown(f"**{plain_text(name)}**")
            (st.warning if certificate.abstained else st.success)(claim(certificate))
            metrics(facts(certificate), width=150)
    st.plotly_chart(radii_figure(certificates, names=names), key="history_radii")
    if len(certificates[0].votes) == len(certificates[1].votes):
        classes = [f"class {i}" for i in range(len(certificates[0].votes))]
        run = History().get(chosen[0].run)
        if run is not None:
            classes = run.details.get("classes", classes)
        st.plotly_chart(votes_figure(certificates, classes, names), key="history_votes")
    differences(*certificates)


def differences(first: Certificate, second: Certificate) -> None:
    """The settings in which two certificates differ, as a table."""
    one, two = first.to_dict(), second.to_dict()
    rows = [
        {"Setting": name, "First": str(one[name]), "Second": str(two[name])}
        for name in one
        if name not in RESULTS and one[name] != two[name]
    ]
    if rows:
        st.markdown("**Where they differ**")
        st.dataframe(pd.DataFrame(rows), hide_index=True)


main()
