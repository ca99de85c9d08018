"""The Warm start page's computations, each done once: noisy copies with their fixed points, solvers, a chain."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pages.widgets import cached_model
from srs_core.smoothing.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from srs_core.chain import CheckedVotes
    from srs_core.warm_start import Stage, Trace

__all__ = [
    "BATCH",
    "BATCHES",
    "COPIES",
    "NEVER",
    "STEPS",
    "View",
    "chain_of",
    "gallery_names",
    "image_of",
    "solved",
    "stage_of",
]

COPIES, STEPS = 16, 12
BATCH, BATCHES = 16, 10
NEVER = "never"


@dataclass(frozen=True)
class View:
    """What the visitor has chosen."""

    model: str
    picture: str
    sigma: float
    solver: str
    start: str
    step: int
    restart: str


@st.cache_data(show_spinner=False)
def gallery_names() -> list[str]:
    """The gallery's pictures, as "class number"."""
    from srs_core.data import gallery

    pictures = gallery()
    return [f"{pictures.class_names[sample.label]} {sample.index}" for sample in pictures]


@st.cache_resource(show_spinner="Solving the noisy copies in full …", max_entries=6)
def stage_of(model: str, picture: str, sigma: float) -> "Stage":
    """Noisy copies of a picture with their fixed points, shared by all visitors."""
    from srs_core.warm_start import set_stage

    return set_stage(cached_model(model), image_of(picture), sigma, COPIES)


@st.cache_data(show_spinner="Following the solver step by step …", max_entries=100)
def trace_of(model: str, picture: str, sigma: float, solver: str, start: str) -> "Trace":
    """A solver's way from a start."""
    from srs_core.warm_start import follow

    return follow(cached_model(model), stage_of(model, picture, sigma), solver, start, STEPS)


@st.cache_data(show_spinner=f"Checking all {BATCH * BATCHES} votes of a chain …", max_entries=50)
def chain_of(view: View) -> "CheckedVotes":
    """A chain of batches, every vote checked."""
    from srs_core.chain import check_votes

    settings = Settings(
        sigma=view.sigma,
        solver=view.solver,
        steps=view.step,
        start=view.start,
        restart_every=None if view.restart == NEVER else int(view.restart),
        n=BATCH * BATCHES,
        n0=BATCH,
        audit=BATCH * BATCHES,
        batch_size=BATCH,
    )
    return check_votes(cached_model(view.model), image_of(view.picture), settings, settings.n)


def image_of(picture: str) -> "Tensor":
    """A gallery picture by its name."""
    from srs_core.data import gallery

    return gallery()[gallery_names().index(picture)].image


def solved(view: View, solver: str | None = None, start: str | None = None) -> "Trace":
    """The trace for this view, or for another solver or start on the same copies."""
    return trace_of(view.model, view.picture, view.sigma, solver or view.solver, start or view.start)
