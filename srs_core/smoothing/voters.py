"""Voters: from a batch of noisy pictures to labels, by the standard model or by the serialized proxy."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from srs_core.model import Model, in_precision
from srs_core.smoothing.settings import Settings
from srs_core.solvers import Solution, solve
from srs_core.solvers.state import State, parts, rebuild, take, to_rows

__all__ = ["Ballot", "SerialVoter", "StandardVoter", "Voter", "make_voter"]


@dataclass(frozen=True)
class Ballot:
    """The labels of a batch, how sure each was (top logit minus the next), and what they cost."""

    classes: int
    labels: Tensor
    margins: Tensor
    residuals: Tensor
    evaluations: Tensor


class Voter(Protocol):
    """Whoever labels noisy pictures."""

    def vote(self, pictures: Tensor) -> Ballot:
        """Label a batch."""


class StandardVoter:
    """The standard model: a cold solve, in which a picture's label depends on that picture alone."""

    def __init__(self, model: Model, settings: Settings) -> None:
        self._model = model
        self._settings = settings

    def vote(self, pictures: Tensor) -> Ballot:
        """Solve every picture from the cold start and classify."""
        s = self._settings
        return _ballot(self._model, _cold(self._model, pictures, s.reference_solver, s.reference_steps, s.tol))


class SerialVoter:
    """The serialized proxy: a few steps from where earlier pictures' solves ended.

    The first batch, and the first after each restart, is warmed up from the cold start with many steps. Labels
    of different batches depend on each other, which is why they are audited.
    """

    def __init__(self, model: Model, settings: Settings, image: Tensor) -> None:
        self._model = in_precision(model, settings.proxy_precision)
        self._settings = settings
        self._image = image
        self._memory: State | None = None
        self._remembered = 0
        self._batches = 0
        self.preparation = 0
        if settings.start == "clean":
            solution = self._warm_up(image.unsqueeze(0))
            self._memory = solution.z
            self.preparation = int(solution.evaluations.sum())

    def vote(self, pictures: Tensor) -> Ballot:
        """Solve a batch from the warm start and classify."""
        s = self._settings
        if s.restart_every is not None and self._batches % s.restart_every == 0:
            self._memory, self._remembered = None, 0
        self._batches += 1
        if s.start == "zero":
            solution = self._few_steps(pictures, self._model.initial(pictures))
        elif self._memory is None:
            solution = self._warm_up(pictures)
        else:
            solution = self._few_steps(pictures, _spread(self._memory, pictures.shape[0]))
        self._remember(solution.z)
        return _ballot(self._model, solution)

    def _warm_up(self, pictures: Tensor) -> Solution:
        s = self._settings
        return _cold(self._model, pictures, s.warm_up_solver, s.warm_up_steps, s.tol)

    def _few_steps(self, pictures: Tensor, start: State) -> Solution:
        s = self._settings
        # One step ends after one evaluation anyway: asking who has converged would only cost.
        tol = s.tol if s.proxy_steps > 1 else 0.0
        injection = self._model.inject(pictures)
        return solve(self._model.step, injection, start, solver=s.solver, steps=s.proxy_steps, tol=tol)

    def _remember(self, z: State) -> None:
        if self._settings.start == "previous":
            self._memory = z
        elif self._settings.start == "mean":
            rows = to_rows(z)
            total = self._remembered + rows[0].shape[0]
            means = [row.mean(dim=0, keepdim=True) for row in rows]
            if self._memory is not None:
                share = rows[0].shape[0] / total
                means = [old.lerp(new, share) for old, new in zip(to_rows(self._memory), means, strict=True)]
            self._memory, self._remembered = rebuild(means, like=z), total


def _spread(memory: State, count: int) -> State:
    """The remembered states for so many pictures: the first ones, or all of them again and again."""
    first = parts(memory)[0]
    if first.shape[0] == count:
        return memory
    return take(memory, torch.arange(count, device=first.device) % first.shape[0])


def make_voter(model: Model, settings: Settings, image: Tensor) -> StandardVoter | SerialVoter:
    """The voter that the settings' method asks for."""
    return SerialVoter(model, settings, image) if settings.audited else StandardVoter(model, settings)


def _cold(model: Model, pictures: Tensor, solver: str, steps: int, tol: float) -> Solution:
    start, injection = model.initial(pictures), model.inject(pictures)
    return solve(model.step, injection, start, solver=solver, steps=steps, tol=tol)


def _ballot(model: Model, solution: Solution) -> Ballot:
    logits = model.classify(solution.z)
    best = logits.topk(2, dim=1)
    return Ballot(
        classes=logits.shape[1],
        labels=best.indices[:, 0],
        margins=best.values[:, 0] - best.values[:, 1],
        residuals=solution.residuals,
        evaluations=solution.evaluations,
    )
