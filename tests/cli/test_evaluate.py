"""The commands `evaluate` and `report`, from the command line to the files."""

import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from srs_core.cli import app

QUICK = (
    *("evaluate", "--model", "cifar10-small-0.25", "--data", "gallery", "--stop", "2", "--device", "cpu"),
    *("--reference-steps", "2", "--n", "16", "--n0", "4", "--audit", "8", "--alpha", "0.2", "--batch-size", "8"),
)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_several_methods_and_steps_run_on_the_same_noise_and_write_a_file_each(tmp_path):
    out = tmp_path / "results.tsv"
    done = run(*QUICK, "--method", "rs", "--method", "srs", "--steps", 1, "--steps", 2, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    names = ["MDEQ-2A", "SRS-MDEQ-1A", "SRS-MDEQ-2A"]
    assert document["files"] == [str(tmp_path / f"results-{name}.tsv") for name in names]
    assert [record["name"] for record in document["summary"]] == names
    plain, *serialized = (pd.read_csv(path, sep="\t") for path in document["files"])
    for frame in serialized:
        assert list(frame["seed"]) == list(plain["seed"])
        assert frame["true_mismatch"].notna().all()
    again = run(*QUICK, "--method", "rs", "--method", "srs", "--steps", 1, "--steps", 2, "--out", out)
    assert again.exit_code == 0
    assert "SRS-MDEQ-1A" in again.stdout


def test_other_settings_on_the_same_file_are_refused(tmp_path):
    out = tmp_path / "results.tsv"
    assert run(*QUICK, "--stop", 1, "--steps", 1, "--out", out).exit_code == 0
    refused = run(*QUICK, "--stop", 1, "--steps", 1, "--seed", 1, "--out", out)
    assert "seed was 0 and is 1 now" in str(refused.exception)


def test_a_settings_file_says_what_to_run_and_options_change_it(tmp_path):
    config = tmp_path / "study.json"
    settings = [{"steps": 1, "name": "one step"}, {"steps": 1, "start": "clean"}]
    common = {"n": 16, "n0": 4, "audit": 8, "alpha": 0.2, "reference_steps": 2, "batch_size": 8}
    config.write_text(json.dumps({"data": "gallery", "stop": 5, "common": common, "settings": settings}))
    done = run("evaluate", "--config", config, "--stop", 1, "--seed", 4, "--out", tmp_path / "r.tsv", "--json")
    assert done.exit_code == 0, done.output
    files = json.loads(done.stdout)["files"]
    assert files[0].endswith("r-one-step.tsv")
    assert [len(pd.read_csv(path, sep="\t")) for path in files] == [1, 1]
    sidecar = json.loads((tmp_path / "r-one-step.tsv.json").read_text())
    assert (sidecar["settings"]["seed"], sidecar["settings"]["n"]) == (4, 16)
    mixed = run("evaluate", "--config", config, "--steps", 3, "--out", tmp_path / "r.tsv")
    assert "leave these options out" in str(mixed.exception)
    ignored = run("evaluate", "--config", config, "--start", "zero", "--out", tmp_path / "r.tsv")
    assert "leave --start out" in str(ignored.exception)


def test_refused_settings_leave_the_kept_pictures_as_they_are(tmp_path):
    out = tmp_path / "results.tsv"
    assert run(*QUICK, "--steps", 1, "--out", out, "--keep-pictures").exit_code == 0
    kept = (tmp_path / "results-pictures.npz").read_bytes()
    refused = run(*QUICK, "--steps", 1, "--first", 1, "--out", out, "--keep-pictures")
    assert "first was 0 and is 1 now" in str(refused.exception)
    assert (tmp_path / "results-pictures.npz").read_bytes() == kept


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate", "--out", "r.tsv"), "No dataset is named"),
        (("evaluate", "--data", "gallery", "--n", "0", "--out", "r.tsv"), "n is 0"),
        ((*QUICK, "--workers", "2", "--out", "r.tsv"), "add --ray local"),
        (
            (*QUICK, "--ray", "local", "--out", "r.tsv"),
            "device is 'cpu', but on Ray each worker takes what the cluster",
        ),
        ((*QUICK, "--threads", "0", "--out", "r.tsv"), "threads is 0"),
        ((*QUICK, "--first", "99", "--stop", "100", "--out", "r.tsv"), "selects no picture"),
        (("report", "nothing.tsv"), "nothing.tsv"),
        (("report", "nothing.tsv", "--html", "nowhere/report.html"), "there is no folder nowhere"),
        (("report", "nothing.tsv", "--format", "word"), "format is 'word'"),
    ],
)
def test_a_bad_request_is_answered_in_a_sentence(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = run(*arguments)
    assert refused.exit_code != 0
    assert re.search(re.escape(words), str(refused.exception))
    assert not list(tmp_path.glob("r*.tsv"))


def test_a_report_prints_every_format_and_writes_its_page(tmp_path):
    theirs = tmp_path / "theirs.tsv"
    theirs.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.4\t1\t0:00:01.5\n")
    html = tmp_path / "report.html"
    text = run("report", theirs, "--radius", 0.1, "--radius", 0.5, "--html", html)
    assert text.exit_code == 0, text.output
    assert re.search(r"theirs +1 +0\.0 +100\.0 +0\.0 +0\.400", text.stdout)
    assert "Plotly.newPlot(" in html.read_text()
    assert run("report", theirs, "--format", "latex").stdout.startswith(r"\begin{tabular}")
    assert run("report", theirs, "--format", "markdown").stdout.startswith("| setting |")
    assert run("report", theirs, "--format", "csv").stdout.startswith("name,model,sigma,pictures")
    assert json.loads(run("report", theirs, "--json").stdout)[0]["certified_at_0.25"] == 1.0
