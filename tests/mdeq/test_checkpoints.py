import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import srs_core
from srs_core.mdeq.cards import Card, CheckpointError
from srs_core.mdeq.checkpoints import (
    available_models,
    default_first,
    load_model,
    load_training_form,
    save_checkpoint,
)
from srs_core.mdeq.network import MDEQ


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint folder with one small model, `tiny`."""
    monkeypatch.setenv("SRS_CHECKPOINTS", str(tmp_path))
    torch.manual_seed(0)
    network = MDEQ("small")
    v = network.variant
    card = Card("tiny", "small", 0.25, tuple("abcdefghij"), {"mean": v.mean, "std": v.std}, sha256="")
    save_checkpoint(network, card)
    return tmp_path


def test_a_saved_model_comes_back_by_name_and_by_path(shelf: Path) -> None:
    assert [card.name for card in available_models()] == ["tiny"]
    by_name, by_path = load_model("tiny", "cpu"), load_model(shelf / "tiny.safetensors", "cpu")
    assert by_name.hash == by_path.hash == load_training_form("tiny")[0].hash
    assert (by_name.name, by_name.sigma, by_name.classes) == ("tiny", 0.25, list("abcdefghij"))
    assert srs_core.load_model("tiny", "cpu").hash == by_name.hash


@pytest.mark.usefixtures("shelf")
def test_the_hash_names_weights_and_variant() -> None:
    network, _ = load_training_form("tiny")
    before = network.hash
    with torch.no_grad():
        network.classifier.bias[0] += 1e-6
    assert network.hash != before


def test_an_unknown_name_lists_what_there_is(shelf: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no model named 'nobody'. Available models: tiny"):
        load_model("nobody")
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        load_model(shelf / "nobody.safetensors")


def test_damage_is_said_in_a_sentence(shelf: Path) -> None:
    weights, card = shelf / "tiny.safetensors", shelf / "tiny.json"
    good = weights.read_bytes()
    weights.write_bytes(good[:-8])
    with pytest.raises(CheckpointError, match="SHA-256 differs"):
        load_model("tiny")
    weights.write_bytes(good)
    values = json.loads(card.read_text())
    for changes, sentence in (
        ({"variant": "huge"}, "names the variant 'huge'"),
        ({"variant": "large"}, "does not hold the weights of the variant 'large'"),
        ({"classes": ["cat", "dog"]}, "2 tensors of another shape"),
        ({"classes": 3}, "value of the wrong kind"),
        ({"normalisation": {}}, "value of the wrong kind"),
    ):
        card.write_text(json.dumps(values | changes))
        with pytest.raises(CheckpointError, match=sentence):
            load_model("tiny")
    card.write_text(json.dumps({key: values[key] for key in ("name", "variant")}))
    with pytest.raises(CheckpointError, match="not complete"):
        load_model("tiny")
    card.write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_model("tiny")
    card.unlink()
    with pytest.raises(CheckpointError, match="no card"):
        load_model("tiny")
    assert available_models() == []


@pytest.mark.usefixtures("shelf")
def test_weights_that_are_not_finite_are_refused() -> None:
    network, card = load_training_form("tiny")
    with torch.no_grad():
        network.classifier.bias[0] = float("nan")
    save_checkpoint(network, card)
    with pytest.raises(CheckpointError, match="not finite"):
        load_model("tiny")


def test_a_damaged_file_whose_card_fits_is_refused(shelf: Path) -> None:
    import hashlib

    weights, card = shelf / "tiny.safetensors", shelf / "tiny.json"
    torn = weights.read_bytes()[:100]
    weights.write_bytes(torn)
    card.write_text(json.dumps(json.loads(card.read_text()) | {"sha256": hashlib.sha256(torn).hexdigest()}))
    with pytest.raises(CheckpointError, match="damaged"):
        load_model("tiny")


def test_the_shipped_models_load() -> None:
    cards = available_models()
    assert cards
    names = [card.name for card in cards]
    assert names == sorted(names)
    for card in cards:
        assert load_model(card.name, "cpu").sigma == card.sigma


@pytest.mark.usefixtures("shelf")
def test_one_begins_with_the_middling_noise_level_and_else_with_the_first_model() -> None:
    card = available_models()[0]
    others = [replace(card, name=name) for name in ("cifar10-small-0.12", "cifar10-small-0.25", "zebra")]
    assert [each.name for each in default_first(others)] == ["cifar10-small-0.25", "cifar10-small-0.12", "zebra"]
    assert default_first(others[::2])[0].name == "cifar10-small-0.12"
    assert default_first([]) == []
