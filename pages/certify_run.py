"""The Certify page's running jobs: what is submitted, and how it looks while it runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import altair as alt
import pandas as pd
import streamlit as st

from pages.job_frame import cancel_or_wait, jobs, visitor, watch
from pages.widgets import plain_text
from srs_core.figures.certify import METHOD_COLOURS, METHOD_NAMES
from srs_core.jobs import Job
from srs_core.smoothing.bounds import format_radius
from srs_core.words import duration, percent_down

if TYPE_CHECKING:
    from pages.certify_pictures import Chosen
    from pages.certify_settings import Inputs
    from srs_core.result import Result
    from srs_core.smoothing.compare import Race
    from srs_core.smoothing.snapshot import Snapshot

__all__ = ["About", "Progress", "follow", "submit"]

PHASES = {"selection": "Choosing the answer", "voting": "Voting", "audit": "Auditing", "done": "Done"}


@dataclass(frozen=True)
class About:
    """What a job is about, for whoever finds it again after a page switch or a reload."""

    picture: str
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Progress:
    """What a job publishes: where its methods stand, and at the end the result."""

    snapshots: "tuple[Snapshot | None, ...]"
    result: "Result | None" = None
    note: str = ""


def submit(inputs: "Inputs", pictures: "Sequence[Chosen]") -> list[str]:
    """Queue one job for each picture and return their ids."""
    classes = tuple(inputs.model.classes)
    return [
        jobs().submit(partial(_work, inputs, chosen), owner=visitor(), about=About(chosen.name, classes))
        for chosen in pictures
    ]


def _work(inputs: "Inputs", chosen: "Chosen") -> Iterator[Progress]:
    from srs_core.history import History, HistoryError
    from srs_core.images import to_png
    from srs_core.result import Result
    from srs_core.smoothing.compare import Race

    race = Race(())
    for race in _stream(inputs, chosen):
        yield Progress(race.snapshots)
    finished = [s for s in race.snapshots if s is not None and s.certificate is not None]
    result = Result(
        picture=to_png(chosen.image),
        picture_name=chosen.name,
        certificates=tuple(s.certificate for s in finished),
        classes=tuple(inputs.model.classes),
        residuals={s.method: s.residuals for s in finished},
        measured=race.comparison.measured[0] if race.comparison is not None else None,
    )
    try:
        yield Progress(race.snapshots, replace(result, run=result.save(History())))
    except HistoryError as error:
        yield Progress(race.snapshots, result, f"The result could not be kept in the history. {error}")


def _stream(inputs: "Inputs", chosen: "Chosen") -> "Iterator[Race]":
    from srs_core.smoothing.compare import Race, compare_stream
    from srs_core.smoothing.stream import certify_stream

    if inputs.mode == "both":
        yield from compare_stream(inputs.model, chosen.image, [inputs.settings])
        return
    settings = inputs.settings if inputs.mode == "serialized" else inputs.settings.plain()
    for snapshot in certify_stream(inputs.model, chosen.image, settings):
        yield Race((snapshot,))


def follow(job: Job) -> None:
    """Show a certification while it waits or runs; when it ends the whole page is drawn anew."""
    name = f"**{plain_text(job.about.picture)}**"
    cancel_or_wait(job, name, f"Certifying {name} …")
    watch(job, _draw)


def _draw(job: Job) -> None:
    if job.latest is None:
        st.progress(0.0, text="Choosing the answer: the first noisy copies are being solved …")
        return
    snapshots = [snapshot for snapshot in job.latest.snapshots if snapshot is not None]
    for column, snapshot in zip(st.columns(len(job.latest.snapshots)), snapshots, strict=False):
        with column, st.container(border=True):
            _standing(snapshot, job.about.classes)
    curve, residuals = st.columns(2)
    with curve:
        st.caption("Radius so far: a forecast, until the run is complete")
        if any(snapshot.done for snapshot in snapshots):
            st.altair_chart(_radius_chart(job.history), height=240)
    with residuals:
        st.caption("Distance to the fixed point after each step, latest batch")
        st.altair_chart(_residual_chart(snapshots), height=240)


def _standing(snapshot: "Snapshot", classes: Sequence[str]) -> None:
    left = "" if snapshot.seconds_left is None else f", about {duration(snapshot.seconds_left)} left"
    st.markdown(f"**{METHOD_NAMES[snapshot.method]}**")
    share = snapshot.done / snapshot.total
    if snapshot.audit_total:
        # The audit costs most of a serialized run, so it counts as half of the way.
        share = (share + snapshot.audited / snapshot.audit_total) / 2
    text = f"{PHASES[snapshot.phase]}: {snapshot.done:,} of {snapshot.total:,} votes{left}"
    if snapshot.phase == "done":
        text = f"Done in {duration(snapshot.seconds)}"
        share = 1.0
    st.progress(min(share, 1.0), text=text)
    with st.container(horizontal=True, gap="small"):
        for label, value, help in _numbers(snapshot):
            st.metric(label, value, help=help, width=135)
    st.altair_chart(_vote_chart(snapshot, classes), height=150)


def _numbers(snapshot: "Snapshot") -> list[tuple[str, str, str]]:
    share, lower, radius = snapshot.p_a_estimate, snapshot.lower_estimate, snapshot.radius_estimate
    return [
        ("Share of votes", "–" if share is None else f"{share:.1%}", "N_A / N so far, for the leading answer."),
        ("Guaranteed", "–" if lower is None else percent_down(lower), "The lower bound on p_A, if this were all."),
        ("Radius so far", "–" if radius is None else format_radius(radius), "R, if this were all the data."),
        ("Evaluations", f"{snapshot.evaluations:,}", "Evaluations of the network f so far."),
    ]


def _method_colour() -> alt.Color:
    scale = alt.Scale(domain=list(METHOD_NAMES.values()), range=list(METHOD_COLOURS.values()))
    return alt.Color("method:N", scale=scale, legend=alt.Legend(title=None, orient="top"))


def _radius_chart(history: Sequence[Progress]) -> alt.Chart:
    points = {
        (s.method, s.done): {"method": METHOD_NAMES[s.method], "seconds": s.seconds, "radius": s.radius_estimate}
        for progress in history
        for s in progress.snapshots
        if s is not None and s.radius_estimate is not None
    }
    table = pd.DataFrame(points.values(), columns=["method", "seconds", "radius"])
    return (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(
            x=alt.X("seconds:Q", title="seconds of computation", scale=alt.Scale(domainMin=0)),
            y=alt.Y("radius:Q", title=None, scale=alt.Scale(domainMin=0), axis=alt.Axis(format=".2f", tickCount=4)),
            color=_method_colour(),
        )
    )


def _residual_chart(snapshots: "Sequence[Snapshot]") -> alt.Chart:
    rows = [
        {"method": METHOD_NAMES[s.method], "step": step, "distance": max(value, 1e-9)}
        for s in snapshots
        for step, value in enumerate(s.residuals.median, start=1)
    ]
    return (
        alt.Chart(pd.DataFrame(rows, columns=["method", "step", "distance"]))
        .mark_line(point=True)
        .encode(
            x=alt.X("step:Q", title="evaluations per picture"),
            y=alt.Y("distance:Q", title=None, scale=alt.Scale(type="log"), axis=alt.Axis(format=".0e", tickCount=5)),
            color=_method_colour(),
        )
    )


def _vote_chart(snapshot: "Snapshot", classes: Sequence[str]) -> alt.Chart:
    votes = snapshot.votes if snapshot.done else snapshot.selection_votes
    total = max(1, sum(votes))
    best = sorted(range(len(votes)), key=lambda c: -votes[c])[:10]
    rows = [{"class": classes[c], "share": votes[c] / total} for c in sorted(best)]
    return (
        alt.Chart(pd.DataFrame(rows, columns=["class", "share"]))
        .mark_bar(color=METHOD_COLOURS[snapshot.method])
        .encode(
            x=alt.X("class:N", title=None, sort=None, axis=alt.Axis(labelAngle=-45, labelOverlap=False)),
            y=alt.Y("share:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=2)),
        )
    )
