"""What several pages draw or need: the frame, the model, pictures made visible, numbers."""

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st
from PIL import Image

from pages.address import Within
from srs_core.words import Fact

if TYPE_CHECKING:
    from torch import Tensor

    from srs_core.mdeq.cards import Card
    from srs_core.mdeq.inference import InferenceMDEQ

__all__ = [
    "BARE",
    "cached_model",
    "chosen_card",
    "device_words",
    "metrics",
    "model_cards",
    "number",
    "pick_model",
    "picture_address",
    "plain_text",
    "require_frame",
    "shelf",
    "show_picture",
]

BARE = {"displayModeBar": False}
"""A Plotly chart without its row of buttons, which cover the title on a narrow screen."""


def require_frame() -> None:
    """Make sure that app.py has drawn its frame around this page; every page calls this first.

    A just started server takes a link to a page for a request to run that file alone, and lists all files of this
    folder. The first call of `st.navigation` ends this for the whole server.
    """
    if "framed" not in st.session_state:
        from app import all_pages

        # Without an icon of its own the browser would fetch the page's icon from outside.
        st.set_page_config(page_icon="🛡️")
        st.navigation(all_pages())
        st.rerun()


@st.cache_resource(show_spinner="Loading the model …", max_entries=4)
def cached_model(name: str) -> "InferenceMDEQ":
    """A model by its name, shared by all visitors; models only answer, so they cannot disturb each other."""
    from srs_core import load_model

    return load_model(name)


def model_cards() -> "list[Card]":
    """The cards of the models on the shelf, by name."""
    from srs_core import available_models

    return available_models()


def shelf() -> "list[Card]":
    """The cards of the models, the one to begin with first; or a sentence on how to get one and the end of the page."""
    from srs_core.mdeq.checkpoints import default_first

    cards = default_first(model_cards())
    if not cards:
        st.info(
            "There is no trained model in `checkpoints/` yet. Train one with `python -m srs_core train`, or import one "
            "with `python -m srs_core import-checkpoint`."
        )
        st.stop()
    return cards


def chosen_card(page: str, cards: "Sequence[Card]") -> "Card":
    """The card of the model that a page's picker shows, which is the first until the visitor chooses another."""
    by_name = {card.name: card for card in cards}
    if st.session_state.get(f"{page}_model") not in by_name:
        st.session_state[f"{page}_model"] = cards[0].name
    return by_name[st.session_state[f"{page}_model"]]


def pick_model(page: str, cards: "Sequence[Card]", on_change: Callable[[], None] | None = None) -> None:
    """Draw the picker of a model; `chosen_card` tells what it shows, also before it is drawn."""
    chosen_card(page, cards)
    st.selectbox(
        "Model",
        [card.name for card in cards],
        key=f"{page}_model",
        on_change=on_change,
        persist_state="session",
        help="A deep equilibrium model (DEQ) from the shelf. The number in its name is the noise it was trained with.",
    )


def number(
    page: str, name: str, label: str, limits: Mapping[str, Within], step: float, help: str, format: str | None = None
) -> None:
    """A number within its limits, kept in the session under "page_name"."""
    st.number_input(
        label,
        min_value=limits[name].least,
        max_value=limits[name].most,
        step=step,
        format=format,
        key=f"{page}_{name}",
        help=help,
        persist_state="session",
    )


def device_words() -> str:
    """The device that computes, in words."""
    from srs_core.device import pick_device

    names = {"cuda": "this machine's CUDA graphics card", "mps": "this machine's Apple graphics processor"}
    return names.get(pick_device().type, "this machine's processor (CPU)")


def show_picture(picture: "Tensor | bytes", width: int, caption: str | None = None) -> None:
    """Draw a small picture, `width` pixels wide, with its pixels made large enough to see and not blurred.

    The picture travels in its own address. Streamlit would otherwise keep it in a store that forgets the pictures of
    a run of the page as soon as the next one ends, so that a slow browser found nothing there and showed a gap.
    """
    st.image(picture_address(picture, width), caption=caption, width=width)


def picture_address(picture: "Tensor | bytes", width: int = 0) -> str:
    """A picture as an address that holds the picture itself, enlarged by a whole factor to at most `width` pixels."""
    from srs_core.images import to_png

    data = picture if isinstance(picture, bytes) else to_png(picture)
    with Image.open(io.BytesIO(data)) as image:
        factor = width // max(image.size)
        if factor > 1:
            buffer = io.BytesIO()
            image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST).save(buffer, "PNG")
            data = buffer.getvalue()
    return "data:image/png;base64," + base64.b64encode(data).decode()


def plain_text(name: str) -> str:
    """A name from outside, shortened, that Markdown shows as it is."""
    return re.sub(r"([^\w\s.,])", r"\\\1", name[:80]).replace("_", "\\_")


def metrics(facts: Sequence[Fact], width: int = 150) -> None:
    """Numbers in a row that wraps: label, value, and the symbol in the help text."""
    with st.container(horizontal=True, gap="small"):
        for fact in facts:
            st.metric(fact.label, fact.value, help=fact.help, width=width)
