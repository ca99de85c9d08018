"""Certify: choose a picture, press the button, watch two methods race, read the certificates."""

from typing import Any

import streamlit as st

from pages.address import load_address, store_address
from pages.certify_pictures import Chosen, choose_pictures, preview
from pages.certify_result import show_result
from pages.certify_run import follow, submit
from pages.certify_settings import FORM, READERS, Inputs, device_speed, settings_form
from pages.job_frame import jobs
from pages.widgets import chosen_card, device_words, plain_text, require_frame, shelf
from srs_core.history import History, HistoryError
from srs_core.jobs import Job, State, TooManyJobsError
from srs_core.result import Result
from srs_core.smoothing.bounds import cutoff_radius, format_radius
from srs_core.words import duration


def forecast(inputs: Inputs, pictures: int) -> None:
    """Say before the start how long it will take and the largest radius that can come out."""
    from srs_core.smoothing.estimate import check_feasible
    from srs_core.timing import expected_seconds

    s, plain = inputs.settings, inputs.settings.plain()
    speed = device_speed(inputs.model.name)
    seconds, radii = 0.0, []
    if inputs.mode != "serialized":
        check_feasible(plain)
        seconds += expected_seconds(plain, speed)
        radii.append(f"plain {format_radius(cutoff_radius(s.n, s.alpha, s.sigma))}")
    if inputs.mode != "plain":
        check_feasible(s)
        seconds += expected_seconds(s, speed)
        radii.append(f"serialized {format_radius(cutoff_radius(s.n, s.alpha, s.sigma, s.estimator, s.audit))}")
    many = f" for {pictures} pictures" if pictures > 1 else ""
    st.markdown(
        f"About **{duration(seconds * pictures)}**{many} on {device_words()}. "
        f"The largest radius these settings can certify: **{', '.join(radii)}**.",
        help="If all votes agree and the audit refutes none. Larger radii need more votes (N), or a larger audit (K).",
    )


def start(inputs: Inputs, pictures: list[Chosen]) -> None:
    """Queue the runs and show the first of them."""
    try:
        ids = submit(inputs, pictures)
    except TooManyJobsError as error:
        st.warning(str(error))
        return
    st.session_state["certify_job"] = ",".join(ids)
    st.session_state["certify_shown"] = ids[0]
    st.session_state["certify_kept"] = ""
    st.session_state["certify_scroll"] = True
    st.rerun()


def show_jobs() -> None:
    """Draw the visitor's runs: the chosen one in full, several as a row to choose from."""
    ids = [text for text in st.session_state.get("certify_job", "").split(",") if text]
    found = [job for job in map(jobs().get, ids) if job is not None]
    if ids and not found:
        st.info("That run is no longer remembered. Its certificates, if it was finished, are in the History.")
        st.session_state["certify_job"] = ""
    if not found:
        return
    job = found[0]
    if len(found) > 1:
        marks = {
            State.DONE: ":material/check_circle:",
            State.FAILED: ":material/error:",
            State.CANCELLED: ":material/cancel:",
            State.RUNNING: ":material/hourglass_top:",
            State.WAITING: ":material/pause_circle:",
        }
        names = {job.id: f"{marks[job.state]} {plain_text(job.about.picture)}" for job in found}
        if st.session_state.get("certify_shown") not in names:
            st.session_state["certify_shown"] = found[0].id
        chosen = st.pills(
            "Runs",
            list(names),
            format_func=names.__getitem__,
            key="certify_shown",
            required=True,
            persist_state="session",
        )
        job = next(job for job in found if job.id == chosen)
    show_job(job)
    st.divider()


def show_kept() -> bool:
    """Draw a result of the history that the visitor wants to see again; says whether there is one."""
    kept = st.session_state.get("certify_kept")
    if not kept:
        return False
    try:
        run = History().get(kept)
    except HistoryError as error:
        st.error(str(error))
        return False
    if run is None:
        st.info("That certificate is not in the history any more.")
        st.session_state["certify_kept"] = ""
        return False
    show_result(Result.from_run(run))
    st.button("Close this result", type="tertiary", on_click=close_kept)
    st.divider()
    return True


def close_kept() -> None:
    """Put a result of the history away again."""
    st.session_state["certify_kept"] = ""


def show_job(job: Job) -> None:
    """Draw one run as it stands: waiting, running, finished, cancelled or failed."""
    if not job.state.over:
        follow(job)
    elif job.state is State.FAILED:
        st.error(f"**{plain_text(job.about.picture)}**: {job.error} Your settings are kept below.")
    elif job.latest is not None and job.latest.result is not None:
        if job.latest.note:
            st.warning(job.latest.note)
        show_result(job.latest.result)
    else:
        st.info(f"**{plain_text(job.about.picture)}** was cancelled. Your settings are kept below.")


def address() -> dict[str, Any]:
    """All that a link needs to show this again."""
    names = ["model", "run", *FORM, "job", "kept"]
    if st.session_state.get("certify_source") == "samples":
        names.append("picture")
    return {name: st.session_state.get(f"certify_{name}") or None for name in names} | {
        name: st.session_state.get(f"certify_{name}") for name in ("seed", "picture") if name in names
    }


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    complaints = load_address("certify", READERS)
    st.title("Certify a picture")
    scroll = st.empty()
    if st.session_state.pop("certify_scroll", False):
        # The button is below and the run appears above: bring the visitor to it.
        script = "<script>document.querySelector('[data-testid=stMain]').scrollTo({top: 0});</script>"
        scroll.html(script, unsafe_allow_javascript=True)
    for complaint in complaints:
        st.warning(complaint)
    cards = shelf()
    if not show_kept():
        show_jobs()
    st.subheader("1. The picture")
    left, right = st.columns([3, 2])
    with left:
        pictures = choose_pictures(chosen_card("certify", cards))
    seeing = right.container()
    st.subheader("2. The settings")
    inputs = settings_form(cards)
    if inputs is not None and pictures:
        with seeing:
            preview(pictures[0], inputs.settings)
    st.subheader("3. Go")
    possible = inputs is not None and bool(pictures)
    if inputs is not None:
        try:
            forecast(inputs, max(1, len(pictures)))
        except ValueError as error:
            st.error(str(error))
            possible = False
    pressed = st.button(
        "Certify", type="primary", disabled=not possible, icon=":material/verified_user:", key="certify_go"
    )
    autostart = st.session_state.pop("certify_autostart", False)
    store_address("certify", address())
    if (pressed or autostart) and inputs is not None and possible:
        start(inputs, pictures)


main()
