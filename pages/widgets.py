"""What several pages draw or need: the model, pictures made visible, settings in the address bar."""

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st
from PIL import Image

from srs_core.words import Fact

if TYPE_CHECKING:
    from torch import Tensor

    from srs_core.mdeq.cards import Card
    from srs_core.mdeq.inference import InferenceMDEQ

__all__ = [
    "cached_model",
    "device_words",
    "load_address",
    "metrics",
    "model_cards",
    "picture_address",
    "plain_text",
    "require_frame",
    "show_picture",
    "store_address",
]


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
    """The cards of the models on the shelf, trained ones before the prototype."""
    from srs_core import available_models

    return sorted(available_models(), key=lambda card: (card.name.startswith("prototype"), card.name))


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


def load_address(page: str, readers: Mapping[str, Callable[[str], Any]]) -> list[str]:
    """Take a page's settings from the address bar into its widgets; returns a sentence for each value that is no good.

    The widgets have the keys "page_name". What this page wrote itself is not read back, so that a widget which the
    visitor has just changed wins over the address of a moment ago.
    """
    given = {name: st.query_params[name] for name in readers if name in st.query_params}
    if not given or given == st.session_state.get(f"{page}__address"):
        return []
    complaints = []
    for name, text in given.items():
        try:
            st.session_state[f"{page}_{name}"] = readers[name](text)
        except ValueError:
            complaints.append(
                f"The link says {name} = {text[:40]!r}, which cannot be used; the default is taken instead."
            )
    return complaints


def store_address(page: str, values: Mapping[str, Any]) -> None:
    """Write a page's settings into the address bar, so that the link shows the same again."""
    texts = {name: str(value) for name, value in values.items() if value is not None}
    st.session_state[f"{page}__address"] = texts
    if st.query_params.to_dict() != texts:
        st.query_params.from_dict(texts)
