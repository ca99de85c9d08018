"""A tiny evaluation: points of the plane as pictures, certified in milliseconds by a real equilibrium model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from srs_core.data import Dataset
from srs_core.evaluate.plan import Evaluation, Selection, name_parts
from srs_core.evaluate.rows import Row
from srs_core.planar import CLASSES, load_planar, spiral_class
from srs_core.smoothing.settings import Settings

SMALL: dict[str, Any] = {
    "sigma": 0.06,
    "n": 64,
    "n0": 16,
    "audit": 32,
    "alpha": 0.01,
    "batch_size": 16,
    "reference_steps": 8,
}


@dataclass(frozen=True, eq=False)
class Points:
    """Points of the plane where a dataset has its pictures."""

    values: Tensor
    size = (1, 2)

    def __len__(self) -> int:
        return len(self.values)

    def image(self, position: int) -> Tensor:
        return self.values[position]

    def select(self, positions: Sequence[int]) -> "Points":
        return Points(self.values[torch.tensor(positions)])

    def stacked(self) -> Tensor:
        raise NotImplementedError


@pytest.fixture(scope="session")
def plane() -> Dataset:
    """Forty points of the plane with their classes."""
    values = torch.rand(40, 2, generator=torch.Generator().manual_seed(7))
    return Dataset("plane", CLASSES, Points(values), tuple(spiral_class(values).tolist()), tuple(range(40)))


@pytest.fixture(scope="session")
def make_evaluation(plane: Dataset) -> Callable[..., Evaluation]:
    """`make_evaluation({"method": "rs"}, {"steps": 2}, every=10)`: those settings on every tenth point."""

    def make(*settings: dict[str, Any], every: int = 8, **common: Any) -> Evaluation:
        parts = name_parts([Settings(**{**SMALL, **common, **each}) for each in settings or ({},)])
        selection = Selection(every=every)
        return Evaluation(load_planar(), selection.of(plane), selection, parts)

    return make


@pytest.fixture(scope="session")
def make_row() -> Callable[..., Row]:
    """A plausible row with some values changed."""

    def make(idx: int, **changes: Any) -> Row:
        values: dict[str, Any] = {
            "label": 3,
            "predict": 3,
            "radius": 0.25 + idx / 1000,
            "correct": 1,
            "time": "0:00:01.500000",
            "abstain": 0,
            "top_class": 3,
            "p_a": 0.9,
            "p_m": 0.04,
            "votes": 950,
            "n": 1000,
            "audited": 190,
            "mismatched": 1,
            "audited_others": 10,
            "recovered": 0,
            "evaluations": 9000,
            "true_mismatch": 0.01,
            "gap": 0.03,
            "equal_cost_n": 300,
            "equal_cost_radius": 0.2,
            "seed": 17,
            "setting": "SRS-MDEQ-3A",
            "model": "plane",
            "sigma": 0.25,
        }
        return Row(idx=idx, **{**values, **changes})

    return make


@pytest.fixture(scope="session")
def without_time() -> Callable[[Path], list[list[str]]]:
    """A result file's cells, but for the one column that a clock decides."""

    def read(path: Path) -> list[list[str]]:
        lines = [line.split("\t") for line in path.read_text().splitlines()]
        return [line[:5] + line[6:] for line in lines]

    return read
