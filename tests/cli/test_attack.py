import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from srs_core.smoothing.certificate import Certificate

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]
MODEL = ["--model", "cifar10-small-0.25", "--device", "cpu"]
QUICK = [
    *(*MODEL, "--n", "48", "--n0", "16", "--audit", "24", "--batch-size", "16", "--reference-steps", "8"),
    *("--samples", "2", "--steps", "2"),
]


def test_json_has_the_certificate_and_each_attack(run: Run, tmp_path: Path) -> None:
    out, pictures = tmp_path / "attack.json", tmp_path / "pictures.npz"
    code, stdout, stderr = run(
        *("attack", "gallery:999", *QUICK, "--radius", "0.1", "--radius", "0.4"),
        *("--json", "--out", str(out), "--save", str(pictures)),
    )
    assert (code, stderr) == (0, "")
    document = json.loads(stdout)
    assert document == json.loads(out.read_text())
    certificate = Certificate.from_dict(document["certificate"])
    assert [attack["radius"] for attack in document["attacks"]] == [0.1, 0.4]
    for attack in document["attacks"]:
        assert attack["outcome"] in ("changed", "same", "undecided")
        assert attack["label"] == certificate.class_index
        assert attack["settings"]["sigma"] == 0.25
        assert sum(attack["votes"]) == 48
        assert attack["inside_certificate"] == (attack["distance"] < certificate.radius)
    with np.load(pictures) as saved:
        moved = np.linalg.norm((saved["attacked"] - saved["picture"]).reshape(2, -1), axis=1)
    assert moved == pytest.approx([attack["distance"] for attack in document["attacks"]], abs=1e-6)


def test_the_outcome_is_told_in_words(run: Run) -> None:
    code, stdout, _ = run("attack", "gallery:999", *QUICK, "--radius", "0.05", "--radius", "0.1")
    assert code == 0
    words = " ".join(stdout.split())
    assert "Before: " in words
    assert words.count("The attack ") == 2


def test_an_answer_that_was_never_established_cannot_be_taken_away(run: Run) -> None:
    """With one selection draw the certificate may abstain on a class that the smoothed model never answers."""
    arguments = ["gallery:4995", *MODEL, "--n0", "1", "--n", "150", "--audit", "60", "--seed", "1"]
    code, stdout, _ = run("attack", *arguments, "--radius", "1e-6", "--steps", "1", "--samples", "0", "--json")
    assert code == 0
    document = json.loads(stdout)
    assert document["certificate"]["abstained"]
    assert document["certificate"]["class_name"] == "cat"
    assert document["smallest_winning_radius"] is None
    assert all(attack["label"] == document["clean_answer"] for attack in document["attacks"])


def test_there_is_nothing_to_hunt_for_inside_the_certificate(run: Run) -> None:
    code, stdout, _ = run("attack", "gallery:999", *QUICK, "--smallest", "0.001")
    assert code == 0
    assert "nothing to hunt for" in " ".join(stdout.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gallery:0"], "No radius is given"),
        (["gallery:0", "--radius", "0"], "radius is 0.0; it must be a positive number"),
        (["gallery:0", "--smallest", "nan"], "radius is nan"),
        (["gallery:0", "--radius", "1", "--samples", "-1"], "samples is -1"),
        (["gallery:0", "--radius", "1", "--step", "3"], "step is 3.0; it is a share of the radius"),
        (["gallery:0", "--radius", "1", "--method", "magic"], "method is 'magic'"),
        (["absent.png", "--radius", "1"], "no such file"),
        (["gallery:0", "--radius", "1", "--model", "nobody"], "There is no model named 'nobody'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run: Run, arguments: list[str], sentence: str) -> None:
    code, stdout, stderr = run("attack", *arguments)
    assert code == 2
    assert stdout == ""
    assert sentence in stderr
    assert len(stderr.strip().splitlines()) == 1


def test_help_teaches(run: Run) -> None:
    code, stdout, _ = run("attack", "--help")
    assert code == 0
    words = " ".join(stdout.replace("│", " ").split())
    for part in ("share of the radius", "changed", "Smooth-PGD", "gallery:0"):
        assert part in words


def test_an_interrupt_ends_with_130_and_says_what_was_finished(interrupt: Run) -> None:
    code, stdout, stderr = interrupt("searching", "attack", "gallery:0", *QUICK, "--radius", "0.5", "--steps", "100000")
    assert (code, stdout) == (130, "")
    assert "Attacks finished so far: none" in stderr
