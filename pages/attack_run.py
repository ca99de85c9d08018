"""The Attack page's jobs: what is submitted, and how it looks while it runs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import altair as alt
import pandas as pd
import streamlit as st

from pages.job_frame import cancel_or_wait, jobs, visitor, watch
from pages.widgets import show_picture
from srs_core.attacks.words import class_name
from srs_core.figures.theme import BLUE, ORANGE
from srs_core.jobs import Job
from srs_core.result import Result

if TYPE_CHECKING:
    from torch import Tensor

    from srs_core.attacks import AttackSettings, AttackSnapshot, Hunt, Target

__all__ = ["AttackJob", "cached_target", "follow_attack", "picture_of", "submit_attack", "three_pictures"]

HUNT = 7


@dataclass(frozen=True)
class AttackJob:
    """What an attack's job is about: the certified picture's job, and whether it hunts for the smallest radius."""

    certified: str
    radius: float
    hunting: bool


@st.cache_resource(show_spinner="Loading the model …", max_entries=4)
def cached_target(name: str) -> "Target":
    """A model in the two forms that an attack needs, by its name."""
    from srs_core.attacks import load_target

    return load_target(name)


def picture_of(result: Result) -> "Tensor":
    """The picture exactly as the model saw it."""
    from srs_core.images import load_image

    return load_image(result.picture).tensor


def submit_attack(certified: str, result: Result, radius: float, settings: "AttackSettings", *, hunting: bool) -> str:
    """Queue one attack at the radius, or a hunt for the smallest winning radius up to it, and return the job's id."""
    target = cached_target(result.certificates[0].model)
    work = partial(_work, target, result, radius, settings, hunting)
    return jobs().submit(work, owner=visitor(), about=AttackJob(certified, radius, hunting))


def _work(
    target: "Target", result: Result, radius: float, settings: "AttackSettings", hunting: bool
) -> "Iterator[Hunt]":
    from srs_core.attacks import smallest_radius_stream
    from srs_core.attacks.clean import NOT_ESTABLISHED, answer_to_change

    certificate = result.certificates[0]
    picture = picture_of(result)
    answer = answer_to_change(target, picture, certificate, settings)
    if answer is None:
        raise ValueError(NOT_ESTABLISHED)
    low = certificate.radius if hunting and certificate.radius < radius else 0.0
    yield from smallest_radius_stream(
        target,
        picture,
        answer,
        settings,
        low=low,
        high=radius,
        attacks=HUNT if hunting else 1,
    )


def follow_attack(job: Job, result: Result) -> None:
    """Show an attack while it waits or runs, refreshed every second; when it ends the whole page is drawn anew."""
    doing = "Hunting for the smallest radius …" if job.about.hunting else "Attacking …"
    cancel_or_wait(job, "The attack", doing)
    picture = picture_of(result)
    watch(job, lambda now: _draw(now, picture, result.classes), every=1.0)


def _draw(job: Job, picture: "Tensor", classes: Sequence[str]) -> None:
    hunt: Hunt | None = job.latest
    if hunt is None:
        st.progress(0.0, text="Solving the first noisy copies …")
        return
    snapshot = hunt.current
    name = class_name(classes, snapshot.label)
    st.progress(min(1.0, snapshot.done / snapshot.total), text=_words(hunt, name))
    seeing, chart = st.columns([2, 3])
    with seeing:
        three_pictures(picture, snapshot.attacked, 96)
    with chart:
        st.caption(f"How much the noisy copies still look like “{name}” to the model")
        st.altair_chart(_trace_chart(job.history, len(hunt.attempts), snapshot.settings.samples), height=190)


def _words(hunt: "Hunt", name: str) -> str:
    s = hunt.current
    which = f"Attack {min(len(hunt.attempts) + (s.result is None), hunt.total)} of at most {hunt.total}, " * (
        hunt.total > 1
    )
    if s.phase == "search":
        again = f"search {s.search}, " if s.settings.restarts else ""
        return f"{which}radius {s.radius:.3f}: {again}step {s.step} of {s.settings.steps}, distance {s.distance:.3f}"
    votes = sum(s.votes)
    return (
        f"{which}radius {s.radius:.3f}: the verdict, {votes:,} of {s.settings.n:,} votes, {s.votes[s.label]:,} “{name}”"
    )


def _trace_chart(history: "Sequence[Hunt]", attempts: int, samples: int) -> alt.Chart:
    """The search's latest steps: the mean probability of the answer, and the share of copies that still get it."""
    current: Sequence[AttackSnapshot] = [
        hunt.current for hunt in history if len(hunt.attempts) == attempts and hunt.current.phase == "search"
    ]
    measures = {"probability": lambda s: math.exp(-s.loss)}
    if samples > 1:
        measures["share of copies"] = lambda s: s.share
    rows = [
        {"step": number, "measure": name, "value": measure(snapshot)}
        for name, measure in measures.items()
        for number, snapshot in enumerate(current, start=1)
    ]
    return (
        alt.Chart(pd.DataFrame(rows, columns=["step", "measure", "value"]))
        .mark_line(point=True)
        .encode(
            x=alt.X("step:Q", title="gradient steps", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=4)),
            color=alt.Color(
                "measure:N",
                scale=alt.Scale(domain=["probability", "share of copies"], range=[BLUE, ORANGE]),
                legend=alt.Legend(title=None, orient="top"),
            ),
        )
    )


def three_pictures(picture: "Tensor", attacked: "Tensor", width: int = 160) -> None:
    """The picture, what was changed, and the picture after that."""
    from srs_core.attacks.view import magnified_change

    change = magnified_change(picture, attacked.to(picture.device))
    with st.container(horizontal=True, gap="small"):
        show_picture(picture, width, "Original")
        show_picture(change.picture, width, f"The change, {change.factor} × magnified")
        show_picture(attacked, width, "Attacked")
