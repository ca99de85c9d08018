"""Result files come back as they are, and as tables and pages that others can read."""

import io
import re

import pandas as pd
import pytest

from srs_core.evaluate.html_report import html_report
from srs_core.evaluate.results import find_base, labels_of, parse_results, read_results, shipped_results
from srs_core.evaluate.run import evaluate, result_paths
from srs_core.evaluate.summary_table import csv_table, latex_table, markdown_table, summarise, text_table
from srs_core.evaluate.table import ResultError

USUAL = b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.412\t1\t0:00:01.2\n20\t7\t-1\t0.0\t0\t0:00:01.1\n"


@pytest.fixture(scope="module")
def results(make_evaluation, tmp_path_factory):
    """Real results of three settings."""
    evaluation = make_evaluation({"method": "rs"}, {"method": "rs", "steps": 2}, {"steps": 2})
    paths = result_paths(evaluation, tmp_path_factory.mktemp("results") / "results.tsv")
    evaluate(evaluation, paths)
    return [read_results(path) for path in paths.values()]


def test_a_file_comes_back_with_its_name_its_model_and_its_settings(results):
    plain, short, serialized = results
    assert [each.name for each in results] == ["MDEQ-8A", "MDEQ-2A", "SRS-MDEQ-2A"]
    assert {(each.model, each.sigma) for each in results} == {("plane", 0.06)}
    assert len(plain.frame) == 5
    assert (plain.plain_steps, short.plain_steps, serialized.plain_steps) == (8, 2, 0)
    assert serialized.settings["n"] == 64


def test_everything_is_compared_with_plain_smoothing_of_the_most_steps(results):
    plain, short, serialized = results
    assert find_base(serialized, results) is plain
    assert find_base(short, results) is plain
    assert find_base(plain, results) is None
    assert find_base(serialized, [serialized]) is None


def test_files_of_the_usual_format_are_read_too():
    found = parse_results(USUAL, "theirs")
    assert (found.name, found.model, found.sigma, len(found.frame)) == ("theirs", "", None, 2)


def test_a_row_that_is_being_written_is_left_out():
    assert len(parse_results(USUAL + b"40\t3\t3\t0.", "theirs").frame) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe\n", "cannot be read|lacks the columns"),
        (b"idx\tlabel\tpredict\n0\t1\t1\n", "lacks the columns radius, correct, time"),
        (USUAL.splitlines(keepends=True)[0], "no rows"),
        (USUAL + b"40\tcat\t3\t0.1\t1\t0:00:01\n", "is damaged"),
        (USUAL + b"40\t3\n", "is damaged"),
    ],
)
def test_what_is_no_result_file_is_refused_in_a_sentence(content, words):
    with pytest.raises(ResultError, match=words):
        parse_results(content, "file.tsv")


def test_kept_results_are_found_and_junk_among_them_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("SRS_RESULTS", str(tmp_path))
    assert shipped_results() == []
    (tmp_path / "good.tsv").write_bytes(USUAL)
    (tmp_path / "junk.tsv").write_bytes(b"junk")
    assert [each.name for each in shipped_results()] == ["good"]


def test_labels_tell_files_apart(results):
    assert list(labels_of([results[0], results[0]])) == ["MDEQ-8A", "MDEQ-8A (2)"]
    other = parse_results(USUAL, "theirs")
    assert list(labels_of([results[0], other])) == ["MDEQ-8A · plane", "theirs"]


def test_the_csv_table_holds_the_records_exactly(results):
    table = summarise(results)
    back = pd.read_csv(io.StringIO(csv_table(table))).to_dict("records")
    for record, expected in zip(back, table.records(), strict=True):
        for name, value in expected.items():
            assert (pd.isna(record[name]) and value is None) or record[name] == value
    assert table.records()[2]["mean_rrd"] is not None
    assert table.records()[0]["mean_rrd"] is None


def test_text_and_markdown_have_a_line_for_each_file_and_columns_in_line(results):
    table = summarise(results, radii=(0.0, 0.05))
    text = text_table(table).splitlines()
    assert len(text) == 2 + 3
    assert text[0].split()[0] == "setting"
    assert {len(line) for line in text[:2]} == {len(text[1])}
    markdown = markdown_table(table).splitlines()
    assert len({line.count("|") for line in markdown}) == 1
    assert markdown[0].startswith("| setting | sigma | pictures |")


def test_latex_is_escaped_and_every_line_has_all_columns(results):
    latex = latex_table(summarise(results)).splitlines()
    columns = re.fullmatch(r"\\begin\{tabular\}\{(l r*|lr*)\}", latex[0]).group(1)
    rows = [line for line in latex if line.endswith(r"\\")]
    assert len(rows) == 1 + 3
    assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {len(columns)}
    assert not re.search(r"(?<!\\)[%_]", "".join(rows))


def test_another_baseline_can_be_named_and_an_unknown_one_is_refused(results):
    against_short = summarise(results, baseline="MDEQ-2A")
    assert against_short.summaries[1].rrd is None
    assert against_short.summaries[0].rrd is not None
    with pytest.raises(ValueError, match="no result named 'MDEQ-1A'"):
        summarise(results, baseline="MDEQ-1A")


def test_the_html_report_is_complete_in_itself(results):
    page = html_report(summarise(results))
    assert page.count("<h2>") >= 5
    assert page.count("Plotly.newPlot(") >= 5
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", page)
    assert "SRS-MDEQ-2A" in page


def test_names_in_the_html_report_are_text(tmp_path):
    (tmp_path / "a.tsv").write_bytes(USUAL)
    results = parse_results(USUAL, "<script>alert(1)</script>")
    table = html_report(summarise([results]))
    assert "<td><script>" not in table
    assert "<td>&lt;script&gt;" in table
