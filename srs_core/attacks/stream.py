"""An attack as a stream: progress and cancelling are the same thing, as in certification."""

import time
from collections.abc import Iterator

import torch
from torch import Tensor

from srs_core.attacks.projection import distance
from srs_core.attacks.result import AttackPhase, AttackResult, AttackSnapshot, Outcome
from srs_core.attacks.search import Candidate, Search
from srs_core.attacks.settings import AttackSettings
from srs_core.attacks.target import Target, as_target
from srs_core.model import Model, device_of
from srs_core.smoothing.predict import Prediction, predict_stream
from srs_core.smoothing.stream import check_image
from srs_core.smoothing.voters import StandardVoter

__all__ = ["attack_image", "attack_stream"]

CHECK_EVERY = 5


def attack_stream(
    model: Model | Target, image: Tensor, label: int, radius: float, settings: AttackSettings
) -> Iterator[AttackSnapshot]:
    """Look for a picture within the radius that the smoothed model does not call `label`; the last snapshot tells.

    The attacked picture is within the radius and in [0, 1]. To cancel, stop asking. The searches' own checks decide
    only which picture is put to the verdict; the verdict is one test with fresh noise, wrong with probability at
    most alpha.
    """
    if not 0 < radius < float("inf"):
        raise ValueError(f"radius is {radius}; it must be a positive number.")
    check_image(image)
    if float(image.min()) < 0 or float(image.max()) > 1:
        raise ValueError("The picture has values outside [0, 1]; an attack needs a real picture to start from.")
    target = as_target(model)
    run = _Run(target, image.to(device_of(target.answer, image)), label, radius, settings)
    yield from run.search()
    yield from run.verdict()


def attack_image(
    model: Model | Target, image: Tensor, label: int, radius: float, settings: AttackSettings
) -> AttackResult:
    """Attack a picture: `attack_stream` run to its end."""
    for snapshot in attack_stream(model, image, label, radius, settings):
        if snapshot.result is not None:
            return snapshot.result
    raise AssertionError("a stream ends with a result")


class _Run:
    """One attack in progress."""

    def __init__(self, target: Target, image: Tensor, label: int, radius: float, settings: AttackSettings) -> None:
        self.target, self.image, self.label, self.radius, self.settings = target, image, label, radius, settings
        self.best: Candidate | None = None
        self.searches = 0
        self.steps = 0
        self.begin = time.perf_counter()
        self.latest: Search | None = None

    def search(self) -> Iterator[AttackSnapshot]:
        """Search from one start after the other until a check says that the class has clearly lost."""
        for number in range(self.settings.restarts + 1):
            search = Search(self.target, self.image, self.label, self.radius, self.settings, number)
            self.latest, self.searches = search, number + 1
            while search.taken < self.settings.steps:
                search.advance()
                self.steps += 1
                yield self._snapshot("search", search.attacked, number * self.settings.steps + search.taken)
                if self._worth_checking(search):
                    candidate = search.check()
                    if self.best is None or candidate.won or candidate.lead < self.best.lead:
                        self.best = candidate
                    if candidate.won:
                        return

    def verdict(self) -> Iterator[AttackSnapshot]:
        """Put the best candidate to the vote."""
        assert self.best is not None
        attacked = self.best.attacked
        planned = (self.settings.restarts + 1) * self.settings.steps
        for i, answer in enumerate(predict_stream(self.target.answer, attacked, self.settings.verdict), start=1):
            yield self._snapshot("verdict", attacked, min(planned + i, self._total()), answer.votes)
        yield self._snapshot("done", attacked, self._total(), answer.votes, self._result(answer, attacked))

    def _worth_checking(self, search: Search) -> bool:
        if search.taken == self.settings.steps:
            return True
        return search.taken % CHECK_EVERY == 0 and search.share <= 0.5

    def _total(self) -> int:
        s = self.settings
        size = min(s.batch_size or 64, s.n)
        return (s.restarts + 1) * s.steps + -(-s.n // size)

    def _snapshot(
        self,
        phase: AttackPhase,
        attacked: Tensor,
        done: int,
        votes: tuple[int, ...] = (),
        result: AttackResult | None = None,
    ) -> AttackSnapshot:
        assert self.latest is not None
        return AttackSnapshot(
            settings=self.settings,
            radius=self.radius,
            label=self.label,
            phase=phase,
            done=done,
            total=self._total(),
            search=self.searches,
            step=self.latest.taken,
            loss=self.latest.loss,
            share=self.latest.share,
            distance=distance(self.image, attacked),
            votes=votes,
            seconds=time.perf_counter() - self.begin,
            attacked=attacked,
            result=result,
        )

    @torch.no_grad()
    def _result(self, answer: Prediction, attacked: Tensor) -> AttackResult:
        plain = StandardVoter(self.target.answer, self.settings.verdict).vote(attacked.unsqueeze(0))
        return AttackResult(
            outcome=_outcome(answer.class_index, self.label),
            label=self.label,
            answer=answer.class_index,
            plain_answer=int(plain.labels[0]),
            radius=self.radius,
            distance=distance(self.image, attacked),
            votes=answer.votes,
            p_value=answer.p_value,
            searches=self.searches,
            steps=self.steps,
            seconds=time.perf_counter() - self.begin,
            settings=self.settings,
            attacked=attacked.cpu(),
        )


def _outcome(answer: int | None, label: int) -> Outcome:
    if answer is None:
        return "undecided"
    return "same" if answer == label else "changed"
