"""A page's settings in the address bar, so that a link shows the same again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

__all__ = ["BOUND", "OneOf", "Within", "load_address", "store_address"]

BOUND: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
"""For a widget that stands in the address bar by its key, and keeps its value when the page is left."""


@dataclass(frozen=True)
class Within:
    """Numbers from `least` to `most`; reads one from a text, or refuses it."""

    least: float
    most: float

    def __call__(self, text: str) -> float:
        """The number that a text stands for; ValueError if it is none of these."""
        value = type(self.least)(text)
        if not self.least <= value <= self.most:
            raise ValueError(text)
        return value


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def __call__(self, text: str) -> str:
        """The text itself; ValueError if it is none of the words."""
        if text not in self.words:
            raise ValueError(text)
        return text


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
