"""Plain and serialized smoothing side by side, on the same noise, with what each cost."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from srs_core.model import Model
from srs_core.smoothing.bounds import certified_radius, clopper_pearson_lower
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.snapshot import Snapshot
from srs_core.smoothing.stream import certify_stream

__all__ = ["Comparison", "EqualCost", "Measured", "Race", "compare", "compare_stream", "measure"]


@dataclass(frozen=True)
class EqualCost:
    """What plain smoothing certifies with the evaluations of f that a serialized run spent.

    `n` is how many of its votes that price buys, at most all that were drawn; `plain_wins` says that it
    certifies something, and serialized smoothing no more than that.
    """

    n: int
    radius: float
    plain_wins: bool


@dataclass(frozen=True)
class Measured:
    """How a serialized run did against the plain one on the same noise.

    `true_mismatch` is the share of the proxy's votes for the class that the standard model, which voted on the
    same noisy pictures, does not share; `gap` is the audit's bound minus that. The relative radius difference is
    (plain - serialized) / plain, None where plain smoothing abstains. Speed-ups above 1 favour serialized.
    """

    true_mismatch: float | None
    gap: float | None
    relative_radius_difference: float | None
    speed_up_evaluations: float
    speed_up_seconds: float
    equal_cost: EqualCost


@dataclass(frozen=True)
class Comparison:
    """One plain certificate, and one or more serialized ones with what was measured against it."""

    rs: Certificate
    srs: tuple[Certificate, ...]
    measured: tuple[Measured, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `equal_cost` stands beside the certificates it belongs to."""
        return {
            "rs": self.rs.to_dict(),
            "srs": [certificate.to_dict() for certificate in self.srs],
            "equal_cost": [asdict(m.equal_cost) for m in self.measured],
            "measured": [
                {key: value for key, value in asdict(m).items() if key != "equal_cost"} for m in self.measured
            ],
        }


@dataclass(frozen=True)
class Race:
    """Where each run stands; the first is the plain one. The last item of a race carries the comparison."""

    snapshots: tuple[Snapshot | None, ...]
    comparison: Comparison | None = None


def compare_stream(model: Model, image: Tensor, srs: Sequence[Settings]) -> Iterator[Race]:
    """Run plain smoothing and each serialized setting side by side, batch by batch, as a fair race.

    All runs see the same noisy pictures; plain smoothing certifies the same standard model. The run that has used
    the least time goes next, so that at any moment all that still run have had the same time.
    """
    if not srs or any(settings.method != "srs" for settings in srs):
        raise ValueError("A comparison needs one or more settings with method 'srs'.")
    first = srs[0]
    for name in ("sigma", "n", "n0", "alpha", "seed", "reference_solver", "reference_steps", "tol"):
        if len({getattr(settings, name) for settings in srs}) > 1:
            raise ValueError(f"The settings compared differ in {name}; it must be the same for all.")
    runs = [first.plain(), *srs]
    streams = [certify_stream(model, image, settings) for settings in runs]
    latest: list[Snapshot | None] = [None] * len(runs)
    labels: list[list[int]] = [[] for _ in runs]
    while open_runs := [i for i, snapshot in enumerate(latest) if snapshot is None or snapshot.certificate is None]:
        turn = min(open_runs, key=lambda i: 0.0 if (s := latest[i]) is None else s.seconds)
        snapshot = next(streams[turn])
        latest[turn] = snapshot
        labels[turn].extend(snapshot.batch_labels)
        yield Race(tuple(latest))
    certificates = [s.certificate for s in latest if s is not None and s.certificate is not None]
    arrays = [np.array(each, dtype=np.int16) for each in labels]
    plain = certificates[0]
    measured = tuple(
        measure(plain, certificate, arrays[0], array)
        for certificate, array in zip(certificates[1:], arrays[1:], strict=True)
    )
    yield Race(tuple(latest), Comparison(plain, tuple(certificates[1:]), measured))


def compare(model: Model, image: Tensor, srs: Sequence[Settings]) -> Comparison:
    """Compare plain smoothing with serialized settings: `compare_stream` run to its end."""
    for race in compare_stream(model, image, srs):
        if race.comparison is not None:
            return race.comparison
    raise AssertionError("a race ends with a comparison")


def measure(
    plain: Certificate, serialized: Certificate, standard: NDArray[np.int16], proxy: NDArray[np.int16]
) -> Measured:
    """Hold a serialized certificate against the plain one, given both runs' labels on the same noise."""
    together = min(plain.n, serialized.n)
    ours = proxy[:together] == serialized.class_index
    mismatch = float((standard[:together][ours] != serialized.class_index).mean()) if ours.any() else None
    gap = None if mismatch is None or serialized.mismatch_bound is None else serialized.mismatch_bound - mismatch
    return Measured(
        true_mismatch=mismatch,
        gap=gap,
        relative_radius_difference=None if plain.radius == 0 else 1 - serialized.radius / plain.radius,
        speed_up_evaluations=plain.evaluations / serialized.evaluations,
        speed_up_seconds=plain.seconds / serialized.seconds,
        equal_cost=equal_cost(plain, serialized, standard),
    )


def equal_cost(plain: Certificate, serialized: Certificate, standard: NDArray[np.int16]) -> EqualCost:
    """The radius of plain smoothing cut off where its evaluations reach the serialized run's."""
    left = serialized.evaluations - plain.evaluations_by_phase["selection"]
    each = plain.evaluations_by_phase["voting"] / plain.n
    n = int(min(max(left / each, 0), plain.n))
    votes = int((standard[:n] == plain.class_index).sum())
    radius = certified_radius(clopper_pearson_lower(votes, n, plain.alpha), plain.sigma) if n else 0.0
    return EqualCost(n=n, radius=radius, plain_wins=0 < radius >= serialized.radius)
