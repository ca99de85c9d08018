"""Certifications under the clock: what each way to certify costs on this machine, and what it certifies."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from srs_core.benchmark.plan import Group, expected_evaluations
from srs_core.benchmark.timed import Clock, TimedModel, forget_peak, peak_megabytes
from srs_core.model import Model, device_of, in_precision
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.compare import EqualCost, measure
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.snapshot import Snapshot
from srs_core.smoothing.stream import certify_stream

__all__ = ["Progress", "Record", "runs_stream"]


@dataclass(frozen=True)
class Record:
    """One timed certification of a group (see `plan.GROUPS`).

    `seconds` is all that the run took; `outside_share` is the part of it spent neither in f nor in stem or head. What
    compares with plain smoothing on the same noise is None for plain smoothing itself and outside races:
    `speed_up_seconds` and `speed_up_evaluations` say how many times cheaper the run was, `relative_radius_difference`
    which share of plain smoothing's radius it lost, and `equal_cost` what plain smoothing certifies for this run's
    evaluations. `peak_megabytes` is the whole process's, where runs do not take turns.
    """

    group: str
    method: str
    solver: str
    steps: int
    n: int
    audit: int
    batch_size: int
    proxy_precision: str | None
    evaluations: int
    seconds: float
    step_seconds: float
    ends_seconds: float
    outside_share: float
    class_name: str
    radius: float
    mismatch_bound: float | None
    true_mismatch: float | None = None
    speed_up_seconds: float | None = None
    speed_up_evaluations: float | None = None
    relative_radius_difference: float | None = None
    equal_cost: EqualCost | None = None
    peak_megabytes: float | None = None

    @property
    def label(self) -> str:
        """A short name: the method, its steps, its solver, and the precision where it is not the usual one."""
        name = f"{self.method.upper()} {self.steps} {self.solver}"
        return name if self.proxy_precision in (None, "float32") else f"{name} {self.proxy_precision}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"label": self.label, **asdict(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Record":
        """A record from plain values; keys that it does not know are passed over."""
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        record = cls(**known)
        return record if record.equal_cost is None else replace(record, equal_cost=EqualCost(**known["equal_cost"]))


@dataclass(frozen=True)
class Progress:
    """Where the runs stand, in evaluations of f, of which `total` are about to be expected."""

    evaluations: int
    total: int
    records: tuple[Record, ...]


def runs_stream(model: Model, image: Tensor, groups: Sequence[Group]) -> Iterator[Progress]:
    """Time all certifications of these groups, and tell after every batch how far it is."""
    device = device_of(model, image)
    image = image.to(device)
    _warm_up(model, image, groups)
    total = sum(expected_evaluations(settings) for group in groups for settings in group.settings)
    spent, records = 0, tuple[Record, ...]()
    for group in groups:
        competitors = [_Competitor(model, image, device, settings) for settings in group.settings]
        while running := [each for each in competitors if each.certificate is None]:
            turn = min(running, key=lambda each: each.seconds) if group.race else running[0]
            turn.go_on(alone=not group.race)
            yield Progress(spent + sum(each.evaluations for each in competitors), total, records)
        spent += sum(each.evaluations for each in competitors)
        records += tuple(_records(group, competitors))
    yield Progress(spent, total, records)


@dataclass
class _Competitor:
    """One certification with its own clock."""

    model: Model
    image: Tensor
    device: torch.device
    settings: Settings
    clock: Clock = field(default_factory=Clock)
    seconds: float = 0.0
    evaluations: int = 0
    labels: list[int] = field(default_factory=list)
    certificate: Certificate | None = None
    peak: float | None = None

    def __post_init__(self) -> None:
        self._stream: Iterator[Snapshot] | None = None

    def go_on(self, alone: bool) -> None:
        """Run to the next snapshot."""
        if self._stream is None:
            if alone:
                forget_peak()
            self._stream = certify_stream(TimedModel(self.model, self.device, self.clock), self.image, self.settings)
        begin = time.perf_counter()
        snapshot = next(self._stream)
        self.seconds += time.perf_counter() - begin
        self.evaluations = snapshot.evaluations
        self.labels.extend(snapshot.batch_labels)
        self.certificate = snapshot.certificate
        if self.certificate is not None and alone:
            self.peak = peak_megabytes()


def _warm_up(model: Model, image: Tensor, groups: Sequence[Group]) -> None:
    """Evaluate everything once, because the first call may compile."""
    x = image.unsqueeze(0)
    for precision in sorted({settings.proxy_precision for group in groups for settings in group.settings}):
        network = in_precision(model, precision)
        network.classify(network.step(network.initial(x), network.inject(x)))


def _records(group: Group, competitors: Sequence[_Competitor]) -> Iterator[Record]:
    plain = competitors[0]
    for each in competitors:
        record = _record(group.name, each)
        yield _compared(record, plain, each) if group.race and each is not plain else record


def _record(group: str, run: _Competitor) -> Record:
    c = run.certificate
    assert c is not None
    return Record(
        group=group,
        method=c.method,
        solver=c.solver,
        steps=c.steps,
        n=c.n,
        audit=c.audit,
        batch_size=c.batch_size,
        proxy_precision=c.proxy_precision,
        evaluations=c.evaluations,
        seconds=run.seconds,
        step_seconds=run.clock.step,
        ends_seconds=run.clock.inject + run.clock.classify,
        outside_share=1 - run.clock.total / run.seconds,
        class_name=c.class_name,
        radius=c.radius,
        mismatch_bound=c.mismatch_bound,
        peak_megabytes=run.peak,
    )


def _compared(record: Record, plain: _Competitor, run: _Competitor) -> Record:
    assert plain.certificate is not None
    assert run.certificate is not None
    standard, proxy = (np.array(each, dtype=np.int16) for each in (plain.labels, run.labels))
    measured = measure(plain.certificate, run.certificate, standard, proxy)
    return replace(
        record,
        true_mismatch=measured.true_mismatch,
        speed_up_seconds=plain.seconds / run.seconds,
        speed_up_evaluations=measured.speed_up_evaluations,
        relative_radius_difference=measured.relative_radius_difference,
        equal_cost=measured.equal_cost,
    )
