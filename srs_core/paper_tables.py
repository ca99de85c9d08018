"""The tables printed in the paper on serialized randomized smoothing for deep equilibrium models, as data.

Gao, Hou, Xu and Liu, "Certified Robustness for Deep Equilibrium Models via Serialized Random Smoothing", NeurIPS
2024, arXiv 2411.00899. The numbers are the paper's; nothing here was measured by this project.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files

__all__ = [
    "AttackCurve",
    "AttackSuccess",
    "CertifiedCurve",
    "Cutoff",
    "RadiusDifference",
    "Timing",
    "accuracy_under_attack",
    "attack_success",
    "certified_accuracy",
    "cutoff_radii",
    "radius_differences",
    "timings",
]


@dataclass(frozen=True)
class CertifiedCurve:
    """Certified accuracy in percent at growing radii, for one model of one study; sigma is None if not given."""

    study: str
    dataset: str
    variant: str
    sigma: float | None
    model: str
    radii: tuple[float, ...]
    percent: tuple[float, ...]

    @property
    def serialized(self) -> bool:
        """Whether this is SRS; else it is plain smoothing or another method."""
        return self.model.startswith("SRS")


@dataclass(frozen=True)
class Timing:
    """Average certified radius and seconds an image on an A100."""

    dataset: str
    variant: str
    sigma: float
    model: str
    average_radius: float | None
    seconds: float


@dataclass(frozen=True)
class RadiusDifference:
    """The mean relative difference of radii (RRD) from the 30-step model's."""

    variant: str
    model: str
    solver_steps: str
    difference: float


@dataclass(frozen=True)
class Cutoff:
    """The largest radius that a share of votes can give, as printed: plain smoothing and SRS."""

    share: float
    plain: float
    serialized: float


@dataclass(frozen=True)
class AttackCurve:
    """Accuracy in percent under an attack of growing radius; "Certified" is what was promised."""

    variant: str
    attack: str
    radii: tuple[float, ...]
    percent: tuple[float, ...]


@dataclass(frozen=True)
class AttackSuccess:
    """How often an attack of this radius succeeded where it was not, and where it was, certified to fail."""

    variant: str
    attack: str
    radius: float
    uncertified_percent: float
    certified_percent: float


@lru_cache(maxsize=1)
def certified_accuracy() -> tuple[CertifiedCurve, ...]:
    """Certified accuracy: the main tables and the ablations."""
    points: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for row in _rows("certified-accuracy"):
        key = tuple(row[name] for name in ("study", "dataset", "variant", "sigma", "model"))
        points.setdefault(key, []).append((float(Fraction(row["radius"])), float(row["percent"])))
    return tuple(
        CertifiedCurve(study, dataset, variant, float(sigma) if sigma else None, model, *_columns(curve))
        for (study, dataset, variant, sigma, model), curve in points.items()
    )


def timings() -> tuple[Timing, ...]:
    """Radius and time."""
    return tuple(
        Timing(
            row["dataset"],
            row["variant"],
            float(row["sigma"]),
            row["model"],
            float(row["acr"]) if row["acr"] else None,
            float(row["seconds_a100"]),
        )
        for row in _rows("time-per-image")
    )


def radius_differences() -> tuple[RadiusDifference, ...]:
    """How far cheap radii are from the expensive ones."""
    return tuple(
        RadiusDifference(row["variant"], row["model"], row["solver_steps"], float(row["rrd"]))
        for row in _rows("mean-relative-radius-difference")
    )


def cutoff_radii() -> tuple[Cutoff, ...]:
    """The printed table of cut-off radii (N 10,000, K 1,000, alpha 0.001, sigma 0.5)."""
    return tuple(Cutoff(float(row["ratio"]), float(row["base"]), float(row["srs"])) for row in _rows("cutoff-radius"))


def accuracy_under_attack() -> tuple[AttackCurve, ...]:
    """What attacks left of the accuracy, beside what was certified."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in _rows("accuracy-under-attack"):
        points.setdefault((row["variant"], row["attack"]), []).append((float(row["radius"]), float(row["percent"])))
    return tuple(AttackCurve(variant, attack, *_columns(curve)) for (variant, attack), curve in points.items())


def attack_success() -> tuple[AttackSuccess, ...]:
    """Attacks on certified and on uncertified pictures."""
    return tuple(
        AttackSuccess(
            row["variant"],
            row["attack"],
            float(row["radius"]),
            float(row["uncertified_percent"]),
            float(row["certified_percent"]),
        )
        for row in _rows("attack-success")
    )


def _columns(points: list[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(radius for radius, _ in points), tuple(percent for _, percent in points)


def _rows(table: str) -> Iterator[dict[str, str]]:
    with files("srs_core").joinpath("paper", f"{table}.csv").open(encoding="utf-8") as text:
        yield from csv.DictReader(text)
