"""The planner: a small pilot that proposes the method with the largest expected radius for a budget.

The pilot looks only at selection draws, which no bound uses, so that its choices cost no confidence.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srs_core.model import Model, device_of
from srs_core.smoothing.bounds import certified_radius
from srs_core.smoothing.certificate import AuditCounts
from srs_core.smoothing.estimate import lower_bound
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import SerialVoter, StandardVoter, Voter

__all__ = ["Alternative", "Plan", "plan"]

STARTS = ("previous", "mean")
STEPS = (1, 2, 3, 5)
AUDIT_SHARES = (0.1, 0.2, 0.35, 0.5, 0.7)
PILOT_CHUNKS = 4


@dataclass(frozen=True)
class Alternative:
    """One way to spend the budget, and the radius it can be expected to certify."""

    settings: Settings
    expected_radius: float
    expected_mismatch: float | None


@dataclass(frozen=True)
class Plan:
    """All alternatives that were weighed, the best first, and what the pilot saw and cost."""

    alternatives: tuple[Alternative, ...]
    p_a_estimate: float
    budget: int
    pilot_evaluations: int
    pilot_seconds: float

    @property
    def best(self) -> Alternative:
        """The alternative with the largest expected radius."""
        return self.alternatives[0]


@dataclass(frozen=True)
class _Pilot:
    labels: NDArray[np.int64]
    evaluations: int
    seconds: float
    skipped: int

    @property
    def cost(self) -> float:
        return self.evaluations / len(self.labels)


def plan(
    model: Model,
    image: Tensor,
    settings: Settings,
    evaluations: int | None = None,
    seconds: float | None = None,
) -> Plan:
    """Propose method, start, steps, n and audit for a budget of evaluations of f, or of seconds.

    Without a budget it is what plain smoothing with the settings' n0 and n would cost. The expected radius of an
    alternative puts the pilot's shares of votes and mismatches, drawn a little towards ignorance, into the bound;
    it is an expectation, not a promise.
    """
    if settings.n0 < 2:
        raise ValueError(
            f"n0 is {settings.n0}; a pilot needs at least 2 selection draws: one to warm up, one to compare."
        )
    begin = time.perf_counter()
    picture = image.to(device_of(model, image))
    plain = settings.plain()
    standard = _run(StandardVoter(model, plain), picture, settings, skip=False)
    leader = int(np.bincount(standard.labels).argmax())
    hits = standard.labels == leader
    p_a = _shrunk(int(hits.sum()), len(hits))
    if evaluations is None:
        rate = standard.evaluations / standard.seconds
        evaluations = math.ceil((settings.n0 + settings.n) * standard.cost) if seconds is None else int(seconds * rate)
    selection = settings.n0 * standard.cost
    alternatives = [_plain_alternative(plain, evaluations - selection, standard.cost, p_a)]
    spent = standard.evaluations
    for start in STARTS:
        for steps in STEPS:
            proxy = settings.with_(method="srs", start=start, steps=steps, audit=1, n=max(settings.n, 1), census=0)
            pilot = _run(SerialVoter(model, proxy, picture), picture, settings, skip=True)
            spent += pilot.evaluations
            alternatives += _serial_alternatives(
                proxy, pilot.labels, hits[pilot.skipped :], leader, evaluations - selection, standard.cost
            )
    useful = sorted(alternatives, key=lambda alternative: -alternative.expected_radius)
    best_of_each: dict[tuple[str, str, int], Alternative] = {}
    for alternative in useful:
        s = alternative.settings
        best_of_each.setdefault((s.method, s.start, s.proxy_steps), alternative)
    return Plan(tuple(best_of_each.values()), p_a, evaluations, spent, time.perf_counter() - begin)


def _run(voter: Voter, picture: Tensor, settings: Settings, skip: bool) -> _Pilot:
    """Label the selection draws in a few chunks; a chain's first chunk warms it up and does not count."""
    copies = NoisyCopies(picture, settings.sigma, settings.seed, Purpose.SELECTION)
    begin = time.perf_counter()
    labels, evaluations, skipped = [], 0, 0
    for i, (start, stop) in enumerate(_chunks(settings.n0)):
        ballot = voter.vote(copies.batch(start, stop))
        small = torch.stack([ballot.labels, ballot.evaluations]).cpu().numpy()
        evaluations += int(small[1].sum())
        if skip and i == 0:
            skipped = stop
            continue
        labels.append(small[0])
    return _Pilot(np.concatenate(labels), evaluations, time.perf_counter() - begin, skipped)


def _chunks(n0: int) -> Iterator[tuple[int, int]]:
    size = max(math.ceil(n0 / PILOT_CHUNKS), 1)
    for start in range(0, n0, size):
        yield start, min(start + size, n0)


def _shrunk(hits: int, draws: int) -> float:
    return (hits + 0.5) / (draws + 1)


def _plain_alternative(plain: Settings, budget: float, cost: float, p_a: float) -> Alternative:
    n = max(int(budget / cost), 1)
    lower = lower_bound("", n, int(p_a * n), None, plain.alpha)
    chosen = plain.with_(n=n, batch_size=None if plain.batch_size is None else min(plain.batch_size, n))
    return Alternative(chosen, certified_radius(lower, plain.sigma), None)


def _serial_alternatives(
    proxy: Settings, labels: NDArray[np.int64], hits: NDArray[np.bool_], leader: int, budget: float, cost: float
) -> Iterator[Alternative]:
    votes = labels == leader
    vote_share = _shrunk(int(votes.sum()), len(votes))
    mismatch = _shrunk(int((votes & ~hits).sum()), int(votes.sum()))
    recovery = _shrunk(int((~votes & hits).sum()), int((~votes).sum()))
    for share in AUDIT_SHARES:
        audit = int(share * budget / cost)
        n = int((budget - audit * cost) / proxy.proxy_steps)
        if not 1 <= audit <= n:
            continue
        ours, audited = int(vote_share * n), int(vote_share * audit)
        counts = AuditCounts(
            votes=ours,
            audited=audited,
            mismatched=math.ceil(mismatch * audited),
            audited_others=audit - audited,
            recovered=int(recovery * (audit - audited)),
        )
        lower = lower_bound(proxy.estimator, n, ours, counts, proxy.alpha)
        chosen = proxy.with_(n=n, audit=audit)
        yield Alternative(chosen, certified_radius(lower, proxy.sigma), mismatch)
