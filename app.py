"""The dashboard's front door: `streamlit run app.py`."""

import threading
from pathlib import Path

# Imported here, once and whole: a thread that imports torch while another draws must not meet them half-imported.
import numpy  # noqa: F401
import pandas  # noqa: F401
import PIL.Image  # noqa: F401
import streamlit as st

PAGES = (
    ("home", "Home", ":material/home:"),
    ("certify", "Certify", ":material/verified_user:"),
    ("warm_start", "Warm start", ":material/local_fire_department:"),
    ("correlation", "Correlation", ":material/fact_check:"),
    ("plane", "Plane", ":material/scatter_plot:"),
    ("paper", "Paper", ":material/menu_book:"),
    ("speed", "Speed", ":material/speed:"),
    ("attack", "Attack", ":material/crisis_alert:"),
    ("evaluate", "Evaluate", ":material/monitoring:"),
    ("history", "History", ":material/history:"),
)


@st.cache_resource(show_spinner=False)
def warm_torch() -> threading.Thread:
    """Import torch in the background while the visitor reads, so that the first run starts at once."""
    # Through the engine, which tells torch how to wait.
    thread = threading.Thread(target=__import__, args=("srs_core.device",), name="warm-torch", daemon=True)
    thread.start()
    return thread


def all_pages() -> list[st.Page]:
    """The pages in the order of the menu."""
    here = Path(__file__).parent / "pages"
    return [st.Page(here / f"{name}.py", title=title, icon=icon, default=name == "home") for name, title, icon in PAGES]


def main() -> None:
    """Draw the frame and the page that the visitor chose."""
    st.set_page_config(page_title="Certified equilibrium", page_icon="🛡️", layout="wide")
    warm_torch()
    st.session_state["framed"] = True
    st.navigation(all_pages()).run()


if __name__ == "__main__":
    main()
