from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from srs_core.data import Arrays
from srs_core.training.run import begin
from srs_core.training.settings import TrainingSettings
from srs_core.training.trainer import Trainer


@pytest.fixture
def tiny() -> Arrays:
    """24 pictures of 8 x 8 pixels in 3 classes that differ in colour."""
    generator = torch.Generator().manual_seed(5)
    labels = torch.arange(24) % 3
    images = torch.randint(0, 80, (24, 3, 8, 8), generator=generator, dtype=torch.uint8)
    for position, label in enumerate(labels.tolist()):
        images[position, label] += 150
    return Arrays(images, labels)


@pytest.fixture
def recipe() -> TrainingSettings:
    """Both phases and a Jacobian term within a few steps of four pictures."""
    return TrainingSettings(
        batch_size=4, unrolled=0.4, solve_steps=1, solve_steps_end=2, solve_jitter=1, jacobian_frequency=0.5
    )


@pytest.fixture
def started(tiny: Arrays, recipe: TrainingSettings, tmp_path: Path) -> Callable[..., Trainer]:
    """Begin a tiny run of one epoch (six steps) in tmp_path / name."""

    def start(name: str = "run", settings: TrainingSettings = recipe, **options: object) -> Trainer:
        budget: dict[str, object] = {} if "minutes" in options else {"epochs": 1}
        return begin(settings, tiny, 3, tmp_path / name, **{**budget, **options})  # type: ignore[arg-type]

    return start


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An .npz of 16 training and 6 test pictures of 32 x 32 pixels in 2 classes."""
    random = np.random.default_rng(3)
    path = tmp_path / "tiny.npz"
    np.savez(
        path,
        x_train=random.integers(0, 256, (16, 32, 32, 3), dtype=np.uint8),
        y_train=np.arange(16) % 2,
        x_test=random.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8),
        y_test=np.arange(6) % 2,
    )
    return path
