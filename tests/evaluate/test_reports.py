"""Result files come back as they are, and as tables and pages that others can read."""

import io
import json
import re

import pandas as pd
import pytest

from srs_core.evaluate.html_report import html_report
from srs_core.evaluate.results import find_base, labels_of, parse_results, read_results, shipped_results
from srs_core.evaluate.run import evaluate, result_paths
from srs_core.evaluate.summary_table import csv_table, latex_table, markdown_table, summarise, text_table
from srs_core.evaluate.table import ResultError
from srs_core.figures.evaluate import figures_of

USUAL = b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.412\t1\t0:00:01.2\n20\t7\t-1\t0.0\t0\t0:00:01.1\n"
HEADER = USUAL.splitlines(keepends=True)[0]
FOREIGN = {"idx": "20", "label": "7", "predict": "7", "radius": "0.5", "correct": "1", "time": "0:00:01"}
ODD = r"a\b{c}^~&%$#_|<d>"


def made(name, *radii, **settings):
    """Results of pictures 0, 1, ... that are right with these radii; settings make a sidecar."""
    lines = "".join(f"{i}\t3\t3\t{radius}\t1\t0:00:02\n" for i, radius in enumerate(radii))
    return parse_results(HEADER + lines.encode(), name, json.dumps({"settings": settings}).encode())


def foreign(**cells):
    """A file of one row with some cells changed or added, below the columns' names."""
    row = {**FOREIGN, **cells}
    return "\t".join(row).encode() + b"\n" + "\t".join(row.values()).encode() + b"\n"


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


RUN = {"model": "m", "sigma": 0.5, "n": 400, "alpha": 0.001, "seed": 0, "data_hash": "d"}
PLAIN = {**RUN, "method": "rs", "steps": 30}
SERIAL = {**RUN, "method": "srs", "steps": 3}


@pytest.mark.parametrize("named", [True, False])
def test_each_number_of_samplings_is_compared_with_its_own_plain_run(named):
    """As ablations/samplings.json has them; older sidecars do not name the plain run."""
    files = []
    for n, radius in ((400, 0.5), (10_000, 1.0)):
        against = {"compared_with": f"MDEQ-30A N={n}"} if named else {}
        files.append(made(f"MDEQ-30A N={n}", radius, **{**PLAIN, "n": n}))
        files.append(made(f"SRS-MDEQ-3A N={n}", 0.4, **{**SERIAL, "n": n}, **against))
    plain_few, serial_few, plain_many, serial_many = files
    for order in (files, files[::-1]):
        assert find_base(serial_few, order) is plain_few
        assert find_base(serial_many, order) is plain_many
        assert find_base(plain_few, order) is None
        assert find_base(plain_many, order) is None
    assert [each.rrd for each in summarise(files).summaries] == [None, pytest.approx(0.2), None, pytest.approx(0.6)]


def test_the_file_that_the_sidecar_names_comes_before_one_with_more_steps():
    short, long = made("MDEQ-5A", 0.5, **{**PLAIN, "steps": 5}), made("MDEQ-30A", 0.5, **PLAIN)
    serial = made("SRS-MDEQ-3A", 0.4, **SERIAL, compared_with="MDEQ-5A")
    assert find_base(serial, [long, short, serial]) is short
    assert find_base(serial, [long, serial]) is long


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("other", [{"n": 100}, {"alpha": 0.01}, {"seed": 1}, {"data_hash": "e"}, {"sigma": 0.25}])
def test_a_plain_run_of_other_noise_or_pictures_is_no_base(other, named):
    serial = made("SRS-MDEQ-3A", 0.4, **SERIAL, **({"compared_with": "MDEQ-30A"} if named else {}))
    strange, own = made("MDEQ-30A", 0.5, **{**PLAIN, **other}), made("MDEQ-30A", 0.5, **PLAIN)
    assert find_base(serial, [strange, serial]) is None
    assert find_base(serial, [strange, own, serial]) is own


def test_what_a_sidecar_does_not_tell_speaks_against_nothing():
    told = made("SRS-MDEQ-3A", 0.4, **SERIAL)
    silent = made("MDEQ-30A", 0.5, model="m", sigma=0.5, method="rs", steps=30, n=None)
    assert find_base(told, [silent, told]) is silent


def test_files_of_the_usual_format_are_read_too():
    found = parse_results(USUAL, "theirs")
    assert (found.name, found.model, found.sigma, len(found.frame)) == ("theirs", "", None, 2)


def test_a_row_that_is_being_written_is_left_out():
    assert len(parse_results(USUAL + b"40\t3\t3\t0.", "theirs").frame) == 2
    whole = USUAL + b"40\t3\t3\t0.1\t1\t0:00:0"
    assert list(parse_results(whole, "ours", b"{}").frame["idx"]) == [0, 20]


def test_a_last_row_without_its_line_end_counts_in_a_file_from_elsewhere():
    assert list(parse_results(USUAL.rstrip(b"\n"), "theirs").frame["idx"]) == [0, 20]


def test_a_file_from_elsewhere_may_leave_cells_of_our_columns_empty():
    cells = dict.fromkeys(("p_a", "p_m", "gap", "equal_cost_radius", "sigma", "setting", "model"), "")
    found = parse_results(foreign(predict="-1", **cells), "theirs")
    assert (found.name, found.model, found.sigma, found.data_hash) == ("theirs", "", None, "")
    assert summarise([found]).summaries[0].abstained == 1


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"radius": "nan"}, "radius must hold a number"),
        ({"radius": "inf"}, "radius must hold a number"),
        ({"radius": "1e30"}, "radius must hold a number"),
        ({"radius": "-0.1"}, "radius must be at least 0"),
        ({"correct": "2"}, "correct must be 0 or 1"),
        ({"correct": "0.5"}, "correct must be 0 or 1"),
        ({"idx": "0.5"}, "idx must be a whole number"),
        ({"time": ""}, "time must be h:mm:ss or seconds"),
        ({"time": "soon"}, "time must be h:mm:ss or seconds"),
        ({"time": "inf"}, "time must be h:mm:ss or seconds"),
        ({"time": "-1"}, "time must be h:mm:ss or seconds"),
        ({"time": "99999999999999:00:00"}, "time must be h:mm:ss or seconds"),
        *(
            ({column: value}, f"{column} must hold numbers")
            for column in ("p_a", "p_m", "gap", "true_mismatch", "evaluations", "equal_cost_radius", "sigma")
            for value in ("much", "inf")
        ),
    ],
)
def test_values_that_no_picture_can_have_are_refused_by_the_name_of_their_column(cells, words):
    with pytest.raises(ResultError, match=f"^their file is damaged: {words}"):
        parse_results(foreign(**cells), "their file")


def test_a_picture_that_stands_there_twice_is_refused_by_its_idx():
    with pytest.raises(ResultError, match="damaged: idx 20 stands in more than one row"):
        parse_results(USUAL + USUAL.splitlines(keepends=True)[2], "theirs")


NONSENSE = [None, True, -3, 1e308, 10**400, float("nan"), "", "many", [1], {"a": []}]


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_a_sidecar_full_of_nonsense_harms_neither_table_nor_plots(value):
    said = dict.fromkeys(("model", "sigma", "steps", "n", "alpha", "seed", "data_hash", "compared_with"), value)
    files = [
        made("one", 0.4, method="rs", **said),
        made("two", 0.4, **said),
        made("three", 0.4, **SERIAL),
        made("four", 0.5, **PLAIN),
    ]
    assert [each.rrd for each in summarise(files).summaries[2:]] == [pytest.approx(0.2), None]
    assert "Certified accuracy" in figures_of(files)


def test_a_sidecar_of_the_wrong_kind_is_passed_over_for_what_the_rows_say():
    content = foreign(setting="SRS", model="m", sigma="0.5")
    found = parse_results(content, "file", b'{"settings": {"model": ["x"], "sigma": "loud", "data_hash": 3}}')
    assert (found.name, found.model, found.sigma, found.data_hash) == ("SRS", "m", 0.5, "")
    assert parse_results(content, "file", b"[" * 100_000).settings == {}


@pytest.mark.parametrize(
    "settings", [{"method": "rs"}, {"method": "rs", "steps": "30"}, {"method": ["rs"], "steps": 3}]
)
def test_plain_smoothing_that_does_not_tell_its_steps_is_nobodys_base(settings):
    plain, serial = made("plain", 0.5, **RUN, **settings), made("srs", 0.4, **SERIAL)
    assert plain.plain_steps == 0
    assert find_base(serial, [plain, serial]) is None


@pytest.mark.parametrize(
    "cells",
    [
        {},
        {"radius": "5e-324", "p_a": "5e-324", "gap": "-1e15"},
        {"radius": "1e15", "time": "1e15", "evaluations": "0"},
        {"radius": "0", "radius_base": "0.3", "time_base": "1", "seconds": "x"},
        {"predict": "-1", "correct": "1", "evaluations": "", "equal_cost_radius": "-3"},
        {"setting": '"two\nlines"', "model": "7", "sigma": "-2"},
    ],
)
def test_whatever_is_read_can_be_summed_up_and_drawn(cells):
    files = [parse_results(foreign(**cells), "one"), parse_results(foreign(), "two")]
    for base in files:
        table = summarise(files, baseline=base.name)
        assert [len(form(table).splitlines()) for form in (text_table, markdown_table)] == [4, 4]
        assert latex_table(table).count(r"\\") == 3
        assert len(pd.read_csv(io.StringIO(csv_table(table)))) == 2
        assert "Certified accuracy" in figures_of(table.results)


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


def test_a_named_baseline_is_that_of_the_same_model_noise_and_pictures():
    files = []
    for model, radius in (("small", 0.5), ("large", 0.8)):
        said = {"model": model, "sigma": 0.5, "data_hash": "d"}
        files += [made("MDEQ-5A", radius, **said, method="rs", steps=5), made("SRS-MDEQ-3A", 0.4, **said)]
    files.append(made("SRS-MDEQ-3A", 0.4, model="small", sigma=1.0))
    files.append(made("SRS-MDEQ-3A", 0.4, model="small", sigma=0.5, data_hash="e"))
    for order in (files, files[::-1]):
        table = summarise(order, baseline="MDEQ-5A")
        lost = {id(each.frame): s.rrd for each, s in zip(table.results, table.summaries, strict=True)}
        assert [lost[id(each.frame)] for each in files] == [
            None,
            pytest.approx(0.2),
            None,
            pytest.approx(0.5),
            None,
            None,
        ]


def test_the_plots_have_the_bases_of_the_table(results):
    assert [name for name in figures_of(results) if "against" in name] == ["Radii against MDEQ-8A"]
    page = html_report(summarise(results, baseline="MDEQ-2A"))
    assert "<h2>Radii against MDEQ-2A</h2>" in page
    assert "<h2>Radii against MDEQ-8A</h2>" not in page


@pytest.mark.parametrize("radius", [float("nan"), float("inf"), -1.0, -0.001])
def test_radii_are_finite_and_not_negative(results, radius):
    with pytest.raises(ValueError, match=re.escape(f"radius is {radius}; give finite numbers of at least 0.")):
        summarise(results, radii=(0.25, radius))


def test_a_radius_named_twice_is_one_column_and_close_radii_are_two():
    table = summarise([made("A", 0.25000005, 0.1)], radii=(0.25, 0.2500001, 0.25, 1e-7, 0, 1))
    record = table.records()[0]
    shares = {name: share for name, share in record.items() if name.startswith("certified_at_")}
    assert shares == {
        "certified_at_0.25": 0.5,
        "certified_at_0.2500001": 0.0,
        "certified_at_1e-07": 1.0,
        "certified_at_0": 1.0,
        "certified_at_1": 0.0,
    }
    header, (line,) = table.cells()
    assert header[3:8] == ["r=0.25 %", "r=0.2500001 %", "r=1e-07 %", "r=0 %", "r=1 %"]
    assert line[3:8] == ["50.0", "0.0", "100.0", "100.0", "0.0"]


def test_names_in_latex_are_text():
    latex = latex_table(summarise([made(ODD, 0.1)])).splitlines()[4]
    assert latex.partition(" & ")[0].strip() == (
        r"a\textbackslash{}b\{c\}\textasciicircum{}\textasciitilde{}\&\%\$\#\_\textbar{}\textless{}d\textgreater{}"
    )


def test_a_name_in_latex_is_no_option_of_the_line_break_before_it():
    rows = latex_table(summarise([made("A", 0.1), made("[3cm]", 0.1), made("*", 0.1)])).splitlines()[5:7]
    assert [row.partition(" & ")[0].strip() for row in rows] == ["{[}3cm]", "{*}"]


def test_names_in_markdown_are_text():
    table = markdown_table(summarise([made(ODD, 0.1), made("*loud* `[x](y)`", 0.1)])).splitlines()
    assert table[2].startswith(r"| a\\b\{c\}\^\~\&%\$\#\_\|\<d\> | ")
    assert table[3].startswith(r"| \*loud\* \`\[x\](y)\` | ")
    assert len({len(re.split(r"(?<!\\)\|", line)) for line in table}) == 1


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
