"""The Home page, without and with a browser."""

import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_home_says_what_this_is_and_where_to_go(run_page):
    page = run_page("home")
    assert not page.exception
    assert "How far" in page.title[0].value
    assert [button.label for button in page.button] == ["Certify a sample now"]
    assert len(page.get("page_link")) == 9


def test_the_shelf_shows_what_a_card_says(run_page, monkeypatch, tmp_path):
    name = "cifar10-small-0.25"
    shutil.copy(ROOT / "checkpoints" / f"{name}.safetensors", tmp_path)
    card = json.loads((ROOT / "checkpoints" / f"{name}.json").read_text())
    card["measured"] = {
        "noisy_accuracy": 0.6543,
        "pictures": 10_000,
        "cold": [{"steps": 30, "residual": 0.00123}],
        "warm": [{"steps": 3, "disagreement": 0.0456}],
    }
    (tmp_path / f"{name}.json").write_text(json.dumps(card))
    monkeypatch.setenv("SRS_CHECKPOINTS", str(tmp_path))
    page = run_page("home")
    shown = {metric.label: metric.value for metric in page.metric}
    assert shown["Right under noise"] == "65.4%"
    assert shown["Distance to fixed point"] == "0.0012"
    assert shown["Quick answers that differ"] == "4.6%"
    assert shown["Noise in training"] == f"{card['sigma']:g}"


def test_an_empty_shelf_says_how_to_fill_it(run_page, monkeypatch, tmp_path):
    monkeypatch.setenv("SRS_CHECKPOINTS", str(tmp_path))
    page = run_page("home")
    assert not page.exception
    assert "srs_core train" in page.info[0].value


@pytest.mark.parametrize("dark", [False, True])
def test_home_in_a_browser(site, dark):
    page = site.open("/", dark=dark)
    assert page.get_by_role("heading", level=1).is_visible()
