"""Evaluate: many pictures at once; certified accuracy, how bounds are spread, and every picture by itself."""

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from pages.evaluate_run import About, ask_run, finished_results, follow
from pages.job_frame import jobs
from pages.widgets import model_cards, picture_address, require_frame
from srs_core.evaluate.results import Results, labels_of, parse_results, results_folder, shipped_results
from srs_core.evaluate.summary_table import csv_table, latex_table, markdown_table, summarise
from srs_core.evaluate.table import ResultError
from srs_core.figures.evaluate import accuracy_figure, figures_of
from srs_core.jobs import State
from srs_core.paper_tables import certified_accuracy

if TYPE_CHECKING:
    from torch import Tensor

SOURCES = {"kept": "Kept results", "files": "My result files", "run": "Run a small one"}


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("Evaluate a test set")
    st.markdown(
        "One certificate says something about one picture. **How many pictures** does a model classify right and with "
        "a certificate, and how large are the certificates? Abstentions count as failures throughout."
    )
    results = choose_results()
    if not results:
        return
    summary(results)
    curves(results)
    spreads(results)
    picture_table(results)


def choose_results() -> list[Results]:
    """Draw the ways to get results, and return the chosen ones."""
    from srs_core.mdeq.checkpoints import default_first

    kept = shipped_results()
    st.session_state.setdefault("evaluate_source", "kept" if kept else "files")
    if "job" in st.query_params and "evaluate_seen" not in st.session_state:
        st.session_state["evaluate_source"] = "run"
    st.session_state["evaluate_seen"] = True
    source = st.segmented_control(
        "Results",
        list(SOURCES),
        format_func=SOURCES.__getitem__,
        key="evaluate_source",
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    if source == "files":
        return uploaded()
    if source == "run":
        return from_run()
    if not kept:
        st.info(
            f"There are no results in `{results_folder().name}/` yet. Make some: `python -m srs_core evaluate "
            "--config ablations/shipped-results.json --data cifar10 --out results/every-100.tsv`"
        )
        return []
    models = sorted({each.model for each in kept})
    first = next((card.name for card in default_first(model_cards()) if card.name in models), models[0])
    model = st.pills("Model", models, default=first, required=True, key="evaluate_kept", persist_state="session")
    return [each for each in kept if each.model == model]


def uploaded() -> list[Results]:
    """Draw the uploader, and return the results in the files; a file that is none is named."""
    files = st.file_uploader(
        "Result files (.tsv), with their settings (.tsv.json) if you have them",
        type=["tsv", "txt", "json"],
        accept_multiple_files=True,
        key="evaluate_files",
        help="Any tab-separated file that begins with the columns idx, label, predict, radius, correct and time.",
    )
    sidecars = {file.name.removesuffix(".json"): file.getvalue() for file in files if file.name.endswith(".json")}
    found = []
    for file in files:
        if file.name.endswith(".json"):
            continue
        try:
            name = file.name.rpartition(".")[0]
            found.append(parse_results(file.getvalue(), name, sidecars.get(file.name)))
        except ResultError as error:
            st.error(str(error))
    if not files:
        st.info("Drop the files that `python -m srs_core evaluate --out results.tsv` wrote, one for each setting.")
    return found


def from_run() -> list[Results]:
    """Draw a small evaluation: its form, its progress, and what it has found so far."""
    job = jobs().get(st.query_params.get("job"))
    if job is not None and not isinstance(job.about, About):
        job = None
    if job is None or job.state.over:
        ask_run()
    if job is None:
        return []
    if job.state is State.FAILED:
        st.error(job.error or "The evaluation failed.")
    elif job.state is State.CANCELLED:
        st.warning("The evaluation was stopped; what it had finished is shown.")
    elif not job.state.over:
        follow(job)
        return []
    return finished_results(job)


def summary(results: list[Results]) -> None:
    """The table of numbers, with downloads."""
    st.subheader("In numbers")
    table = summarise(results)
    header, lines = table.cells()
    st.dataframe(pd.DataFrame(lines, columns=header), hide_index=True)
    st.caption(
        "**r=0.25 %** is the certified accuracy at radius 0.25: the share of all pictures that are right with a larger "
        "radius. **ACR**, the average certified radius, lets a few easy pictures outweigh many hard ones and grows "
        "with the number of votes: read the shares first. **RRD** is how much of plain smoothing's radius is lost, "
        "**plain wins** how often plain smoothing certifies as much or more for the same number of network "
        "evaluations; where both abstain nobody wins."
    )
    with st.container(horizontal=True, gap="small"):
        for label, text, name in (
            ("CSV", csv_table, "results.csv"),
            ("LaTeX", latex_table, "results.tex"),
            ("Markdown", markdown_table, "results.md"),
        ):
            st.download_button(label, text(table), file_name=name, on_click="ignore", key=f"evaluate_{name}")
        st.download_button(
            "Report with plots (HTML)", lambda: html(results), file_name="results.html", on_click="ignore"
        )


def html(results: list[Results]) -> str:
    """The whole report as one file, made when it is asked for."""
    from srs_core.evaluate.html_report import html_report

    return html_report(summarise(results))


def curves(results: list[Results]) -> None:
    """Certified accuracy by radius, beside the paper's."""
    st.subheader("Certified accuracy")
    with st.container(horizontal=True, gap="medium"):
        variant = st.segmented_control(
            "Beside the paper's model",
            ("none", "small", "large"),
            default="small",
            required=True,
            key="evaluate_paper",
            persist_state="session",
            help="Certified accuracy on CIFAR-10 as printed in the paper, at the same noise level. Its models were "
            "trained much longer, on GPUs, and its certificates use another bound with N = 10,000.",
        )
        intervals = st.toggle("Sampling error (95 %)", key="evaluate_intervals", persist_state="session")
    labelled = labels_of(results)
    sigmas = {each.sigma for each in results}
    paper = {
        f"paper: {curve.model}": (curve.radii, curve.percent)
        for curve in certified_accuracy()
        if (curve.study, curve.dataset, curve.variant) == ("main", "cifar10", variant)
        and curve.sigma in sigmas
        and len(sigmas) == 1
        and curve.model in ("MDEQ-30A", "SRS-MDEQ-1A", "SRS-MDEQ-3A")
    }
    figure = accuracy_figure({name: each.frame for name, each in labelled.items()}, paper, intervals)
    st.plotly_chart(
        figure, key="evaluate_curves", alt="Certified accuracy falls with the radius, a line for each setting."
    )
    if variant != "none" and not paper:
        st.caption("The paper has no such table for this noise level, or there are several levels here.")


def spreads(results: list[Results]) -> None:
    """Histograms over the pictures: p_A, p_m, gap, RRD; and radii against plain smoothing."""
    st.subheader("Picture by picture")
    figures = {name: figure for name, figure in figures_of(results).items() if name != "Certified accuracy"}
    for tab, (name, figure) in zip(st.tabs(list(figures)), figures.items(), strict=True) if figures else ():
        tab.plotly_chart(figure, key=f"evaluate_{name}")


def picture_table(results: list[Results]) -> None:
    """Every picture of one setting; a click on a row opens it on the Certify page."""
    labelled = labels_of(results)
    chosen = st.selectbox("Pictures under the setting", list(labelled), key="evaluate_setting", persist_state="session")
    each = labelled[chosen]
    pictures = pictures_of(each)
    frame = each.frame
    columns = ["idx", "label", "predict", "radius", "correct", "p_a", "p_m", "gap", "evaluations", "time"]
    shown = frame[[name for name in columns if name in frame and frame[name].notna().any()]].copy()
    shown["correct"] = shown["correct"] == 1
    names = class_names(each.model)
    for column in ("label", "predict"):
        shown[column] = [names.get(value, value) for value in shown[column]]
    if pictures:
        shown.insert(0, "picture", [picture_address(pictures[i]) if i in pictures else None for i in frame["idx"]])
        st.caption("Click a row at its left edge to open the picture on the Certify page.")
    event = st.dataframe(
        shown,
        hide_index=True,
        row_height=44 if pictures else None,
        column_config={
            "picture": st.column_config.ImageColumn("picture", width="small"),
            "radius": st.column_config.NumberColumn(format="%.4f"),
            "p_a": st.column_config.NumberColumn("p_A", format="%.4f", help="Lower bound on the share of votes."),
            "p_m": st.column_config.NumberColumn(format="%.4f", help="Bound on the share of votes not confirmed."),
            "gap": st.column_config.NumberColumn(format="%.4f", help="The bound minus the true mismatch."),
            "predict": st.column_config.Column(help="-1, or “abstains”, where nothing could be certified."),
        },
        on_select="rerun",
        selection_mode="single-row",
        key="evaluate_pictures_table",
    )
    for row in event.selection.rows:
        index = int(frame["idx"].iloc[row])
        if index in pictures:
            open_on_certify(index, pictures[index], each.model)
        else:
            st.info(f"Picture {index} itself is not here, so it cannot be opened; upload it on the Certify page.")


def class_names(model: str) -> dict[int, str]:
    """The names of a model's classes by their number, and of abstaining; empty for a model that is not here."""
    classes = next((card.classes for card in model_cards() if card.name == model), ())
    return dict(enumerate(classes)) | {-1: "abstains"} if classes else {}


@st.cache_data(show_spinner=False, max_entries=8)
def kept_pictures(data_hash: str) -> "dict[int, Tensor]":
    """The pictures that were kept beside results, by index."""
    from srs_core.evaluate.pictures import find_pictures

    return find_pictures(data_hash, [results_folder()])


def pictures_of(results: Results) -> "dict[int, Tensor]":
    """The pictures of results by index: those kept beside them, or the gallery's."""
    if results.settings.get("data") == "CIFAR-10 gallery":
        from srs_core.data import gallery

        return {sample.index: sample.image for sample in gallery()}
    return kept_pictures(results.data_hash) if results.data_hash else {}


def open_on_certify(index: int, image: "Tensor", model: str) -> None:
    """Hand the picture over to the Certify page, as one of the visitor's own, and go there."""
    from srs_core.images import to_png

    st.session_state["certify_source"] = "own"
    st.session_state["certify_own"] = {f"test picture {index}.png": to_png(image)}
    if model in {card.name for card in model_cards()}:
        st.session_state["certify_model"] = model
    st.switch_page("pages/certify.py")


main()
