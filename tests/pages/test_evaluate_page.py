"""The Evaluate page shows kept, uploaded and freshly made results, and hands a picture over to Certify."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from srs_core.data import gallery
from srs_core.evaluate.rows import Row
from srs_core.evaluate.table import Table, sidecar_path

USUAL = b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.412\t1\t0:00:01.2\n20\t7\t-1\t0.0\t0\t0:00:01.1\n"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder with results of two settings on five gallery pictures."""
    folder = tmp_path / "results"
    for name, method, steps, factor in (("MDEQ-30A", "rs", 30, 1.0), ("SRS-MDEQ-3A", "srs", 3, 0.8)):
        settings = {"model": "cifar10-small-0.25", "sigma": 0.25, "method": method, "steps": steps}
        identity = {**settings, "data": "CIFAR-10 gallery"}
        with Table(folder / f"results-{name}.tsv", name, identity, {}) as table:
            for position, sample in zip(range(5), gallery(), strict=False):
                table.append(_row(sample.index, sample.label, name, factor * 0.1 * position))
    return folder


def _row(index: int, label: int, setting: str, radius: float) -> Row:
    serialized = setting.startswith("SRS")
    return Row(
        idx=index,
        label=label,
        predict=label if radius else -1,
        radius=radius,
        correct=int(radius > 0),
        time="0:00:02.000000" if serialized else "0:00:06.000000",
        abstain=int(radius == 0),
        top_class=label,
        p_a=0.5 + radius,
        p_m=0.05 if serialized else None,
        votes=900,
        n=1000,
        audited=180 if serialized else None,
        mismatched=2 if serialized else None,
        audited_others=20 if serialized else None,
        recovered=1 if serialized else None,
        evaluations=8000 if serialized else 24000,
        true_mismatch=0.01 if serialized else None,
        gap=0.04 if serialized else None,
        equal_cost_n=300 if serialized else None,
        equal_cost_radius=0.9 * radius if serialized else None,
        seed=1,
        setting=setting,
        model="cifar10-small-0.25",
        sigma=0.25,
    )


@pytest.fixture
def draw(run_page: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Draw the page with this folder of results (default: an empty one)."""

    def run(folder: Path | None = None, **query: Any) -> Any:
        monkeypatch.setenv("SRS_RESULTS", str(folder or tmp_path / "nothing"))
        test = run_page("evaluate", **query)
        assert not test.exception
        return test

    return run


def curves(test):
    return json.loads(test.get("plotly_chart")[0].proto.spec)["data"]


def test_without_results_the_page_says_how_to_make_some(draw):
    test = draw()
    assert test.session_state["evaluate_source"] == "files"
    test.button_group(key="evaluate_source").set_value("kept").run()
    assert "python -m srs_core evaluate" in test.info[0].value


def test_kept_results_are_summed_up_beside_the_papers_curves(draw, kept):
    test = draw(kept)
    table = test.dataframe[0].value
    assert list(table["setting"]) == ["MDEQ-30A", "SRS-MDEQ-3A"]
    # Four of five pictures are certified; one abstains and stays in the denominator.
    assert list(table["abstained %"]) == ["20.0", "20.0"]
    assert list(table["r=0 %"]) == ["80.0", "80.0"]
    assert list(table["r=0.25 %"]) == ["40.0", "20.0"]
    assert table["RRD"].iloc[1] == "0.200"
    assert table["fewer evaluations"].iloc[1] == "3.0x"
    names = [trace["name"] for trace in curves(test)]
    assert names[:2] == ["MDEQ-30A", "SRS-MDEQ-3A"]
    assert "paper: SRS-MDEQ-3A" in names
    assert "ACR" in " ".join(caption.value for caption in test.caption)


def test_the_papers_curves_can_be_put_away_and_the_sampling_error_shown(draw, kept):
    test = draw(kept)
    test.button_group(key="evaluate_paper").set_value("none").run()
    assert [trace["name"] for trace in curves(test)] == ["MDEQ-30A", "SRS-MDEQ-3A"]
    test.toggle(key="evaluate_intervals").set_value(True).run()
    assert len(curves(test)) == 4


def test_each_picture_has_its_row_and_its_thumbnail(draw, kept):
    test = draw(kept)
    pictures = test.dataframe[1].value
    assert list(pictures["idx"]) == [0, 333, 666, 999, 1332]
    assert pictures["picture"].str.startswith("data:image/png;base64,").all()
    test.selectbox(key="evaluate_setting").set_value("SRS-MDEQ-3A").run()
    assert test.dataframe[1].value["radius"].max() == pytest.approx(0.32)


def test_a_usual_file_from_elsewhere_is_shown_and_junk_is_refused(draw):
    test = draw()
    test.file_uploader(key="evaluate_files").upload("theirs.tsv", USUAL, "text/plain").run()
    assert not test.exception
    table = test.dataframe[0].value
    assert (table["setting"].iloc[0], table["r=0.25 %"].iloc[0]) == ("theirs", "50.0")
    test.file_uploader(key="evaluate_files").upload("junk.tsv", b"a\tb\n1\t2\n", "text/plain").run()
    assert "lacks the columns idx, label" in test.error[0].value


HEADER, RIGHT, ABSTAINED = USUAL.splitlines(keepends=True)


@pytest.mark.parametrize(
    "content",
    [
        HEADER.replace(b"radius", b"radius\tradius_base") + b"0\t3\t3\t0.4\tx\t1\t1.5\n",
        HEADER + b"0\t3\t3\t5e-324\t1\t1.5\n1\t3\t3\t1e15\t1\t0\n",
        HEADER + b"7000\t3\t3\t0.4\t1\t1.5\n",
        HEADER + ABSTAINED,
    ],
    ids=["columns like ours", "extreme numbers", "no common picture", "abstentions alone"],
)
def test_odd_files_are_shown_beside_a_plain_run(draw, content):
    settings = {"model": "m", "sigma": 0.25, "method": "rs"}
    test = draw()
    for name, rows, steps in (("plain.tsv", USUAL, 30), ("odd.tsv", content, "none")):
        sidecar = json.dumps({"settings": {**settings, "steps": steps}}).encode()
        test.file_uploader(key="evaluate_files").upload(name, rows, "text/plain")
        test.file_uploader(key="evaluate_files").upload(f"{name}.json", sidecar, "application/json")
    test.run()
    assert not test.exception
    assert not test.error
    assert list(test.dataframe[0].value["setting"]) == ["plain", "odd"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEADER + b"0\t3\t3\t1e30\t1\t0:00:01\n", "radius must hold a number"),
        (HEADER + b"0\t3\t3\t0.4\t1\tsoon\n", "time must be"),
        (USUAL + RIGHT, "idx 0 stands in more than one row"),
    ],
)
def test_a_damaged_file_is_named_and_the_others_are_shown(draw, content, words):
    test = draw()
    test.file_uploader(key="evaluate_files").upload("theirs.tsv", USUAL, "text/plain")
    test.file_uploader(key="evaluate_files").upload("bad.tsv", content, "text/plain").run()
    assert not test.exception
    assert words in test.error[0].value
    assert list(test.dataframe[0].value["setting"]) == ["theirs"]


@pytest.mark.slow
def test_a_small_evaluation_runs_in_the_background(draw):
    test = draw()
    test.button_group(key="evaluate_source").set_value("run").run()
    test.selectbox(key="evaluate_model").set_value("cifar10-small-0.25")
    test.slider(key="evaluate_pictures").set_value(2)
    test.select_slider(key="evaluate_votes").set_value(100)
    test.button(key="evaluate_go").click().run()
    deadline = time.monotonic() + 240
    while not test.dataframe and time.monotonic() < deadline:
        time.sleep(1)
        test.run()
        assert not test.exception
        assert not test.error
    assert list(test.dataframe[0].value["setting"]) == ["MDEQ-30A", "SRS-MDEQ-1A", "SRS-MDEQ-3A"]
    assert list(test.dataframe[1].value["idx"]) == [0, 333]


def test_a_click_on_a_row_opens_the_picture_on_the_certify_page(site, kept):
    page = site.open("/evaluate")
    page.get_by_role("radio", name="My result files").click()
    path = kept / "results-SRS-MDEQ-3A.tsv"
    page.locator('[data-testid="stFileUploader"] input[type="file"]').set_input_files([path, sidecar_path(path)])
    expect(page.get_by_role("heading", name="Certified accuracy")).to_be_visible()
    site.settle(page)
    table = page.get_by_test_id("stDataFrame").last
    table.scroll_into_view_if_needed()
    # The second row's left edge: below the header, in the column that chooses rows.
    table.locator(".dvn-scroller").click(position={"x": 16, "y": 35 + 44 + 22})
    expect(page.get_by_role("heading", name="Certify a picture")).to_be_visible()
    expect(page.get_by_text("test picture 333.png")).to_be_visible()
