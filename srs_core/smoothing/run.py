"""One certification in progress: what has been voted, checked and spent so far."""

import hashlib
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from srs_core.model import Model, device_of
from srs_core.smoothing.anytime import AnytimeBound, robust_at
from srs_core.smoothing.audit import Audit
from srs_core.smoothing.bounds import certified_radius
from srs_core.smoothing.certificate import AuditCounts, Certificate, LookRecord
from srs_core.smoothing.estimate import RS_ESTIMATOR, lower_bound, mismatch_bound, upper_bound
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.snapshot import Phase, ResidualSummary, Snapshot
from srs_core.smoothing.voters import Ballot, SerialVoter, StandardVoter, make_voter

__all__ = ["Run"]

DEFAULT_BATCH = {"cuda": 512}
QUANTILES = (0.1, 0.5, 0.9)


class Run:
    """The mutable side of a certification; `certify_stream` drives it and publishes its snapshots."""

    def __init__(self, model: Model, image: Tensor, settings: Settings) -> None:
        self.settings = settings
        self.model = model
        device = device_of(model, image)
        self.image = image.to(device)
        batch = settings.batch_size or DEFAULT_BATCH.get(device.type, 64)
        self.batch_size = min(batch, settings.n)
        self.seconds = 0.0
        self.evaluations = {"selection": 0, "voting": 0, "audit": 0}
        self.class_index: int | None = None
        self.selection_votes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.votes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.done = 0
        self.looks: list[LookRecord] = []
        self.robust: bool | None = None
        self.anytime = AnytimeBound(settings.n, settings.alpha) if settings.watched else None
        self._residuals = ResidualSummary((), (), ())
        self._labels = np.full(settings.n, -1, dtype=np.int16)
        self._latest = slice(0, 0)
        self._copies = NoisyCopies(self.image, settings.sigma, settings.seed, Purpose.ESTIMATION)
        with self.timed():
            self._voter = make_voter(model, settings, self.image)
        if isinstance(self._voter, SerialVoter):
            self.evaluations["selection"] += self._voter.preparation
        judge = StandardVoter(model, settings)
        self.audit = Audit(settings, judge, self.batch_size, self._labels) if settings.audited else None

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time in here as this run's; time between snapshots belongs to whoever asked for them."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - begin

    def select(self) -> None:
        """Choose the class by the selection draws, which no bound looks at; the chain is warmed up on them."""
        copies = NoisyCopies(self.image, self.settings.sigma, self.settings.seed, Purpose.SELECTION)
        for start in range(0, self.settings.n0, self.batch_size):
            pictures = copies.batch(start, min(start + self.batch_size, self.settings.n0))
            labels, ballot = self._vote(pictures, "selection")
            self.selection_votes = _add(self.selection_votes, labels, ballot.classes)
        self.class_index = int(self.selection_votes.argmax())
        self.votes = np.zeros_like(self.selection_votes)

    def vote_batch(self) -> None:
        """Count the next batch of votes, and judge the run if a look is due."""
        stop = min(self.done + self.batch_size, self.settings.n)
        pictures = self._copies.batch(self.done, stop)
        labels, ballot = self._vote(pictures, "voting")
        self.votes = _add(self.votes, labels, ballot.classes)
        self._latest = slice(self.done, stop)
        self._labels[self._latest] = labels
        if self.audit is not None:
            self.audit.record(self.done, pictures, ballot)
            self.evaluations["audit"] = self.audit.evaluations
        self.done = stop
        self._look()

    def finish_audit(self) -> None:
        """Check everything that still waits for its check."""
        if self.audit is not None:
            self.audit.settle()
            self.audit.take_census()
            self.evaluations["audit"] = self.audit.evaluations

    def counts(self, first: int) -> AuditCounts | None:
        """The audit's counts over the first so many votes (None without an audit)."""
        if self.audit is None or self.class_index is None:
            return None
        return self.audit.counts(self.class_index, first)

    def snapshot(self, phase: Phase) -> Snapshot:
        """Freeze what can be shown now."""
        certificate = self._certificate() if phase == "done" else None
        return Snapshot(
            settings=self.settings,
            phase=phase,
            class_index=self.class_index,
            votes=tuple(self.votes.tolist()),
            selection_votes=tuple(self.selection_votes.tolist()),
            done=self.done,
            total=self.settings.n,
            counts=self.counts(self.done),
            audit_total=0 if self.audit is None else self.audit.total,
            anytime_lower=self.anytime.lower if self.anytime is not None and self.anytime.history else None,
            residuals=self._residuals,
            evaluations=sum(self.evaluations.values()),
            seconds=self.seconds,
            seconds_left=self._seconds_left(),
            batch_labels=tuple(self._labels[self._latest].tolist()) if phase == "voting" else (),
            certificate=certificate,
        )

    def _vote(self, pictures: Tensor, phase: str) -> tuple[NDArray[np.int64], Ballot]:
        ballot = self._voter.vote(pictures)
        small = torch.stack([ballot.labels, ballot.evaluations]).cpu().numpy()
        self.evaluations[phase] += int(small[1].sum())
        self._residuals = _summarise(ballot.residuals)
        return small[0], ballot

    def _look(self) -> None:
        if self.anytime is None or self.class_index is None:
            return
        while (look := self.anytime.next_look) is not None and look.n <= self.done:
            if self.audit is not None:
                self.audit.settle()
                self.evaluations["audit"] = self.audit.evaluations
            counts = self.counts(look.n)
            votes = int((self._labels[: look.n] == self.class_index).sum())
            lower = partial(lower_bound, self.settings.estimator, look.n, votes, counts)
            self.anytime.look(look.n, lower, partial(upper_bound, look.n, votes, counts))
            self.looks.append(LookRecord(look.n, look.alpha, votes, counts, lower(look.alpha)))
            if self.settings.robust_at is not None:
                answer = robust_at(self.anytime, self.settings.robust_at, self.settings.sigma)
                self.robust = {"yes": True, "no": False}.get(answer.value)
                if self.robust is not None:
                    return

    def _seconds_left(self) -> float | None:
        spent = sum(self.evaluations.values())
        if not self.done or not spent:
            return None
        left = (self.settings.n - self.done) * self.evaluations["voting"] / self.done
        if self.audit is not None:
            each = self.audit.evaluations / self.audit.solved if self.audit.solved else self.settings.reference_steps
            left += max(self.audit.total - self.audit.solved, 0) * each
        return self.seconds * left / spent

    def _certificate(self) -> Certificate:
        s, c = self.settings, self.class_index
        assert c is not None
        n = self.looks[-1].n if self.looks else self.done
        votes = np.bincount(self._labels[:n], minlength=len(self.votes))
        counts = self.counts(n)
        if self.looks:
            p_lower = max(look.p_a_lower for look in self.looks)
        else:
            p_lower = lower_bound(s.estimator, n, int(votes[c]), counts, s.alpha)
        radius = certified_radius(p_lower, s.sigma)
        names = list(getattr(self.model, "classes", None) or [])
        return Certificate(
            method=s.method,
            model=str(getattr(self.model, "name", type(self.model).__name__)),
            model_hash=str(getattr(self.model, "hash", "unknown")),
            picture_hash=hashlib.sha256(self.image.cpu().contiguous().numpy().tobytes()).hexdigest()[:16],
            class_index=c,
            class_name=names[c] if c < len(names) else f"class {c}",
            abstained=radius == 0.0,
            radius=radius,
            p_a_lower=p_lower,
            votes=tuple(votes.tolist()),
            selection_votes=tuple(self.selection_votes.tolist()),
            counts=counts,
            mismatch_bound=None if counts is None else mismatch_bound(s.estimator, counts, s.alpha),
            looks=tuple(self.looks),
            robust_at=s.robust_at,
            robust=self.robust,
            sigma=s.sigma,
            alpha=s.alpha,
            n=n,
            planned_n=s.n,
            n0=s.n0,
            audit=s.audit if s.audited else 0,
            estimator=s.estimator if s.audited else RS_ESTIMATOR,
            solver=s.solver,
            steps=s.proxy_steps,
            start=s.start if s.audited else None,
            warm_up_solver=s.warm_up_solver if s.audited else None,
            warm_up_steps=s.warm_up_steps if s.audited else None,
            restart_every=s.restart_every,
            reference_solver=s.reference_solver,
            reference_steps=s.reference_steps,
            tol=s.tol,
            batch_size=self.batch_size,
            seed=s.seed,
            evaluations=sum(self.evaluations.values()),
            evaluations_by_phase=dict(self.evaluations),
            seconds=self.seconds,
            device=str(self.image.device),
            versions={
                "python": platform.python_version(),
                "torch": torch.__version__,
                "numpy": np.__version__,
                # The two forms of a model agree only to rounding; within one process the form is fixed.
                "form": "compiled" if getattr(self.model, "compiled", False) else "torch",
            },
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            proxy_precision=s.proxy_precision if s.audited else None,
        )


def _add(votes: NDArray[np.int64], labels: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    more = np.bincount(labels, minlength=classes)
    return votes + more if len(votes) else more


def _summarise(residuals: Tensor) -> ResidualSummary:
    rows = residuals.cpu().numpy().copy()
    for before, row in pairwise(rows):
        # Whoever has left the batch stays where it was.
        np.copyto(row, before, where=np.isnan(row))
    low, median, high = np.quantile(rows, QUANTILES, axis=1).tolist()
    return ResidualSummary(tuple(low), tuple(median), tuple(high))
