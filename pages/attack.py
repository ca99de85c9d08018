"""Attack: certify a picture, then try to break the certificate from inside and from outside."""

import math
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.address import load_address, store_address
from pages.attack_result import show_attacks
from pages.attack_run import AttackJob, follow_attack, submit_attack
from pages.attack_settings import LIMITS, METHODS, READERS, ask_strength, seed_defaults
from pages.attack_studies import show_studies
from pages.certify_pictures import Chosen, choose_pictures
from pages.certify_run import follow, submit
from pages.certify_settings import Inputs
from pages.job_frame import jobs
from pages.widgets import (
    cached_model,
    chosen_card,
    number,
    pick_model,
    plain_text,
    require_frame,
    shelf,
    show_picture,
)
from srs_core.jobs import Job, State, TooManyJobsError
from srs_core.result import Result
from srs_core.smoothing.bounds import format_radius
from srs_core.smoothing.settings import Settings
from srs_core.words import claim

if TYPE_CHECKING:
    from srs_core.attacks import AttackResult
    from srs_core.mdeq.cards import Card

INTRO = (
    "A certificate promises that **no** change of a picture within its radius can change the answer. Here you can try: "
    "an attack looks for the most harmful change it can find, by following the model's own gradients. Inside the "
    "radius it is promised to fail. Outside it may win, and if it does, you see how close the promise was to the truth."
)


def ask_certificate(cards: "list[Card]") -> None:
    """The picture, the model and the certificate that will be attacked."""
    card = chosen_card("attack", cards)
    seed_defaults(card)
    left, right = st.columns([3, 2])
    with left:
        pictures = choose_pictures(card)
    with right:
        chosen = _one_of(pictures)
        pick_model("attack", cards)
        votes, method = st.columns([2, 3])
        with votes:
            number("attack", "n", "Votes", LIMITS, 100, "N: how many noisy copies vote for the certificate.")
        method.segmented_control(
            "Certify by",
            list(METHODS),
            format_func=METHODS.__getitem__,
            key="attack_by",
            required=True,
            persist_state="session",
            help="Serialized smoothing (SRS) is quicker, plain smoothing (RS) certifies a little more.",
        )
        pressed = st.button(
            "Certify this picture", type="primary", disabled=chosen is None, icon=":material/verified_user:"
        )
    if pressed and chosen is not None:
        start_certificate(card, chosen)


def _one_of(pictures: list[Chosen]) -> Chosen | None:
    if not pictures:
        return None
    chosen = pictures[0]
    if len(pictures) > 1:
        chosen = st.selectbox("Picture", pictures, format_func=lambda picture: picture.name)
    show_picture(chosen.image, 128, chosen.note or plain_text(chosen.name))
    return chosen


def start_certificate(card: "Card", chosen: Chosen) -> None:
    """Queue the certification; earlier attacks belong to another certificate and are put away."""
    n = st.session_state["attack_n"]
    try:
        settings = Settings(
            sigma=card.sigma or 0.25,
            n=n,
            n0=min(100, max(20, n // 10)),
            audit=min(n, max(100, n // 5)),
            reference_steps=st.session_state["attack_reference_steps"],
            seed=st.session_state["attack_seed"],
        )
        (job,) = submit(Inputs(cached_model(card.name), st.session_state["attack_by"], settings), [chosen])
    except (TooManyJobsError, ValueError) as error:
        st.warning(str(error))
        return
    st.session_state["attack_job"] = job
    st.session_state["attack_attacks"] = ""
    st.rerun()


def certified() -> Result | None:
    """Draw the certification as it stands; returns its result once there is one."""
    job = jobs().get(st.session_state["attack_job"])
    if job is None:
        if st.session_state["attack_job"]:
            st.info("That certificate is no longer remembered by the server. Certify the picture again.")
            st.session_state["attack_job"] = st.session_state["attack_attacks"] = ""
        return None
    if not job.state.over:
        follow(job)
    elif job.state is State.FAILED:
        st.error(f"**{plain_text(job.about.picture)}**: {job.error} Your settings are kept.")
    elif job.latest is not None and job.latest.result is not None:
        return job.latest.result
    else:
        st.info(f"The certification of **{plain_text(job.about.picture)}** was cancelled.")
    return None


def show_certificate(result: Result) -> None:
    """The promise that is going to be tested."""
    certificate = result.certificates[0]
    left, right = st.columns([1, 6], vertical_alignment="center")
    with left:
        show_picture(result.picture, 96)
    with right:
        st.markdown(f"**{plain_text(result.picture_name)}**")
        (st.warning if certificate.abstained else st.success)(claim(certificate, result.values))


def ask_attack(result: Result, *, busy: bool) -> None:
    """How far and how hard to attack, and the buttons that start it."""
    certificate = result.certificates[0]
    reach = reach_of(certificate.radius)
    usual = round(min(reach, max(0.01, certificate.radius * 0.9 or 0.25)), 2)
    chosen = st.session_state.get("attack_radius", usual)
    st.session_state["attack_radius"] = min(max(chosen, 0.01), reach)
    radius = st.slider(
        "How far the attack may go",
        0.01,
        reach,
        step=0.01,
        key="attack_radius",
        persist_state="session",
        help="The radius r of the attack: an L2 distance between pictures whose pixel values go from 0 to 1.",
    )
    promised = format_radius(certificate.radius)
    if certificate.abstained:
        st.caption("There is no certificate here, so nothing is promised at any distance.")
    elif radius < certificate.radius:
        st.markdown(f":green[**Inside**] the certified radius of {promised}: the attack is promised to fail.")
    else:
        st.markdown(f":orange[**Outside**] the certified radius of {promised}: the attack may win.")
    settings = ask_strength(certificate)
    with st.container(horizontal=True, gap="small"):
        attack = st.button("Attack", type="primary", icon=":material/bolt:", disabled=busy or settings is None)
        hunt = st.button(
            "Find the smallest radius",
            icon=":material/search:",
            disabled=busy or settings is None,
            help=f"Attack at {reach:g}, the slider's end. If that wins, close in between there and the certificate.",
        )
    if settings is not None and (attack or hunt):
        try:
            job = submit_attack(
                st.session_state["attack_job"], result, reach if hunt else radius, settings, hunting=hunt
            )
        except TooManyJobsError as error:
            st.warning(str(error))
            return
        earlier = st.session_state["attack_attacks"]
        st.session_state["attack_attacks"] = f"{earlier},{job}" if earlier else job
        st.rerun()


def reach_of(radius: float) -> float:
    """Where the slider ends: well outside of the certificate."""
    return max(1.0, math.ceil(8 * radius) / 2)


def attack_jobs() -> list[Job]:
    """The attacks on the certificate that is shown, the oldest first."""
    found = [jobs().get(id) for id in st.session_state["attack_attacks"].split(",") if id]
    return [
        job
        for job in found
        if job is not None
        and isinstance(job.about, AttackJob)
        and job.about.certified == st.session_state["attack_job"]
    ]


def finished(found: list[Job]) -> "list[AttackResult]":
    """All attacks that came to their end, those of a cancelled hunt included."""
    return [attempt for job in found if job.latest is not None for attempt in job.latest.attempts]


def address() -> dict[str, Any]:
    """All that a link needs to show this again."""
    values = {name: st.session_state.get(f"attack_{name}") for name in READERS}
    if st.session_state.get("certify_source") == "samples":
        values["picture"] = st.session_state.get("certify_picture")
    return {name: value for name, value in values.items() if value not in (None, "")}


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    complaints = load_address("attack", READERS)
    if "attack_picture" in st.session_state:
        # The gallery is the Certify page's: a picture chosen there is the one that is shown here.
        st.session_state["certify_picture"] = st.session_state.pop("attack_picture")
    st.title("Try to break a certificate")
    st.markdown(INTRO)
    for complaint in complaints:
        st.warning(complaint)
    cards = shelf()
    st.subheader("1. A certificate")
    ask_certificate(cards)
    result = certified()
    if result is not None:
        show_certificate(result)
        st.subheader("2. The attack")
        found = attack_jobs()
        running = [job for job in found if not job.state.over]
        ask_attack(result, busy=bool(running))
        for job in running:
            follow_attack(job, result)
        for job in found:
            if job.state is State.FAILED:
                st.error(f"The attack at radius {job.about.radius:.3f} stopped: {job.error}")
        attempts = finished(found)
        if attempts:
            st.subheader("3. What happened")
            show_attacks(result, attempts, reach_of(result.certificates[0].radius))
    show_studies()
    store_address("attack", address())


main()
