"""The report is one document that holds everything and asks for nothing."""

import io
import re

import pytest
from PIL import Image

from srs_core.history import History
from srs_core.report import html_report
from srs_core.result import Result, certificate_table
from srs_core.smoothing.compare import EqualCost, Measured
from srs_core.smoothing.snapshot import ResidualSummary


@pytest.fixture
def result(make_certificate):
    buffer = io.BytesIO()
    Image.new("RGB", (32, 32), "teal").save(buffer, "PNG")
    return Result(
        picture=buffer.getvalue(),
        picture_name="<b>cat & dog</b>.png",
        certificates=(make_certificate(method="rs"), make_certificate()),
        classes=("airplane", "automobile", "</script>", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        residuals={
            "rs": ResidualSummary((0.5, 0.05), (0.6, 0.1), (0.9, 0.2)),
            "srs": ResidualSummary((0.1,), (0.2,), (0.3,)),
        },
        measured=Measured(0.011, 0.041, 0.086, 3.33, 5.0, EqualCost(120, 0.29, False)),
    )


def test_the_report_tells_everything(result):
    text = html_report(result)
    for words in ("0.340", "0.311", "serialized smoothing wins", "Wrong votes, at most", "&quot;model_hash&quot;"):
        assert words in text
    assert text.count("data-figure>") == 4


def test_names_cannot_become_markup(result):
    text = html_report(result)
    assert "<b>cat" not in text
    body = text[: text.index("/**\n* plotly.js")]
    assert body.count("</script>") == 4


def test_the_report_has_no_address_to_ask(result):
    text = html_report(result)
    assert "default-src 'none'" in text
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?(?:https?:)?//", text)


def test_one_method_alone_makes_a_report_too(result, make_certificate):
    alone = Result(result.picture, "x.png", (make_certificate(),), result.classes, {"srs": result.residuals["srs"]})
    assert "Side by side" not in html_report(alone)


def test_a_result_survives_the_history(result, tmp_path):
    history = History(tmp_path / "history.sqlite")
    run = result.save(history)
    again = Result.from_run(history.get(run))
    assert again.run == run
    assert again.certificates == result.certificates
    assert again.measured == result.measured
    assert again.residuals == result.residuals
    assert html_report(again) == html_report(result)


def test_the_table_has_one_row_for_each_certificate_and_plain_cells(result):
    table = certificate_table([("a.png", certificate) for certificate in result.certificates])
    assert list(table["method"]) == ["rs", "srs"]
    assert list(table["audit_mismatched"])[1] == 1
    assert table["votes"].str.split().map(len).eq(10).all()
    assert not table.map(lambda cell: isinstance(cell, dict | list | tuple)).any().any()
