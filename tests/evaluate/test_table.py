"""A result file survives crashes, keeps out other settings and a second writer, and is what usual scripts read."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srs_core.evaluate.rows import COLUMNS
from srs_core.evaluate.table import ResultError, Table, sidecar_path

IDENTITY = {"model": "plane", "n": 1000, "restart_every": None}
HOLD = "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print('held', flush=True); input()"


def fill(path, rows, identity=IDENTITY):
    with Table(path, "SRS-MDEQ-3A", identity, {"started": "now"}) as table:
        for row in rows:
            if row.idx not in table.done:
                table.append(row)
        table.finish()


def test_a_usual_analysis_script_reads_the_file_as_it_is(tmp_path, make_row):
    rows = [make_row(0), make_row(20, predict=-1, radius=0.0, correct=0, abstain=1, p_m=None, gap=None)]
    fill(tmp_path / "results.tsv", rows)
    # What such scripts do: read with a tab, then ask for certified accuracy by these three columns.
    df = pd.read_csv(tmp_path / "results.tsv", delimiter="\t")
    assert list(df.columns[:6]) == ["idx", "label", "predict", "radius", "correct", "time"]
    assert (df["correct"] & (df["radius"] >= 0.25)).mean() == 0.5
    assert list(df["predict"]) == [3, -1]
    assert pd.to_timedelta(df["time"]).dt.total_seconds().tolist() == [1.5, 1.5]
    assert df["gap"].isna().tolist() == [False, True]


def test_numbers_come_back_bit_for_bit(tmp_path, make_row):
    row = make_row(3, radius=0.1 + 0.2, p_a=1 / 3, seed=2**63 - 1)
    fill(tmp_path / "results.tsv", [row])
    back = pd.read_csv(tmp_path / "results.tsv", sep="\t").iloc[0]
    assert (back["radius"], back["p_a"], back["seed"]) == (row.radius, row.p_a, row.seed)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0, max_value=2000), junk=st.sampled_from([b"", b"\0\0\0", b"17\t3"]))
def test_a_file_cut_anywhere_is_continued_to_the_same_end(tmp_path, make_row, cut, junk):
    path, rows = tmp_path / "results.tsv", [make_row(i) for i in range(0, 60, 10)]
    path.unlink(missing_ok=True)
    fill(path, rows)
    whole = path.read_bytes()
    cut = min(cut, len(whole))
    # A power cut may leave the file longer than what was written, but then only after whole lines.
    at_line_end = cut == 0 or whole[cut - 1 : cut] == b"\n"
    path.write_bytes(whole[:cut] + (junk if at_line_end and cut > len("\t".join(COLUMNS)) else b""))
    fill(path, rows)
    assert path.read_bytes() == whole


def test_a_torn_line_costs_its_row_alone(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0), make_row(1), make_row(2)])
    path.write_bytes(path.read_bytes()[:-1])
    with Table(path, "name", IDENTITY, {}) as table:
        assert table.done == {0, 1}


def test_other_settings_are_refused_with_a_sentence_that_says_which(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0)])
    before = path.read_bytes()
    with pytest.raises(ResultError) as error:
        fill(path, [make_row(1)], {**IDENTITY, "n": 2000, "restart_every": 5})
    assert "n was 1000 and is 2000 now" in str(error.value)
    assert "restart_every was not set and is 5 now" in str(error.value)
    assert "model" not in str(error.value)
    assert path.read_bytes() == before
    fill(path, [make_row(1)])


def test_a_file_from_before_a_setting_existed_is_continued_with_what_it_was_then(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0)])
    with pytest.raises(ResultError, match="proxy_precision was not set and is 'bfloat16' now"):
        fill(path, [make_row(1)], {**IDENTITY, "proxy_precision": "bfloat16"})
    fill(path, [make_row(1)], {**IDENTITY, "proxy_precision": "float32"})


def test_settings_without_rows_may_still_change(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [])
    fill(path, [make_row(0)], {**IDENTITY, "n": 2000})
    assert json.loads(sidecar_path(path).read_text())["settings"]["n"] == 2000


def test_rows_without_their_sidecar_are_not_touched(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0)])
    sidecar_path(path).unlink()
    with pytest.raises(ResultError, match=r"results\.tsv\.json"):
        fill(path, [make_row(1)])
    sidecar_path(path).write_text("[" * 100_000)
    with pytest.raises(ResultError, match=r"results\.tsv\.json, .* cannot be read"):
        fill(path, [make_row(1)])


def test_a_foreign_file_is_not_touched(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    path.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.2\t1\t0:00:01\n")
    with pytest.raises(ResultError, match="other columns"):
        fill(path, [make_row(1)])
    assert len(path.read_text().splitlines()) == 2


def test_a_damaged_line_in_the_middle_is_named(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0), make_row(1), make_row(2)])
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1], "1\t3\n", lines[3]]))
    with pytest.raises(ResultError, match=r"Line 3 of .* is damaged"):
        fill(path, [])


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("idx", "-1"),
        ("label", "3.5"),
        ("radius", "abc"),
        ("radius", ""),
        ("radius", "nan"),
        ("radius", "1_0"),
        ("correct", "yes"),
        ("time", "soon"),
        ("p_m", "?"),
        ("votes", ""),
        ("equal_cost_n", "3.0"),
        ("setting", ""),
        ("sigma", "0.25 "),
    ],
)
def test_a_cell_of_the_wrong_kind_is_named_by_its_line(tmp_path, make_row, column, cell):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0), make_row(1)])
    lines = path.read_text().splitlines()
    cells = lines[2].split("\t")
    cells[COLUMNS.index(column)] = cell
    path.write_text("\n".join([*lines[:2], "\t".join(cells), ""]))
    with pytest.raises(ResultError, match=r"Line 3 of .*results\.tsv is damaged"):
        fill(path, [])


def test_a_picture_that_has_two_lines_is_named_with_both(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0), make_row(20), make_row(40)])
    path.write_text(path.read_text() + make_row(20, radius=0.5).line())
    with pytest.raises(ResultError, match=r"Line 5 of .*results\.tsv is about picture 20, as line 3 is\."):
        fill(path, [])


def test_every_row_that_is_written_is_taken_back(tmp_path, make_row):
    rows = [
        make_row(0, predict=-1, p_m=None, audited=None, equal_cost_n=None, time="0:00:00.000001"),
        make_row(
            1, sigma=1, gap=-2.5e-07, p_a=1e-300, radius=1e16, time="12 days, 3:04:05.000000", model="mein Netz é"
        ),
    ]
    fill(tmp_path / "results.tsv", rows)
    with Table(tmp_path / "results.tsv", "name", IDENTITY, {}) as table:
        assert table.done == {0, 1}


def test_a_refused_start_leaves_nothing_beside_the_file(tmp_path):
    path = tmp_path / "theirs.tsv"
    path.write_text("a\tb\n1\t2\n")
    with pytest.raises(ResultError, match="other columns"):
        fill(path, [])
    assert [child.name for child in tmp_path.iterdir()] == ["theirs.tsv"]


def test_a_second_process_is_told_and_a_killed_one_leaves_no_lock(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    command = [sys.executable, "-c", HOLD, f"{path}.lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ResultError, match=r"Another evaluation is writing .*results\.tsv"):
            fill(path, [make_row(0)])
        other.kill()
    fill(path, [make_row(0)])
    assert sorted(child.name for child in tmp_path.iterdir()) == ["results.tsv", "results.tsv.json"]


def test_two_tables_in_one_process_do_not_share_a_file(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    with Table(path, "name", IDENTITY, {}), pytest.raises(ResultError, match="Another evaluation"):
        fill(path, [make_row(0)])


def test_rows_that_came_out_of_order_end_in_order(tmp_path, make_row):
    fill(tmp_path / "mixed.tsv", [make_row(20), make_row(0), make_row(100), make_row(3)])
    fill(tmp_path / "straight.tsv", [make_row(0), make_row(3), make_row(20), make_row(100)])
    assert (tmp_path / "mixed.tsv").read_bytes() == (tmp_path / "straight.tsv").read_bytes()


def test_the_sidecar_lists_every_start(tmp_path, make_row):
    path = tmp_path / "results.tsv"
    fill(path, [make_row(0)])
    fill(path, [make_row(1)])
    document = json.loads(sidecar_path(path).read_text())
    assert document["settings"] == IDENTITY
    assert document["runs"] == [{"started": "now"}, {"started": "now"}]
