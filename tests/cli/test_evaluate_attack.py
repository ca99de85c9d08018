import json
from collections.abc import Callable
from pathlib import Path

import pytest

from srs_core.attacks.study import read_rows

Run = Callable[..., tuple[int, str, str]]
QUICK = [
    *("--model", "cifar10-small-0.25", "--device", "cpu", "--data", "gallery", "--first", "3", "--stop", "5"),
    *("--method", "rs", "--steps", "4", "--n", "24", "--n0", "8", "--alpha", "0.1"),
    *("--attack", "0", "--attack-radius", "0.05", "--attack-radius", "0.1", "--attack-n", "24"),
]


def test_certified_pictures_are_attacked_and_the_rows_kept(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "results.tsv"
    code, stdout, _ = run("evaluate", *QUICK, "--out", str(out), "--json")
    assert code == 0
    document = json.loads(stdout)
    attacks = document["attacks"]
    assert document["contradictions"] == 0
    assert [(a["attack"], a["radius"], a["pictures"]) for a in attacks] == [("PGD", r, 2) for r in (0.0, 0.05, 0.1)]
    # Certificates that hold are a floor for what attacks leave, which falls as they may go further.
    assert all(a["certified_accuracy"] <= a["accuracy"] <= 1 for a in attacks)
    assert attacks[0]["accuracy"] >= attacks[1]["accuracy"] >= attacks[2]["accuracy"]
    rows = read_rows(tmp_path / "results-attacks.tsv")
    assert {row.idx for row in rows} == {999, 1332}
    code, stdout, stderr = run("evaluate", *QUICK, "--out", str(out))
    assert code == 0
    assert "accuracy" in stdout
    assert "results-attacks.tsv" in stderr.replace("\n", "")
    assert read_rows(tmp_path / "results-attacks.tsv") == rows


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--attack-radius", "-1", "attack_radius is -1.0; it must be a positive number"),
        ("--attack", "-1", "attack is -1; it must be a whole number of at least 0"),
        ("--attack-n", "0", "attack_n is 0; it must be a whole number of at least 1"),
    ],
)
def test_a_bad_attack_is_one_sentence_before_anything_is_certified(
    run: Run, tmp_path: Path, option: str, value: str, sentence: str
) -> None:
    out = tmp_path / "r.tsv"
    code, _, stderr = run("evaluate", *QUICK, option, value, "--out", str(out))
    assert code == 2
    assert sentence in stderr
    assert not out.exists()


def test_attacks_on_other_certificates_of_the_same_name_are_refused(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "results.tsv"
    assert run("evaluate", *QUICK, "--out", str(out))[0] == 0
    for path in (out, tmp_path / "results.tsv.json"):
        path.unlink()
    code, _, stderr = run("evaluate", *QUICK, "--seed", "1", "--out", str(out))
    assert code == 2
    assert "made with another model, other pictures or other settings" in " ".join(stderr.split())
