"""The History page's logic, without a browser."""

import io

import pytest
from PIL import Image

from srs_core.history import History


@pytest.fixture
def kept(run_page, make_certificate):  # noqa: ARG001  (it names the history's file)
    """Two runs in the history of this test."""
    buffer = io.BytesIO()
    Image.new("RGB", (32, 32), "teal").save(buffer, "PNG")
    history = History()
    details = {"classes": list("abcdefghij"), "residuals": {}, "measured": None}
    history.add([make_certificate(class_name="dog", model="other", radius=0.9)], buffer.getvalue(), "dog.png", details)
    history.add([make_certificate(method="rs"), make_certificate()], buffer.getvalue(), "cat.png", details)
    return history


def button(page, label):
    return next(b for b in page.button if b.label == label)


def test_an_empty_history_says_where_certificates_come_from(run_page):
    page = run_page("history")
    assert not page.exception
    assert "No certificate yet" in page.info[0].value


@pytest.mark.usefixtures("kept")
def test_all_certificates_are_listed_and_filters_narrow_them(run_page):
    page = run_page("history")
    assert not page.exception
    assert list(page.dataframe[0].value["Picture"]) == ["cat.png", "cat.png", "dog.png"]
    page.text_input(key="history_words").set_value("dog").run()
    assert list(page.dataframe[0].value["Picture"]) == ["dog.png"]
    page.text_input(key="history_words").set_value("").run()
    page.selectbox(key="history_method").set_value("rs").run()
    assert list(page.dataframe[0].value["Method"]) == ["Plain smoothing"]
    page.number_input(key="history_radius").set_value(5.0).run()
    assert "No certificate fits." in page.info[0].value


@pytest.mark.usefixtures("kept")
def test_radii_are_rounded_down_in_the_table(run_page):
    assert list(run_page("history").dataframe[0].value["Radius"]) == ["0.340", "0.311", "0.900"]


@pytest.mark.usefixtures("kept")
def test_nothing_can_be_opened_or_deleted_without_a_choice(run_page):
    page = run_page("history")
    assert button(page, "Open again").disabled
    assert button(page, "Delete …").disabled


def test_a_broken_history_is_a_sentence(run_page, monkeypatch, tmp_path):
    broken = tmp_path / "broken.sqlite"
    broken.write_text("this is not a database " * 100)
    monkeypatch.setenv("SRS_HISTORY", str(broken))
    page = run_page("history")
    assert not page.exception
    assert "broken.sqlite" in page.error[0].value
