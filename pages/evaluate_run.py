"""The Evaluate page's small evaluations: a few gallery pictures, certified in the background."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pages.job_frame import cancel_or_wait, jobs, visitor, watch
from pages.widgets import cached_model, chosen_card, pick_model, shelf
from srs_core.evaluate.results import Results, read_results
from srs_core.jobs import Job, TooManyJobsError
from srs_core.words import duration

if TYPE_CHECKING:
    from srs_core.evaluate.run import Progress

__all__ = ["About", "ask_run", "finished_results", "follow"]

MOST_PICTURES = 31
VOTES = (100, 200, 500, 1000)


@dataclass(frozen=True)
class About:
    """What an evaluation is about, for whoever finds it again: the model, and the files that it writes."""

    model: str
    folder: Path
    paths: tuple[Path, ...]


def ask_run() -> None:
    """Draw the form of a small evaluation, and start it."""
    cards = shelf()
    columns = st.columns(3)
    with columns[0]:
        pick_model("evaluate", cards)
    model = chosen_card("evaluate", cards).name
    pictures = columns[1].slider(
        "Gallery pictures", 2, MOST_PICTURES, 6, key="evaluate_pictures", persist_state="session"
    )
    votes = columns[2].select_slider(
        "Votes for each picture", VOTES, 200, key="evaluate_votes", persist_state="session", help="N"
    )
    st.caption(
        "Plain smoothing and serialized smoothing with 1 and 3 steps run on the same noise. Whole test sets are for "
        "the command line: `python -m srs_core evaluate --help`."
    )
    if st.button("Evaluate", type="primary", icon=":material/play_arrow:", key="evaluate_go"):
        try:
            st.query_params["job"] = start(model, pictures, votes)
        except TooManyJobsError as error:
            st.warning(str(error))
            return
        st.rerun()


def start(model: str, pictures: int, votes: int) -> str:
    """Queue a small evaluation, and return the job's id."""
    from srs_core.data import gallery
    from srs_core.evaluate.plan import Evaluation, Selection, name_parts
    from srs_core.evaluate.run import evaluate_stream, result_paths
    from srs_core.smoothing.settings import Settings

    network = cached_model(model)
    common = {"sigma": network.sigma or 0.25, "n": votes, "n0": min(100, votes // 5), "audit": max(votes // 5, 60)}
    parts = name_parts([Settings(method="rs", **common), Settings(steps=1, **common), Settings(steps=3, **common)])
    selection = Selection(stop=pictures)
    evaluation = Evaluation(network, selection.of(gallery()), selection, parts)
    folder = Path(tempfile.mkdtemp(prefix="evaluate-"))
    paths = result_paths(evaluation, folder / "results.tsv")

    def work() -> "Iterator[Progress]":
        yield from evaluate_stream(evaluation, paths)

    return jobs().submit(partial(work), owner=visitor(), about=About(model, folder, tuple(paths.values())))


def follow(job: Job) -> None:
    """Show a running evaluation until it is over; what is finished is kept when it is stopped."""
    cancel_or_wait(job, "The evaluation", "Evaluating …", "Stop here")
    watch(job, _draw, every=1.0)


def _draw(job: Job) -> None:
    progress = job.latest
    if progress is None:
        st.progress(0.0, text="Starting …")
        return
    done = progress.done + progress.fraction
    left = f", about {duration(job.seconds * (progress.total - done) / done)} left" if done > 0.05 else ""
    st.progress(done / progress.total, text=f"{progress.done} of {progress.total} pictures{left}")


def finished_results(job: Job) -> list[Results]:
    """What an evaluation has written so far; files without a row are left out."""
    from srs_core.evaluate.table import ResultError

    found = []
    for path in job.about.paths:
        try:
            found.append(read_results(path))
        except (OSError, ResultError):
            continue
    return found
