"""Plane: a model with two pixels, where a certificate can be checked with the eyes."""

from typing import TYPE_CHECKING

import streamlit as st

from pages.address import BOUND
from pages.widgets import BARE, require_frame
from srs_core.figures.plane import Circle, Cloud, plane_figure
from srs_core.smoothing.bounds import certified_radius, format_radius
from srs_core.smoothing.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from srs_core.planar import PlanarDEQ
    from srs_core.planar_map import PlaneMap, TrueRadius
    from srs_core.smoothing.certificate import Certificate

PRESETS = {
    "Middle of an arm": (0.24, 0.30),
    "Near a border": (0.36, 0.72),
    "Where arms meet": (0.50, 0.48),
    "Wide and safe": (0.90, 0.30),
}
SHOWN_COPIES = 300
STANDARD = {"solver": "anderson", "steps": 30}
SINGLE, VOTE = "single answers (f)", "the vote (g)"


@st.cache_resource(show_spinner=False)
def planar_model() -> "PlanarDEQ":
    """The model, loaded once for all visitors."""
    from srs_core.planar import load_planar

    return load_planar()


@st.cache_resource(show_spinner="Asking the model about 73,000 points …", max_entries=8)
def brute_force(sigma: float) -> "PlaneMap":
    """What f and g answer everywhere, at this noise."""
    from srs_core.planar_map import plane_map

    return plane_map(regions(), sigma)


@st.cache_data(show_spinner=False)
def regions() -> "NDArray[np.int64]":
    """f's class on a grid of the plane."""
    from srs_core.planar_map import standard_regions

    return standard_regions(planar_model(), **STANDARD)


@st.cache_data(show_spinner="Voting …", max_entries=200)
def certificates(point: tuple[float, float], rs: Settings, srs: Settings) -> tuple["Certificate", "Certificate"]:
    """Certify the point by both methods, on the same noise."""
    import torch

    from srs_core.smoothing.stream import certify

    image = torch.tensor(point)
    return certify(planar_model(), image, rs), certify(planar_model(), image, srs)


@st.cache_data(show_spinner=False, max_entries=50)
def noisy_copies(point: tuple[float, float], settings: Settings) -> Cloud:
    """The first noisy copies of the fast run, every vote checked."""
    import torch

    from srs_core.chain import check_votes

    votes = check_votes(planar_model(), torch.tensor(point), settings, min(SHOWN_COPIES, settings.n))
    return Cloud(votes.pictures.numpy(), votes.standard, votes.changed)


def choose(preset: str) -> None:
    """Move the point to a preset."""
    st.session_state.x, st.session_state.y = PRESETS[preset]


def picked() -> None:
    """Move the point to where the visitor clicked."""
    points = st.session_state.map.selection.points
    if points:
        st.session_state.x = round(points[0]["x"], 3)
        st.session_state.y = round(points[0]["y"], 3)


def ask_point() -> tuple[float, float]:
    """The point, also for those who cannot click."""
    options = {"min_value": 0.0, "max_value": 1.0, "step": 0.01, **BOUND}
    first, second = st.columns(2)
    x = first.slider("First pixel (left to right)", value=0.24, key="x", **options)
    y = second.slider("Second pixel (bottom to top)", value=0.30, key="y", **options)
    return x, y


def ask_settings() -> tuple[Settings, Settings]:
    """The settings of the plain and of the fast run."""
    columns = st.columns(4)
    sigma = columns[0].slider(
        "Noise", 0.02, 0.15, 0.06, 0.01, key="noise", help="Its standard deviation, σ, in units of the square.", **BOUND
    )
    n = columns[1].select_slider(
        "Votes",
        (500, 1000, 2000, 5000, 10_000),
        2000,
        key="n",
        help="Noisy copies that are classified, N.",
        **BOUND,
    )
    audit = columns[2].select_slider(
        "Votes audited",
        (100, 200, 500, 1000, 2000),
        500,
        key="k",
        help="How many of the shortcut's votes, chosen at random, the full model checks, K. At most all of them.",
        **BOUND,
    )
    steps = columns[3].slider(
        "Steps of the shortcut",
        1,
        15,
        5,
        key="s",
        help="Evaluations of f a vote, S, from a warm start. The full model takes up to 30 from a cold one.",
        **BOUND,
    )
    common = {"sigma": sigma, "n": n, "alpha": 0.001, "batch_size": 250, "seed": 0}
    srs = Settings(method="srs", steps=steps, audit=min(audit, n), **common)
    return Settings(method="rs", **STANDARD, **common), srs


def ask_colours() -> bool:
    """Whether to colour by the smoothed model."""
    chosen = st.segmented_control(
        "Colours show",
        (SINGLE, VOTE),
        default=SINGLE,
        required=True,
        key="colours",
        help="f answers for one point. g answers what f says most often when noise is added; certificates are about g. "
        "The grey lines are the borders of g in both views.",
        **BOUND,
    )
    return chosen == VOTE


def radius_metrics(rs: "Certificate", srs: "Certificate", ideal: float, truth: "TrueRadius") -> None:
    """Four radii side by side, from what was certified to what is true."""
    columns = st.columns(4)
    for column, certificate, label in (
        (columns[0], rs, "Certified by RS"),
        (columns[1], srs, "Certified by SRS"),
    ):
        column.metric(
            label,
            "abstains" if certificate.abstained else format_radius(certificate.radius),
            help=f"Lower bound on the share of votes p_A: {certificate.p_a_lower:.4f}. A radius is σ·Φ⁻¹ of it.",
            border=True,
        )
        column.caption(f"{certificate.evaluations:,} evaluations of f")
    columns[2].metric(
        "With endless votes",
        format_radius(ideal) if ideal > 0 else "nothing",
        help="σ·Φ⁻¹(p_A) with the true share p_A, which brute force knows here. No number of votes certifies more.",
        border=True,
    )
    columns[2].caption("the most that any number of votes could certify")
    columns[3].metric(
        "True robust radius",
        f"≥ {format_radius(truth.radius)}" if truth.at_least else f"{truth.radius:.3f}",
        help="Distance to the nearest point where the smoothed model g answers differently, by looking everywhere.",
        border=True,
    )
    columns[3].caption("found by brute force on 73,000 points")


def verdict(name: str, rs: "Certificate", srs: "Certificate", true: float) -> None:
    """Compare what is claimed with what is true, in a sentence."""
    claims = [c for c in (rs, srs) if not c.abstained]
    if not claims:
        st.info(
            "Both methods **abstain** here: no class gets clearly more than half of the votes, so nothing is claimed. "
            "Move the point away from the borders, or lower the noise."
        )
        return
    largest = max(c.radius for c in claims)
    if largest <= true:
        st.success(
            f"**The certificate holds.** It claims that no move shorter than {format_radius(largest)} takes the answer "
            f"away from *{name}*. Looking everywhere, the nearest change is {true:.3f} away: outside the circle."
        )
    else:
        st.error(
            f"**This certificate is wrong**: it claims {format_radius(largest)}, but the answer changes {true:.3f} "
            "away. One certificate in a thousand may be (alpha = 0.001)."
        )
    if rs.class_index != srs.class_index:
        st.warning("The two methods chose different classes in their selection draws; compare the circles with care.")


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("A certificate you can see")
    st.markdown(
        "A point in this square is a *picture with two pixels*. A small equilibrium model sorts all such pictures into "
        "three classes that wind around each other. **Click anywhere**: the point is copied with noise, the copies "
        "vote, and the vote certifies a circle in which the answer cannot change. Here, unlike with real pictures, "
        "one can look everywhere and check."
    )
    with st.container(horizontal=True):
        for preset in PRESETS:
            st.button(preset, on_click=choose, args=(preset,))
    stage = st.container()
    with st.container(border=True):
        point = ask_point()
        rs_settings, srs_settings = ask_settings()
    plane = brute_force(rs_settings.sigma)
    rs, srs = certificates(point, rs_settings, srs_settings)
    cloud = noisy_copies(point, srs_settings)
    truth = plane.true_radius(*point)
    share = plane.share_at(*point)
    ideal = certified_radius(float(min(share.max(), 1.0)), rs_settings.sigma)
    names = planar_model().classes
    circles = [
        Circle("true", f"true robust radius {truth.radius:.3f}", truth.radius),
        *([Circle("ideal", f"with endless votes {format_radius(ideal)}", ideal)] if ideal > 0 else []),
        *([] if rs.abstained else [Circle("rs", f"certified by RS {format_radius(rs.radius)}", rs.radius)]),
        *([] if srs.abstained else [Circle("srs", f"certified by SRS {format_radius(srs.radius)}", srs.radius)]),
    ]
    with stage:
        smoothed = ask_colours()
        left, right = st.columns(2)
        with left:
            st.markdown(
                "**The whole square.** Dots are noisy copies; a black cross is a vote that the shortcut got wrong."
            )
            st.plotly_chart(
                plane_figure(plane, names, point, circles, cloud, smoothed=smoothed, pickable=True),
                key="map",
                on_select=picked,
                selection_mode="points",
                config=BARE,
                alt="The unit square coloured by class, with noisy copies of the chosen point and circles around it.",
            )
        with right:
            st.markdown("**Around the point**, to scale. The line leads to the nearest point with another answer.")
            half = max(1.35 * truth.radius, 1.5 * rs_settings.sigma)
            window = (point[0] - half, point[0] + half, point[1] - half, point[1] + half)
            near = plane.close_up(planar_model(), window, **STANDARD)
            st.plotly_chart(
                plane_figure(near, names, point, circles, None, truth.nearest, smoothed, window, legend=True),
                key="near",
                config=BARE,
                alt="The surroundings of the chosen point with the certified circles and the true robust radius.",
            )
        verdict(names[int(share.argmax())], rs, srs, truth.radius)
        radius_metrics(rs, srs, ideal, truth)
    with st.expander("How to read this"):
        st.markdown(
            "- **Why is the certified circle smaller than the true one?** Two reasons. The theorem behind certificates "
            "knows only how often the winner wins, not the shape of the regions; it is exact for a straight border and "
            "cautious for all others (dotted grey against dashed green). And finitely many votes leave a "
            "doubt, which the bound takes off (blue against grey).\n"
            "- **Why is the fast circle smaller still?** Its votes come from a shortcut: a few steps of the solver "
            "from where the last copy ended. The full model checks a random share of them, and what it refutes, with "
            "the doubt about the unchecked ones, is taken off as well. Give the shortcut more steps, or audit more "
            "votes, and the red circle grows.\n"
            "- **What is certified** is always the full model's vote g, not the shortcut and not f.\n"
            "- **How often may a certificate be wrong?** With alpha = 0.001, one in a thousand at most."
        )


main()
