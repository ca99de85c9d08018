"""How long a certification will take on this device: a short measurement, and what it means for the settings."""

import time
from dataclasses import dataclass

from torch import Tensor

from srs_core.model import Model, device_of
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import StandardVoter

__all__ = ["SIZES", "Speed", "default_sizes", "expected_seconds", "measure_speed"]

SIZES = (100, 150, 200, 300, 400, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000)
"""The numbers of votes that are offered as a default: round ones, from quick to the literature's usual 10,000."""


@dataclass(frozen=True)
class Speed:
    """A device's speed with one model: seconds for one evaluation of f on one picture, evaluations for a full solve."""

    seconds: float
    evaluations: float


def measure_speed(model: Model, image: Tensor, settings: Settings, pictures: int = 16) -> Speed:
    """Solve a few noisy copies of the picture completely and look at the clock; the first, slow call is not counted."""
    copies = NoisyCopies(image.to(device_of(model, image)), settings.sigma, settings.seed, Purpose.SELECTION)
    voter = StandardVoter(model, settings)
    voter.vote(copies.batch(0, 1))
    batch = copies.batch(0, pictures)
    begin = time.perf_counter()
    evaluations = int(voter.vote(batch).evaluations.sum())
    elapsed = time.perf_counter() - begin
    return Speed(seconds=elapsed / evaluations, evaluations=evaluations / pictures)


def expected_seconds(settings: Settings, speed: Speed) -> float:
    """About how long a certification with these settings will take.

    Plain smoothing solves everything completely. Serialized smoothing spends its few steps on every vote, and
    complete solves on the audit and on the first batch.
    """
    solve = speed.evaluations * speed.seconds
    if not settings.audited:
        return (settings.n0 + settings.n) * solve
    vote = min(settings.proxy_steps, speed.evaluations) * speed.seconds
    warm_up = min(settings.batch_size or 64, settings.n0)
    return warm_up * solve + (settings.n0 - warm_up + settings.n) * vote + settings.audit * solve


def default_sizes(speed: Speed, settings: Settings, seconds: float = 10.0) -> Settings:
    """The settings with the largest round number of votes for which both methods together take about so many seconds.

    The selection draws and the audit shrink with the votes, so that a slow device still finishes.
    """
    best = _sized(settings, SIZES[0])
    for n in SIZES[1:]:
        candidate = _sized(settings, n)
        if expected_seconds(candidate, speed) + expected_seconds(candidate.with_(method="rs"), speed) > seconds:
            break
        best = candidate
    return best


def _sized(settings: Settings, n: int) -> Settings:
    # An audit resolves shares to about 7 / K, so a tenth of the votes is enough only when there are many.
    audit = max(n // 10, min(n // 2, 100))
    return settings.with_(n=n, n0=min(100, max(20, n // 10)), audit=audit, batch_size=None)
