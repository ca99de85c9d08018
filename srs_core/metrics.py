"""What a result file says in a few numbers: certified accuracy, radii, mismatches, speed.

All take frames with the columns of a result file, one row for each picture. Abstentions stay in every denominator: a
model must not look better for having kept silent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

__all__ = [
    "RADII",
    "SpeedUp",
    "Summary",
    "accuracy_interval",
    "average_certified_radius",
    "certified_accuracy",
    "relative_radius_differences",
    "seconds",
    "speed_up",
    "summary",
]

RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""The radii at which papers usually tell certified accuracy."""

LEAST = 1e-100
"""A smaller radius or cost is none, and what is divided by it overflows."""

Floats = NDArray[np.float64]


def certified_accuracy(frame: pd.DataFrame, radii: Sequence[float] | Floats) -> Floats:
    """The share of all pictures that are classified right with a certified radius above r, for each r.

    An abstention counts as not right, at every r.
    """
    _some(frame)
    certified = np.sort(frame["radius"].to_numpy(dtype=float)[_right(frame)])
    beyond = len(certified) - np.searchsorted(certified, np.asarray(radii, dtype=float), side="right")
    return np.asarray(beyond / len(frame), dtype=np.float64)


def accuracy_interval(accuracy: float, pictures: int, confidence: float = 0.95) -> tuple[float, float]:
    """Where the accuracy on all pictures of the kind lies, given it on this many of them (Clopper-Pearson).

    A hundred pictures say an accuracy of 50 % to about ten points up or down.
    """
    hits, tail = round(accuracy * pictures), (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, pictures - hits + 1))
    high = 1.0 if hits == pictures else float(beta.ppf(1 - tail, hits + 1, pictures - hits))
    return low, high


def average_certified_radius(frame: pd.DataFrame) -> float:
    """The mean over all pictures of the certified radius, 0 where the answer is wrong or abstained (ACR).

    Its weakness: radii grow without limit as p_A nears 1, and with the number of votes, so that a few easy pictures
    outweigh many hard ones. A model can raise its ACR while it certifies fewer pictures; read it together with the
    certified accuracy at each radius, and compare it only at the same sigma, n and alpha.
    """
    _some(frame)
    return float(np.where(_right(frame), frame["radius"].to_numpy(), 0.0).mean())


def relative_radius_differences(frame: pd.DataFrame, base: pd.DataFrame) -> Floats:
    """(base - ours) / base for each picture of both that the base certifies (RRD); 1 where ours abstains.

    Negative where ours is larger. Pictures on which the base abstains have no such number.
    """
    both = _together(frame, base, "radius")
    certified = both[both["radius_base"] > LEAST]
    return np.asarray(1 - certified["radius"].to_numpy() / certified["radius_base"].to_numpy(), dtype=np.float64)


@dataclass(frozen=True)
class SpeedUp:
    """How many times less than the base a setting took on the pictures of both: in evaluations of f, and in time."""

    evaluations: float | None
    seconds: float | None


def speed_up(frame: pd.DataFrame, base: pd.DataFrame) -> SpeedUp | None:
    """Total cost of the base over total cost of ours, on the pictures of both; None when there are none."""
    both = _together(frame, base, "time", "evaluations")
    if both.empty:
        return None
    costs = both.assign(seconds=seconds(both["time"]), seconds_base=seconds(both["time_base"]))
    return SpeedUp(_ratio(costs, "evaluations"), _ratio(costs, "seconds"))


def seconds(times: "pd.Series[Any]") -> Floats:
    """Times in seconds: as h:mm:ss.ffffff, as result files have them, or plain numbers, which are seconds already."""
    numbers = pd.to_numeric(times, errors="coerce")
    clocks = pd.to_timedelta(times.where(numbers.isna())).dt.total_seconds()
    return np.asarray(numbers.fillna(clocks), dtype=np.float64)


@dataclass(frozen=True)
class Summary:
    """The numbers of one result file; None where they are not known, as for a mismatch without an audit.

    `violations` counts pictures whose true mismatch exceeds its bound: rare, as each has the error probability alpha.
    `beaten` is the share on which plain smoothing of the same cost certifies something, and at least as much.
    """

    pictures: int
    abstained: float
    certified: tuple[float, ...]
    acr: float
    p_a: float | None
    p_m: float | None
    true_mismatch: float | None
    gap: float | None
    violations: int | None
    beaten: float | None
    rrd: float | None
    speed_up: SpeedUp | None
    seconds: float
    evaluations: float | None


def summary(frame: pd.DataFrame, radii: Sequence[float] = RADII, base: pd.DataFrame | None = None) -> Summary:
    """All numbers of one result file; those against a base need that base's file."""
    differences = np.empty(0) if base is None else relative_radius_differences(frame, base)
    gaps = frame["gap"].dropna() if "gap" in frame else pd.Series(dtype=float)
    equal = frame.dropna(subset=["equal_cost_radius"]) if "equal_cost_radius" in frame else frame.iloc[:0]
    return Summary(
        pictures=len(frame),
        abstained=float((frame["predict"] == -1).mean()),
        certified=tuple(certified_accuracy(frame, radii).tolist()),
        acr=average_certified_radius(frame),
        p_a=_mean(frame, "p_a"),
        p_m=_mean(frame, "p_m"),
        true_mismatch=_mean(frame, "true_mismatch"),
        gap=_mean(frame, "gap"),
        violations=int((gaps < 0).sum()) if len(gaps) else None,
        beaten=_beaten(equal) if len(equal) else None,
        rrd=float(differences.mean()) if len(differences) else None,
        speed_up=None if base is None else speed_up(frame, base),
        seconds=float(seconds(frame["time"]).mean()),
        evaluations=_mean(frame, "evaluations"),
    )


def _right(frame: pd.DataFrame) -> NDArray[np.bool_]:
    return np.asarray((frame["correct"] == 1) & (frame["predict"] != -1), dtype=np.bool_)


def _beaten(frame: pd.DataFrame) -> float:
    """The share of pictures on which plain smoothing wins at equal cost; where both abstain nobody does."""
    plain = frame["equal_cost_radius"]
    return float(((plain > 0) & (plain >= frame["radius"])).mean())


def _together(frame: pd.DataFrame, base: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The pictures of both with these columns of each; of others a file from elsewhere may have any."""
    ours, theirs = (each[[name for name in ("idx", *columns) if name in each]] for each in (frame, base))
    return ours.merge(theirs, on="idx", suffixes=("", "_base"))


def _ratio(both: pd.DataFrame, column: str) -> float | None:
    """The base's total over ours, where both tell their cost; None when they do so nowhere."""
    if f"{column}_base" not in both:
        return None
    known = both[[column, f"{column}_base"]].dropna()
    ours, base = known[column].sum(), known[f"{column}_base"].sum()
    return float(base / ours) if ours > LEAST else None


def _mean(frame: pd.DataFrame, column: str) -> float | None:
    values = frame[column].dropna() if column in frame else pd.Series(dtype=float)
    return float(values.mean()) if len(values) else None


def _some(frame: pd.DataFrame) -> None:
    if frame.empty:
        raise ValueError("There are no pictures in these results; certify at least one.")
