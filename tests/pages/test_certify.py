"""The Certify page's logic, without a browser."""

import io
import json
from collections.abc import Iterator

import pytest
from PIL import Image

from srs_core.history import History
from srs_core.jobs import TooManyJobsError
from srs_core.result import Result
from srs_core.smoothing.snapshot import ResidualSummary

QUICK = {
    "n": 40,
    "audit": 20,
    "steps": 1,
    "reference_steps": 4,
    "n0": 8,
    "alpha": 0.1,
    "batch_size": 8,
    "picture": 333,
    "seed": 3,
    "sigma": 0.25,
}


def png(colour: str = "teal") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(buffer, "PNG")
    return buffer.getvalue()


def texts(page) -> str:
    parts = (page.markdown, page.info, page.warning, page.error, page.success, page.caption, page.subheader)
    return "\n".join(element.value for elements in parts for element in elements)


def button(page, label):
    return next(b for b in page.button if b.label == label)


@pytest.fixture
def registry(run_page):  # noqa: ARG001  (it makes the pages importable)
    """The jobs that the pages of this process share."""
    from pages.job_frame import jobs

    return jobs()


def finish(page, registry):
    job = registry.wait(page.query_params["job"], 120)
    assert job is not None
    assert job.state.over
    return page.run(), job


def test_the_link_fills_the_widgets_and_the_widgets_fill_the_link(run_page):
    page = run_page("certify", **QUICK, solver="broyden", run="plain", start="mean")
    assert not page.exception
    assert page.number_input(key="certify_n").value == 40
    assert page.selectbox(key="certify_solver").value == "broyden"
    assert page.session_state["certify_run"] == "plain"
    page.number_input(key="certify_audit").set_value(30)
    page.run()
    query = dict(page.query_params)
    assert query["audit"] == "30"
    assert query["seed"] == "3"
    assert query["picture"] == "333"
    again = run_page("certify", **query)
    assert dict(again.query_params) == query


def test_a_bad_value_in_a_link_is_named_and_the_default_taken(run_page):
    page = run_page("certify", **{**QUICK, "n": "many", "alpha": "2", "solver": "newton"})
    assert not page.exception
    words = texts(page)
    for name in ("n = 'many'", "alpha = '2'", "solver = 'newton'"):
        assert name in words
    assert page.number_input(key="certify_n").value >= 100
    assert page.selectbox(key="certify_solver").value == "anderson"


def test_impossible_settings_are_explained_and_cannot_be_started(run_page):
    page = run_page("certify", **{**QUICK, "audit": 50})
    assert "audit is 50; it must be from 1 to n = 40" in texts(page)
    assert button(page, "Certify").disabled
    page = run_page("certify", **{**QUICK, "n": 10, "audit": 10, "alpha": 1e-6, "batch_size": 5})
    assert "no certificate is possible" in texts(page)
    assert button(page, "Certify").disabled


def test_the_forecast_names_time_and_largest_radius(run_page):
    words = texts(run_page("certify", **QUICK))
    assert "The largest radius these settings can certify: **plain 0.39" in words
    assert "processor" in words or "graphics" in words


def test_a_run_ends_with_two_certificates_that_are_kept(run_page, registry):
    page = run_page("certify", **QUICK)
    button(page, "Certify").click().run()
    page, job = finish(page, registry)
    assert not page.exception
    assert job.error is None
    labels = [metric.label for metric in page.metric]
    assert labels.count("Certified radius") == 2
    assert "Wrong votes, at most" in labels
    assert "Radius given up" in labels or "Faster by" in labels
    assert "At equal cost" in texts(page)
    charts = [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]
    assert len(charts) == 4
    kept = History().rows()
    assert [row.certificate.method for row in kept] == ["rs", "srs"]
    assert kept[1].certificate.n == 40
    assert kept[1].certificate.seed == 3

    again = run_page("certify", kept=kept[0].run)
    assert [metric.label for metric in again.metric] == labels

    # The run itself and the kept result are the same; together they would be drawn twice.
    both = run_page("certify", kept=kept[0].run, job=job.id)
    assert not both.exception
    assert [metric.label for metric in both.metric] == labels
    button(both, "Close this result").click().run()
    assert not both.exception
    assert "kept" not in both.query_params


def test_quick_votes_may_be_coarse_where_the_processor_can(run_page, registry):
    from srs_core import load_model

    page = run_page("certify", **QUICK, run="serialized", proxy_precision="bfloat16")
    try:
        load_model("cifar10-small-0.25").in_precision("bfloat16")
    except ValueError:
        assert "multiplies bfloat16" in texts(page)
        assert button(page, "Certify").disabled
        page.selectbox(key="certify_proxy_precision").set_value("float32").run()
        assert not button(page, "Certify").disabled
        return
    button(page, "Certify").click().run()
    page, job = finish(page, registry)
    assert job.error is None
    assert [row.certificate.proxy_precision for row in History().rows()] == ["bfloat16"]


@pytest.mark.parametrize(("mode", "method"), [("plain", "rs"), ("serialized", "srs")])
def test_one_method_alone(run_page, registry, mode, method):
    page = run_page("certify", **QUICK, run=mode)
    button(page, "Certify").click().run()
    page, _ = finish(page, registry)
    assert not page.exception
    assert [row.certificate.method for row in History().rows()] == [method]
    assert "At equal cost" not in texts(page)


def test_the_same_link_gives_the_same_certificate(run_page, registry):
    for _ in range(2):
        page = run_page("certify", **QUICK, run="serialized")
        button(page, "Certify").click().run()
        finish(page, registry)
    first, second = (row.certificate for row in History().rows())
    assert (first.votes, first.radius, first.counts) == (second.votes, second.radius, second.counts)


def test_two_visitors_wait_for_each_other_without_seeing_each_other(run_page, registry):
    ann = run_page("certify", **{**QUICK, "n": 100_000, "picture": 0})
    bob = run_page("certify", **QUICK)
    button(ann, "Certify").click().run()
    button(bob, "Certify").click().run()
    try:
        assert "waits its turn: 1 run is ahead of it" in texts(bob)
        assert "frog" not in texts(ann.run())
        assert ann.number_input(key="certify_n").value == 100_000
        button(ann, "Cancel").click().run()
        assert registry.wait(ann.query_params["job"], 120).state == "cancelled"
        assert "was cancelled" in texts(ann.run())
    finally:
        registry.cancel(ann.query_params["job"])
    bob, job = finish(bob, registry)
    assert job.state == "done"
    assert "frog" in "".join(element.value for element in bob.markdown)
    assert [row.picture_name for row in History().rows()] == ["frog (CIFAR-10 test 333)"] * 2


def test_a_failed_run_says_what_happened_and_keeps_the_settings(run_page, registry):
    from pages.certify_run import About

    def broken() -> Iterator[int]:
        raise ValueError("The weights melted.")
        yield 0

    job = registry.submit(broken, about=About("cat.png", ("cat",)))
    registry.wait(job, 60)
    page = run_page("certify", **QUICK, job=job)
    assert not page.exception
    assert "The weights melted." in texts(page)
    assert page.number_input(key="certify_n").value == 40


def test_a_full_queue_is_a_sentence_and_keeps_the_settings(run_page, registry, monkeypatch):
    def full(*_args, **_options):
        raise TooManyJobsError("The queue is full; try again in a minute.")

    monkeypatch.setattr(registry, "submit", full)
    page = run_page("certify", **QUICK)
    button(page, "Certify").click().run()
    assert not page.exception
    assert "The queue is full" in page.warning[0].value
    assert page.number_input(key="certify_n").value == 40
    assert "job" not in page.query_params


def test_there_is_an_end_to_uploads_and_each_can_be_removed(run_page):
    page = run_page("certify", **QUICK)
    page.session_state["certify_source"] = "own"
    page.session_state["certify_own"] = {f"{number}.png": png() for number in range(12)}
    page.run()
    page.get("file_uploader")[0].upload("thirteenth.png", png(), "image/png")
    page.run()
    assert "12 pictures at a time are enough" in texts(page)
    page.button(key="certify_remove_3.png").click().run()
    assert not page.exception
    assert "3.png" not in page.session_state["certify_own"]
    assert len(page.session_state["certify_own"]) == 11


def test_a_history_that_cannot_be_read_is_a_sentence(run_page, monkeypatch, tmp_path):
    broken = tmp_path / "broken.sqlite"
    broken.write_text("this is not a database " * 100)
    monkeypatch.setenv("SRS_HISTORY", str(broken))
    page = run_page("certify", **QUICK, kept="any")
    assert not page.exception
    assert "broken.sqlite" in page.error[0].value
    assert not button(page, "Certify").disabled


def test_a_forgotten_run_is_explained(run_page):
    assert "no longer remembered" in texts(run_page("certify", **QUICK, job="nobody"))
    assert "not in the history" in texts(run_page("certify", **QUICK, kept="nobody"))


def test_uploads_good_and_bad(run_page, registry):
    page = run_page("certify", **QUICK)
    page.session_state["certify_source"] = "own"
    page.run()
    assert button(page, "Certify").disabled
    page.get("file_uploader")[0].upload("good_one.png", png(), "image/png")
    page.run()
    page.get("file_uploader")[0].upload("bad.png", b"%PDF-1.7 not a picture", "image/png")
    page.run()
    assert not page.exception
    words = texts(page)
    assert "bad.png" in words
    assert "a PDF document" in words
    assert list(page.session_state["certify_own"]) == ["good_one.png"]
    assert not button(page, "Certify").disabled

    page.get("file_uploader")[0].upload("second.png", png("gold"), "image/png")
    page.run()
    button(page, "Certify").click().run()
    ids = page.query_params["job"].split(",")
    assert len(ids) == 2
    for job in ids:
        assert registry.wait(job, 120).state.over
    page.run()
    assert not page.exception
    assert {row.picture_name for row in History().rows()} == {"good_one.png", "second.png"}


def test_the_settings_of_a_kept_run_can_be_read_back(run_page, make_certificate):
    from pages.certify_settings import READERS, query_of

    both = query_of([make_certificate(method="rs"), make_certificate(planned_n=1200)])
    assert {name: READERS[name](text) for name, text in both.items()}["n"] == 1200
    assert (both["run"], both["audit"], both["model"]) == ("both", "100", "cifar10-small-0.25")
    plain = query_of([make_certificate(method="rs")])
    assert plain["run"] == "plain"
    assert "audit" not in plain
    # A certificate from before there was a choice does not name the precision.
    assert "proxy_precision" not in query_of([make_certificate(proxy_precision=None)])
    page = run_page("certify", **{**both, "model": "cifar10-small-0.25"})
    assert page.number_input(key="certify_n").value == 1200


def test_a_kept_result_with_one_method_opens(run_page, make_certificate):
    result = Result(
        picture=png(),
        picture_name="[x](y) *cat*",
        certificates=(make_certificate(abstained=True, radius=0.0),),
        classes=tuple("abcdefghij"),
        residuals={"srs": ResidualSummary((0.1,), (0.2,), (0.3,))},
    )
    page = run_page("certify", **QUICK, kept=result.save(History()))
    assert not page.exception
    assert "No promise can be made" in texts(page)
