"""The Certify page's pictures: the sample gallery or the visitor's own, as the model sees them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pages.widgets import plain_text, show_picture

if TYPE_CHECKING:
    from torch import Tensor

    from srs_core.data import Dataset
    from srs_core.mdeq.cards import Card
    from srs_core.smoothing.settings import Settings

__all__ = ["Chosen", "choose_pictures", "preview"]

MOST_OWN = 12
SOURCES = {"samples": "Sample gallery", "own": "My own pictures"}


@dataclass(frozen=True)
class Chosen:
    """A picture to certify: its name, its pixels [3, H, W] as the model wants them, and what is known about it."""

    name: str
    image: "Tensor"
    note: str = ""


@st.cache_resource(show_spinner=False)
def samples() -> "Dataset":
    """The pictures that come with the program."""
    from srs_core.data import gallery

    return gallery()


def choose_pictures(card: "Card") -> list[Chosen]:
    """Draw the gallery or the uploader and return what is chosen, fitted to what the card's model takes."""
    from srs_core.mdeq.variants import find_variant

    side = find_variant(card.variant).image_size
    st.session_state.setdefault("certify_source", "samples")
    source = st.segmented_control(
        "Where from",
        list(SOURCES),
        format_func=SOURCES.__getitem__,
        key="certify_source",
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    return _own(side) if source == "own" else _sample(side)


def preview(chosen: Chosen, settings: "Settings") -> None:
    """Show the picture as the model sees it, and the first noisy copies that will vote."""
    from srs_core.smoothing.noise import NoisyCopies, Purpose

    copies = NoisyCopies(chosen.image, settings.sigma, settings.seed, Purpose.ESTIMATION).batch(0, 3)
    with st.container(horizontal=True, gap="small"):
        show_picture(chosen.image, 128, "Seen by the model")
        for number, copy in enumerate(copies, start=1):
            show_picture(copy, 128, f"Noisy copy {number}")
    if chosen.note:
        st.caption(chosen.note)


def _sample(side: int) -> list[Chosen]:
    dataset = samples()
    if st.session_state.get("certify_picture") not in dataset.indices:
        st.session_state["certify_picture"] = dataset.indices[0]
    with st.container(horizontal=True, gap="small", height=236, border=True):
        for position, index in enumerate(dataset.indices):
            with st.container(width=76, gap=None, horizontal_alignment="center"):
                label = dataset.class_names[dataset.labels[position]]
                show_picture(dataset[position].image, 64)
                st.button(
                    label,
                    key=f"certify_sample_{index}",
                    type="primary" if index == st.session_state["certify_picture"] else "tertiary",
                    width="stretch",
                    on_click=_pick,
                    args=(index,),
                    help=f"Picture {index} of the CIFAR-10 test set, labelled “{label}”",
                )
    position = dataset.indices.index(st.session_state["certify_picture"])
    sample = dataset[position]
    label = dataset.class_names[sample.label]
    image, notes = _fitted(_png(sample.image), side)
    note = f"Picture {sample.index} of the CIFAR-10 test set, labelled “{label}”. {notes}"
    return [Chosen(f"{label} (CIFAR-10 test {sample.index})", image, note.strip())]


def _pick(index: int) -> None:
    st.session_state["certify_picture"] = index


def _own(side: int) -> list[Chosen]:
    own: dict[str, bytes] = st.session_state.setdefault("certify_own", {})
    batch = st.session_state.setdefault("certify_uploads", 0)
    st.file_uploader(
        "Drop one or more pictures here",
        accept_multiple_files=True,
        key=f"certify_upload_{batch}",
        on_change=_take_uploads,
        args=(side,),
        help="PNG, JPEG, WebP, BMP, GIF or TIFF, up to 64 MB each. They are cut to a square and made "
        f"{side} × {side} pixels. They stay on this machine.",
    )
    for refusal in st.session_state.get("certify_refused", []):
        st.warning(refusal)
    if not own:
        st.info("No picture yet. Photographs of an animal or a vehicle that fills the frame work best.")
        return []
    chosen = []
    with st.container(horizontal=True, gap="small"):
        for name, data in own.items():
            image, notes = _fitted(data, side)
            chosen.append(Chosen(name, image, notes))
            with st.container(width=110, gap=None):
                show_picture(image, 96, plain_text(name))
                st.button("Remove", key=f"certify_remove_{name}", type="tertiary", on_click=own.pop, args=(name,))
    return chosen


def _take_uploads(side: int) -> None:
    """Move what was uploaded into the session, where a page switch does not lose it, and empty the uploader."""
    from srs_core.images import ImageError

    own: dict[str, bytes] = st.session_state["certify_own"]
    refused = []
    for file in st.session_state[f"certify_upload_{st.session_state['certify_uploads']}"]:
        data = file.getvalue()
        try:
            _fitted(data, side)
        except ImageError as error:
            refused.append(f"**{plain_text(file.name)}** was not taken. {error}")
            continue
        if len(own) >= MOST_OWN and file.name not in own:
            refused.append(f"**{plain_text(file.name)}** was not taken: {MOST_OWN} pictures at a time are enough.")
            continue
        own[file.name] = data
    st.session_state["certify_refused"] = refused
    st.session_state["certify_uploads"] += 1


@st.cache_data(show_spinner=False, max_entries=64)
def _fitted(data: bytes, side: int) -> "tuple[Tensor, str]":
    from srs_core.images import load_image

    picture = load_image(data, (side, side))
    return picture.tensor, " ".join(picture.notes)


def _png(image: "Tensor") -> bytes:
    from srs_core.images import to_png

    return to_png(image)
