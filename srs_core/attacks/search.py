"""One search: projected gradient steps from one starting point, and the check of where they lead."""

from dataclasses import dataclass

import torch
from torch import Tensor

from srs_core.attacks.gradient import uphill
from srs_core.attacks.projection import project, random_start
from srs_core.attacks.settings import AttackSettings
from srs_core.attacks.target import Target
from srs_core.smoothing.noise import NoisyCopies, Purpose, derive_seed
from srs_core.smoothing.predict import predict
from srs_core.solvers import solve
from srs_core.solvers.state import State

__all__ = ["CHECK_DRAWS", "Candidate", "Search"]

CHECK_DRAWS = 64
CHECK_ALPHA = 0.05
START, NOISE, CHECK = range(3)


@dataclass(frozen=True, eq=False)
class Candidate:
    """An attacked picture and a first impression: how far its class still leads, and whether another clearly won."""

    attacked: Tensor
    lead: float
    won: bool


class Search:
    """The mutable side of a search; the first one starts at the picture, later ones at random points of the ball."""

    def __init__(
        self, target: Target, image: Tensor, label: int, radius: float, settings: AttackSettings, number: int
    ) -> None:
        self._target, self._image, self._label = target, image, label
        self._radius, self._settings, self._number = radius, settings, number
        self._noise = NoisyCopies(torch.zeros_like(image), settings.sigma, self._seed(NOISE), Purpose.ATTACK)
        self._z: State | None = None
        self._generator = torch.Generator().manual_seed(self._seed(START))
        self.attacked = image if number == 0 else random_start(image, radius, self._generator)
        self.taken = 0
        self.loss = 0.0
        self.share = 1.0

    def advance(self) -> None:
        """Take one step: new noise, the fixed points, the gradient, and back into the allowed set."""
        copies = self._copies()
        self._z = self._solve(copies)
        found = uphill(self._target.search, copies, self._z, self._label, self._settings.gradient_steps)
        self.loss = found.loss
        self.share = float((found.labels == self._label).double().mean())
        length = self._settings.step * self._radius
        self.attacked = project(self._image, self.attacked + length * self._direction(found.gradient), self._radius)
        self.taken += 1

    def check(self) -> Candidate:
        """Ask the smoothed model with a few draws, which neither the steps nor the verdict use."""
        few = self._settings.verdict.with_(
            n=CHECK_DRAWS, alpha=CHECK_ALPHA, batch_size=None, seed=self._seed(CHECK, self.taken)
        )
        answer = predict(self._target.answer, self.attacked, few)
        others = max(votes for c, votes in enumerate(answer.votes) if c != self._label)
        lead = (answer.votes[self._label] - others) / CHECK_DRAWS
        return Candidate(self.attacked, lead, won=answer.class_index not in (None, self._label))

    def _seed(self, use: int, *path: int) -> int:
        return derive_seed(self._settings.seed, Purpose.ATTACK, self._number, use, *path)

    def _copies(self) -> Tensor:
        m = self._settings.samples
        if m == 0:
            return self.attacked.unsqueeze(0)
        # New draws at every step: a perturbation that fools only the draws it was made from fools nobody.
        return self._noise.batch(self.taken * m, (self.taken + 1) * m) + self.attacked

    @torch.no_grad()
    def _solve(self, copies: Tensor) -> State:
        s, model = self._settings, self._target.answer
        first = self._z is None
        return solve(
            model.step,
            model.inject(copies),
            model.initial(copies) if first else self._z,  # type: ignore[arg-type]
            solver=s.reference_solver,
            steps=s.reference_steps if first else min(s.solve_steps, s.reference_steps),
            tol=s.tol,
        ).z

    def _direction(self, gradient: Tensor) -> Tensor:
        size = torch.linalg.vector_norm(gradient)
        if not bool(size.isfinite()) or not bool(size > 0):
            # Nothing to follow: any direction is as good, and standing still is the only useless one.
            gradient = torch.randn(gradient.shape, generator=self._generator, dtype=gradient.dtype).to(gradient.device)
            size = torch.linalg.vector_norm(gradient)
        direction: Tensor = gradient / size
        return direction
