import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.verify import verify

ROOT = Path(__file__).parents[2]
MODEL = ["--model", "cifar10-small-0.25", "--device", "cpu"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
QUICK = [*MODEL, "--n", "48", "--n0", "16", "--audit", "24", "--batch-size", "16", "--reference-steps", "8"]


Run = Callable[..., tuple[int, str, str]]


def test_json_is_one_certificate_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "certificate.json"
    command = [sys.executable, "-m", "srs_core", "certify", "gallery:333", *QUICK, "--json", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    certificate = Certificate.from_json(done.stdout)
    assert verify(certificate) == []
    assert certificate == Certificate.from_json(out.read_text())
    keys = (
        "method solver steps sigma alpha n n0 audit estimator class_index class_name abstained radius p_a_lower votes "
        "mismatch_bound evaluations seconds seed model model_hash device"
    )
    assert set(keys.split()) <= set(json.loads(done.stdout))
    assert certificate.sigma == 0.25


def test_compare_has_one_entry_for_each_setting(run: Run, tmp_path: Path) -> None:
    arguments = ["gallery:0", *QUICK, "--steps", "1", "--steps", "2", "--solver", "naive"]
    code, stdout, _ = run("compare", *arguments, "--json")
    assert code == 0
    document = json.loads(stdout)
    assert [(c["solver"], c["steps"]) for c in document["srs"]] == [("naive", 1), ("naive", 2)]
    assert document["rs"]["mismatch_bound"] is None
    assert [set(entry) >= {"n", "radius"} for entry in document["equal_cost"]] == [True, True]

    code, table, _ = run("compare", *arguments, "--out", str(tmp_path / "c.json"))
    assert code == 0
    assert "Equal cost: the radius of plain RS" in table
    assert json.loads((tmp_path / "c.json").read_text())["srs"][0]["radius"] == document["srs"][0]["radius"]


def test_a_certificate_is_shown_in_words(run: Run) -> None:
    code, stdout, _ = run("certify", "gallery:333", *QUICK)
    assert code == 0
    assert "Certified radius" in stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pyproject.toml"], "Choose a PNG"),
        (["absent.png"], "no such file"),
        (["gallery:7"], "The gallery has no picture '7'"),
        (["gallery:0", "--model", "nobody"], "There is no model named 'nobody'"),
        (["gallery:0", "--sigma", "0"], "sigma is 0.0"),
        (["gallery:0", "--n", "100", "--audit", "101"], "audit is 101"),
        (["gallery:0", "--n", "9", "--method", "rs"], "fewer than 10 votes"),
        (["gallery:0", "--n", "100", "--batch-size", "200"], "batch_size is 200"),
        (["srs_core/gallery/0000-cat.png", "--fit", "stretch"], "fit is 'stretch'"),
        (["gallery:0", "--fit", "stretch"], "fit is 'stretch'"),
        (["gallery:0", "--out", "nowhere/certificate.json"], "there is no folder nowhere"),
        (["gallery:0", "--out", "docs"], "it is a folder"),
        (["gallery:0", "--device", "abacus"], "device is 'abacus'"),
        (["gallery:0", "--estimator", "published"], "not a certificate"),
        (["gallery:0", "--proxy-precision", "int3"], "proxy_precision is 'int3'; choose one of float32, bfloat16"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run: Run, arguments: list[str], sentence: str) -> None:
    code, stdout, stderr = run("certify", *arguments)
    assert code == 2
    assert stdout == ""
    assert sentence in stderr
    assert len(stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["", "certify", "compare", "models", "import-checkpoint", "train"])
def test_help_teaches(run: Run, command: str) -> None:
    code, stdout, _ = run(*command.split(), "--help")
    assert code == 0
    assert len(stdout) > 300


def test_the_package_and_its_help_do_without_torch() -> None:
    check = "import sys, srs_core, srs_core.cli; assert 'torch' not in sys.modules; assert 'certify' in dir(srs_core)"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True)


def test_an_interrupt_shows_the_votes_and_says_that_they_are_no_certificate(interrupt: Run) -> None:
    code, stdout, stderr = interrupt(
        "radius so far", "certify", "gallery:0", *MODEL, "--n", "100000", "--batch-size", "16"
    )
    assert (code, stdout) == (130, "")
    assert "This is no certificate: votes so far" in stderr
