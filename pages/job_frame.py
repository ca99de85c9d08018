"""What all long computations on the pages share: the queue, whose job it is, the line above it, and watching it."""

import secrets
from collections.abc import Callable

import streamlit as st

from srs_core.jobs import Job, Jobs, State

__all__ = ["cancel_or_wait", "jobs", "visitor", "watch"]


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """All runs of this server. One at a time on a CPU, which a single run fills; two on a GPU."""
    import torch

    return Jobs(limit=2 if torch.cuda.is_available() else 1)


def visitor() -> str:
    """The owner's name of all of this visitor's jobs; it cannot be guessed."""
    return str(st.session_state.setdefault("visitor", secrets.token_urlsafe(9)))


def cancel_or_wait(job: Job, name: str, doing: str, label: str = "Cancel") -> None:
    """Say where a job stands, with a button to cancel it; drawn outside the part that refreshes itself.

    `name` is what the job is called ("The attack"), `doing` the line to show while it runs; both are Markdown.
    """
    left, right = st.columns([4, 1], vertical_alignment="center")
    if job.state is State.WAITING:
        ahead = "1 run is" if job.place == 1 else f"{job.place} runs are"
        left.info(f"{name} waits its turn: {ahead} ahead of it. It starts by itself.")
    elif job.stopping:
        left.info(f"{name} is stopping as soon as its present piece of work is done.")
    else:
        left.markdown(doing)
    right.button(
        label,
        key=f"cancel_{job.id}",
        on_click=jobs().cancel,
        args=(job.id,),
        disabled=job.stopping,
        width="stretch",
        icon=":material/close:",
    )


def watch(job: Job, draw: Callable[[Job], None], every: float = 0.5) -> None:
    """Call `draw` every so many seconds while a job runs; when it begins or ends the whole page is drawn anew."""
    shown = job.state, job.place, job.stopping

    @st.fragment(run_every=every)
    def live() -> None:
        now = jobs().get(job.id)
        if now is None or (now.state, now.place, now.stopping) != shown:
            st.rerun()
        if now.state is State.RUNNING:
            draw(now)

    live()
