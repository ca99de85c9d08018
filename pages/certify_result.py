"""The Certify page's result: the certificates side by side, what they mean, and what they cost."""

import json

import streamlit as st

from pages.widgets import metrics, plain_text, show_picture
from srs_core.figures.certify import METHOD_NAMES, guarantee_figure, radii_figure, residuals_figure, votes_figure
from srs_core.report import html_report
from srs_core.result import Result, certificate_table
from srs_core.smoothing.certificate import Certificate
from srs_core.words import claim, equal_cost_line, facts, measured_facts

__all__ = ["show_result"]


def show_result(result: Result) -> None:
    """Draw a finished result, from a job or from the history."""
    with st.container(horizontal=True, vertical_alignment="center"):
        show_picture(result.picture, 96)
        st.markdown(f"### {plain_text(result.picture_name)}")
    for column, certificate in zip(st.columns(len(result.certificates)), result.certificates, strict=True):
        with column, st.container(border=True):
            _card(certificate, result.values)
    _comparison(result)
    _figures(result)
    _downloads(result)


def _card(certificate: Certificate, values: int) -> None:
    st.markdown(f"#### {METHOD_NAMES[certificate.method]}")
    box = st.warning if certificate.abstained else st.success
    box(claim(certificate, values))
    metrics(facts(certificate), width=150)


def _comparison(result: Result) -> None:
    serialized = result.of_method("srs")
    if result.measured is None or serialized is None:
        return
    st.markdown("#### What serialized smoothing gained and lost")
    metrics(measured_facts(result.measured))
    st.info(equal_cost_line(serialized, result.measured), icon=":material/balance:")


def _figures(result: Result) -> None:
    equal = None if result.measured is None else (result.measured.equal_cost.n, result.measured.equal_cost.radius)
    left, right = st.columns(2)
    with left:
        st.markdown("#### Certified radii")
        st.plotly_chart(radii_figure(result.certificates, equal), key="certify_radii")
    with right:
        st.markdown("#### From votes to guarantee")
        st.plotly_chart(guarantee_figure(result.certificates), key="certify_guarantee")
        st.caption(
            "The line is what chance and, for quick votes, the audit cost. The radius follows from the guaranteed "
            "share alone; left of the dotted line, at one half, nothing is certified."
        )
    left, right = st.columns(2)
    with left:
        st.markdown("#### Votes")
        st.plotly_chart(votes_figure(result.certificates, result.classes), key="certify_votes")
    with right:
        st.markdown("#### Convergence of the solver")
        st.plotly_chart(residuals_figure(result.residuals, result.certificates[0].tol), key="certify_residuals")
        st.caption(
            "How far the solver is from the fixed point (relative residual) when each evaluation begins, in the last "
            "batch: the line is the median, the band the middle 80 %. A warm start begins lower."
        )


def _downloads(result: Result) -> None:
    name = "".join(c if c.isalnum() else "-" for c in result.picture_name).strip("-") or "certificate"
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "Certificate (JSON)",
            lambda: json.dumps(result.to_dict(), indent=2),
            file_name=f"{name}.json",
            mime="application/json",
            on_click="ignore",
            help="Everything needed to check the certificate again.",
        )
        st.download_button(
            "Table (CSV)",
            lambda: certificate_table([(result.picture_name, c) for c in result.certificates]).to_csv(index=False),
            file_name=f"{name}.csv",
            mime="text/csv",
            on_click="ignore",
            help="One row for each certificate, for a spreadsheet.",
        )
        st.download_button(
            "Report (HTML)",
            lambda: html_report(result),
            file_name=f"{name}.html",
            mime="text/html",
            on_click="ignore",
            help="One file with text, numbers and interactive figures; it opens without a network.",
        )
