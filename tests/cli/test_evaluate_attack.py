import json
from collections.abc import Callable
from pathlib import Path

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
    attacks = json.loads(stdout)["attacks"]
    assert [(a["attack"], a["radius"], a["pictures"]) for a in attacks] == [("PGD", 0.05, 2), ("PGD", 0.1, 2)]
    assert all(0 <= a["accuracy"] <= 1 for a in attacks)
    rows = read_rows(tmp_path / "results-attacks.tsv")
    assert {row.idx for row in rows} == {999, 1332}
    code, stdout, stderr = run("evaluate", *QUICK, "--out", str(out))
    assert code == 0
    assert "accuracy" in stdout
    assert "results-attacks.tsv" in stderr.replace("\n", "")
    assert read_rows(tmp_path / "results-attacks.tsv") == rows


def test_a_bad_radius_is_one_sentence(run: Run, tmp_path: Path) -> None:
    code, _, stderr = run(
        "evaluate", *QUICK[:-6], "--attack", "1", "--attack-radius", "-1", "--out", str(tmp_path / "r.tsv")
    )
    assert code == 2
    assert "attack_radius is -1.0; it must be a positive number" in stderr
