import json
from collections.abc import Callable
from pathlib import Path

import pytest

from srs_core.mdeq.checkpoints import available_models, load_model

FIXTURE = Path(__file__).parents[1] / "fixtures" / "prototype-small-0.25.pth.tar"
Run = Callable[..., tuple[int, str, str]]


def test_models_are_listed_for_people_and_as_json(run: Run) -> None:
    names = [card.name for card in available_models()]
    code, table, _ = run("models")
    assert code == 0
    assert all(name in table for name in names)
    code, document, _ = run("models", "--json")
    assert code == 0
    cards = json.loads(document)
    assert [card["name"] for card in cards] == names
    assert all({"name", "variant", "sigma"} <= set(card) for card in cards)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "No command is given. See: "),
        (["certifi"], "No such command 'certifi'. Did you mean 'certify'? See: "),
        (["evaluate"], "Missing option '--out'. See: "),
        (["attack", "gallery:0", "--radius", "far"], "Invalid value for '--radius'"),
        (["certify", "gallery:0", "--bogus", "1"], "No such option: --bogus"),
    ],
)
def test_bad_usage_is_one_line_that_says_where_the_help_is(run: Run, words: list[str], told: str) -> None:
    code, _, said = run(*words)
    assert code == 2
    assert said.startswith(f"Error: {told}")
    assert said.count("\n") == 1
    assert said.rstrip().endswith("--help")


def test_a_checkpoint_is_imported_and_listed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRS_CHECKPOINTS", str(tmp_path))
    code, _, said = run("models")
    assert code == 0
    assert "no checkpoint" in " ".join(said.split())
    code, _, said = run("import-checkpoint", str(FIXTURE), "--variant", "small", "--sigma", "0.25", "--name", "mine")
    assert code == 0
    assert "Kept as mine" in said
    code, table, _ = run("models")
    assert "not measured" in table
    assert load_model("mine", "cpu").sigma == 0.25
