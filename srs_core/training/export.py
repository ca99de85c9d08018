"""From a run to a checkpoint: averaged weights, and a card that says how they were made and what they score."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from srs_core.data import Dataset
from srs_core.mdeq.cards import Card
from srs_core.mdeq.checkpoints import fill, save_checkpoint
from srs_core.mdeq.inference import for_inference
from srs_core.mdeq.network import MDEQ
from srs_core.training.measure import measure
from srs_core.training.schedule import Plan
from srs_core.training.settings import TrainingSettings
from srs_core.training.state import read_state

__all__ = ["export", "training_record"]


def export(
    run: Path,
    name: str,
    test: Dataset,
    *,
    folder: Path | None = None,
    device: str = "cpu",
    notes: str | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Card:
    """Measure a run's averaged weights on a test set and keep them as a checkpoint; returns its card."""
    state = read_state(run)
    settings = TrainingSettings.from_dict(state["settings"])
    network = MDEQ(settings.variant, num_classes=state["classes"])
    fill(network, state["average"], str(run))
    network.eval()
    record = training_record(state)
    if notes:
        record["notes"] = notes
    card = Card(
        name=name,
        variant=settings.variant,
        sigma=settings.sigma,
        classes=test.class_names,
        normalisation={"mean": network.variant.mean, "std": network.variant.std},
        sha256="",
        training=record,
    )
    model = for_inference(network, card).to(device)
    measured = measure(model, test.arrays(), settings.sigma, progress=progress)
    card = replace(card, measured={"data": test.name, **measured})
    return Card.read(save_checkpoint(network, card, folder).with_suffix(".json"))


def training_record(state: dict[str, Any]) -> dict[str, Any]:
    """How a run's weights were made, as far as its state knows."""
    settings = TrainingSettings.from_dict(state["settings"])
    plan = Plan(**state["plan"])
    origin = state["origin"]
    return {
        "command": _command(settings, plan, origin),
        **origin,
        "epochs": round(state["step"] / (origin["pictures"] // settings.pictures_per_step), 2),
        "steps": state["step"],
        "minutes": round(state["seconds"] / 60.0, 1),
        "finished": plan.progress(state["step"], state["seconds"]) >= 1.0,
        "weights": f"moving average of decay {settings.ema_decay:g}",
        "settings": settings.to_dict(),
    }


def _command(settings: TrainingSettings, plan: Plan, origin: dict[str, Any]) -> str:
    """The command that begins such a run, with every option that is not at its default."""
    usual = TrainingSettings().to_dict()
    words = ["python -m srs_core train", f"--data {origin['data']}", f"--variant {settings.variant}"]
    words.append(f"--sigma {settings.sigma:g}")
    for name, value in settings.to_dict().items():
        if name in ("variant", "sigma") or value == usual[name]:
            continue
        flag = name.replace("_", "-")
        words.append(f"--{flag}" if value is True else f"--{flag} {value}")
    if origin["init_from"] is not None:
        words.append(f"--init-from {origin['init_from']}")
    if plan.unit == "seconds":
        words.append(f"--time-limit {plan.total / 60.0:g}")
    else:
        words.append(f"--epochs {plan.total / (origin['pictures'] // settings.pictures_per_step):g}")
    return " ".join(words)
