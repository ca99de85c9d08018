"""The way of certified accuracies from `evaluate` through `report --card` into a model's card and onto `models`."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from srs_core.mdeq.checkpoints import available_models, checkpoint_folder

Run = Callable[..., tuple[int, str, str]]
QUICK = ("--n", "16", "--n0", "4", "--audit", "8", "--alpha", "0.2", "--batch-size", "8", "--device", "cpu")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two models of its own, whose cards may be written."""
    names = [card.name for card in available_models()][:2]
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for name, copy in zip(names, ("one", "two"), strict=True):
        shutil.copy(checkpoint_folder() / f"{name}.safetensors", folder / f"{copy}.safetensors")
        card = json.loads((checkpoint_folder() / f"{name}.json").read_text(encoding="utf-8"))
        card["measured"].pop("certified", None)
        (folder / f"{copy}.json").write_text(json.dumps(card), encoding="utf-8")
    monkeypatch.setenv("SRS_CHECKPOINTS", str(folder))
    return folder


@pytest.fixture
def results(run: Run, shelf: Path, tmp_path: Path) -> list[Path]:
    """Three settings of model one, from a settings file that names other models."""
    assert (shelf / "one.json").exists()
    config = tmp_path / "study.json"
    settings = [{"method": "rs", "steps": 2}, {"steps": 1}, {"steps": 2}]
    common = {"reference_steps": 2, "warm_up_steps": 2}
    content = {"models": ["one", "two", "three"], "data": "cifar10", "common": common, "settings": settings}
    config.write_text(json.dumps(content), encoding="utf-8")
    code, out, said = run(
        *("evaluate", "--config", str(config), "--model", "one", "--data", "gallery", "--every", "20"),
        *(*QUICK, "--out", str(tmp_path / "one.tsv"), "--json"),
    )
    assert code == 0, said
    return [Path(path) for path in json.loads(out)["files"]]


def test_a_card_tells_what_its_model_certified_and_by_which_command(
    run: Run, shelf: Path, results: list[Path], tmp_path: Path
) -> None:
    before = json.loads((shelf / "one.json").read_text(encoding="utf-8"))
    assert [path.name for path in results] == ["one-MDEQ-2A.tsv", "one-SRS-MDEQ-1A.tsv", "one-SRS-MDEQ-2A.tsv"]
    code, table, said = run("report", *map(str, results), "--card", "one", "--json")
    assert code == 0, said
    after = json.loads((shelf / "one.json").read_text(encoding="utf-8"))
    certified = after["measured"].pop("certified")
    assert after == before
    assert [(e["method"], e["solver"], e["steps"]) for e in certified] == [
        ("rs", "anderson", 2),
        ("srs", "anderson", 1),
        ("srs", "anderson", 2),
    ]
    for entry, record in zip(certified, json.loads(table), strict=True):
        assert (entry["n"], entry["audit"], entry["alpha"], entry["every"], entry["pictures"]) == (16, 8, 0.2, 20, 2)
        assert entry["data"] == "CIFAR-10 gallery"
        assert list(entry["certified_accuracy"]) == ["0", "0.25", "0.5", "0.75", "1"]
        assert entry["certified_accuracy"]["0"] == record["certified_at_0"]
        assert entry["abstained"] == record["abstained"]
        assert entry["acr"] == pytest.approx(record["acr"], abs=1e-4)
        # Folders of this machine mean nothing elsewhere.
        assert entry["command"].startswith("python -m srs_core evaluate --config study.json --model one --data gallery")
        assert str(tmp_path) not in entry["command"]
    code, table, _ = run("models")
    assert re.search(r"\bRS \d+ %", table)
    assert re.search(r"\bSRS \d+ %", table)
    assert "measured" in table  # of model two, that it was not


def test_the_same_figures_again_take_the_place_of_the_old_ones(run: Run, shelf: Path, results: list[Path]) -> None:
    assert run("report", str(results[0]), "--card", "one")[0] == 0
    assert run("report", *map(str, results), "--card", "one")[0] == 0
    card = json.loads((shelf / "one.json").read_text(encoding="utf-8"))
    assert [entry["setting"] for entry in card["measured"]["certified"]] == ["MDEQ-2A", "SRS-MDEQ-1A", "SRS-MDEQ-2A"]


def test_results_of_another_model_or_of_unknown_origin_are_refused(
    run: Run, shelf: Path, results: list[Path], tmp_path: Path
) -> None:
    cards = {path: path.read_bytes() for path in shelf.glob("*.json")}
    code, _, said = run("report", *map(str, results), "--card", "two")
    assert (code, "was not made with the model" in said) == (2, True)
    alone = tmp_path / "alone.tsv"
    shutil.copy(results[1], alone)
    code, _, said = run("report", str(alone), "--card", "one")
    assert (code, "weights that it does not name" in said) == (2, True)
    sidecar = json.loads(results[1].with_name(f"{results[1].name}.json").read_text(encoding="utf-8"))
    del sidecar["runs"][0]["command"]
    alone.with_name("alone.tsv.json").write_text(json.dumps(sidecar), encoding="utf-8")
    code, _, said = run("report", str(results[0]), str(alone), "--card", "one")
    assert (code, "does not say which command made it" in said) == (2, True)
    code, _, said = run("report", str(results[0]), "--card", "nobody")
    assert (code, "no model named" in said) == (2, True)
    assert {path: path.read_bytes() for path in shelf.glob("*.json")} == cards
