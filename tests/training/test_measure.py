from pathlib import Path

import pytest
import torch

from srs_core.data import Arrays, load_dataset
from srs_core.mdeq.checkpoints import load_model
from srs_core.mdeq.inference import for_inference
from srs_core.mdeq.network import MDEQ
from srs_core.solvers import solve
from srs_core.training.export import export
from srs_core.training.measure import COLD_STEPS, measure
from srs_core.training.run import begin, run
from srs_core.training.settings import TrainingSettings


def test_one_long_solve_measures_what_separate_solves_would(tiny: Arrays) -> None:
    torch.manual_seed(2)
    model = for_inference(MDEQ("small", num_classes=3).eval())
    measured = measure(model, tiny, sigma=0.25, seed=7, batch_size=24)

    noise = torch.randn(24, 3, 8, 8, generator=torch.Generator().manual_seed(7))
    x = tiny.images / 255.0 + 0.25 * noise
    labels = {}
    for steps in COLD_STEPS:
        z = solve(model.step, model.inject(x), model.initial(x), steps=steps, tol=0).z
        labels[steps] = model.classify(z).argmax(dim=1)
    assert measured["noisy_accuracy"] == pytest.approx(float((labels[30] == tiny.labels).float().mean()))
    for entry in measured["cold"]:
        assert entry["accuracy"] == pytest.approx(float((labels[entry["steps"]] == tiny.labels).float().mean()))
        assert entry["disagreement"] == pytest.approx(float((labels[entry["steps"]] != labels[30]).float().mean()))
    assert [entry["steps"] for entry in measured["cold"]] == [1, 2, 3, 5, 8, 10, 30]
    assert [entry["steps"] for entry in measured["warm"]] == [1, 3]


def test_a_run_becomes_a_model_with_a_card(archive: Path, tmp_path: Path) -> None:
    train = load_dataset(archive, "train")
    settings = TrainingSettings(batch_size=4, sigma=0.5, unrolled=1.0, unrolled_steps=1)
    trainer = begin(settings, train.arrays(), 2, tmp_path / "run", epochs=0.5, data_name="tiny.npz")
    list(run(trainer, tmp_path / "run"))
    card = export(tmp_path / "run", "tiny", load_dataset(archive, "test"), folder=tmp_path, notes="A test.")
    assert (card.sigma, card.classes) == (0.5, ("class 0", "class 1"))
    assert card.training["command"] == (
        "python -m srs_core train --data tiny.npz --variant small --sigma 0.5 --batch-size 4 --unrolled 1.0 "
        "--unrolled-steps 1 --epochs 0.5"
    )
    assert (card.training["steps"], card.training["epochs"], card.training["finished"]) == (2, 0.5, True)
    assert card.training["notes"] == "A test."
    assert card.measured["pictures"] == 6
    model = load_model(tmp_path / "tiny.safetensors", device="cpu")
    average = {key: value.to(memory_format=torch.contiguous_format) for key, value in trainer.average.values.items()}
    again = MDEQ("small", num_classes=2)
    again.load_state_dict(average)
    assert model.hash == again.hash
