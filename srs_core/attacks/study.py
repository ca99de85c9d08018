"""Attacks on many certified pictures: one row for each attack, in a file that survives a crash."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from srs_core.attacks.result import Outcome
from srs_core.attacks.settings import AttackSettings
from srs_core.attacks.stream import attack_image
from srs_core.attacks.target import Target
from srs_core.smoothing.noise import Purpose, derive_seed

__all__ = ["AttackRow", "Point", "Radii", "read_rows", "study_stream"]


@dataclass(frozen=True, eq=False)
class Point:
    """A picture with what is known about it: its label, the smoothed model's answer, the certified radius (or 0)."""

    index: int
    image: Tensor
    label: int
    answer: int
    radius: float


@dataclass(frozen=True)
class AttackRow:
    """One attack on one picture; `answer` is -1 when the verdict is undecided.

    A picture whose answer was wrong before is not attacked: its `outcome` is "same" and its `steps` are 0. A win at a
    smaller radius is a win at every larger one, because the attacked picture lies in the larger ball too; `distance`
    then tells where it was won, and `steps` are 0.
    """

    idx: int
    label: int
    clean_answer: int
    certified_radius: float
    attack: str
    radius: float
    outcome: Outcome
    answer: int
    distance: float
    votes_left: float
    steps: int
    seconds: float

    @property
    def right_before(self) -> bool:
        """Whether the smoothed model's answer was the label before the attack."""
        return self.clean_answer == self.label

    @property
    def certified(self) -> bool:
        """Whether the label is certified beyond this radius, so that no attack may win."""
        return self.right_before and self.certified_radius > self.radius

    @property
    def won(self) -> bool:
        """Whether the attack turned a right answer into a wrong one."""
        return self.right_before and self.outcome == "changed"

    @property
    def key(self) -> tuple[int, str, float]:
        """What makes a row the only one of its kind."""
        return self.idx, self.attack, self.radius


Radii = Callable[[Point], Sequence[float]]
COLUMNS = tuple(field.name for field in fields(AttackRow))


def study_stream(
    target: Target,
    points: Iterable[Point],
    radii: Radii,
    settings: Sequence[AttackSettings],
    path: Path,
    data: str = "",
) -> Iterator[AttackRow]:
    """Attack every picture at every radius with every setting, and write each row to the file before it is yielded.

    Rows that the file already has are yielded from there, so that the same call continues after an interruption. The
    noise derives from the setting's seed and the picture's index alone. `data` names where the pictures come from; a
    .json beside the file says how it was made, and rows made differently are not mixed.
    """
    _agree(path, {"model_hash": getattr(target.answer, "hash", "unknown"), "data": data}, settings)
    found = {row.key: row for row in read_rows(path)} if path.is_file() else {}
    with path.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, delimiter="\t", lineterminator="\n")
        if stream.tell() == 0:
            writer.writeheader()
        for point in points:
            for each in settings:
                won: AttackRow | None = None
                for radius in sorted(radii(point)):
                    row = found.get((point.index, each.label, radius))
                    if row is None:
                        row = _row(target, point, radius, each, won)
                        writer.writerow(vars(row))
                        stream.flush()
                        os.fsync(stream.fileno())
                    won = row if row.won else None
                    yield row


def read_rows(path: Path) -> list[AttackRow]:
    """The rows of a study's file; a last line that a crash cut off is removed."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as stream:
            stream.truncate(whole)
    lines = csv.DictReader(content[:whole].decode().splitlines(), delimiter="\t")
    if tuple(lines.fieldnames or COLUMNS) != COLUMNS:
        raise ValueError(f"{path} has other columns than a file of attacks. Choose another file.")
    kinds: dict[str, Any] = {
        field.name: field.type if field.type in (int, float) else str for field in fields(AttackRow)
    }
    return [AttackRow(**{name: kinds[name](text) for name, text in line.items()}) for line in lines]


def _agree(path: Path, identity: dict[str, Any], settings: Sequence[AttackSettings]) -> None:
    """Say in the sidecar how the file is made, or refuse to continue one that was made differently."""
    by_name = {each.label: each.to_dict() for each in settings}
    if len(by_name) < len(settings):
        raise ValueError("Two attacks of a study have the same number of noise draws; give each its own file.")
    now = json.loads(json.dumps({**identity, "attacks": by_name}))
    sidecar = path.with_name(f"{path.name}.json")
    if path.is_file() and sidecar.is_file():
        before = json.loads(sidecar.read_text(encoding="utf-8"))
        common = set(before["attacks"]) & set(by_name)
        same = all(before[name] == now[name] for name in identity)
        if not same or any(before["attacks"][name] != now["attacks"][name] for name in common):
            raise ValueError(
                f"{path} was made with another model, other pictures or other settings (see {sidecar.name}). Give the "
                "same ones to continue it, or choose another file."
            )
        now["attacks"] = {**before["attacks"], **now["attacks"]}
    path.parent.mkdir(parents=True, exist_ok=True)
    sidecar.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")


def _row(target: Target, point: Point, radius: float, settings: AttackSettings, won: AttackRow | None) -> AttackRow:
    common: dict[str, Any] = {
        "idx": point.index,
        "label": point.label,
        "clean_answer": point.answer,
        "certified_radius": point.radius,
        "attack": settings.label,
        "radius": radius,
    }
    if won is not None:
        return replace(won, radius=radius, steps=0, seconds=0.0)
    if point.answer != point.label:
        return AttackRow(
            **common, outcome="same", answer=point.answer, distance=0.0, votes_left=1.0, steps=0, seconds=0.0
        )
    seeded = settings.with_(seed=derive_seed(settings.seed, Purpose.IMAGE, point.index))
    result = attack_image(target, point.image, point.label, radius, seeded)
    return AttackRow(
        **common,
        outcome=result.outcome,
        answer=-1 if result.answer is None else result.answer,
        distance=result.distance,
        votes_left=result.votes[point.label] / sum(result.votes),
        steps=result.steps,
        seconds=round(result.seconds, 3),
    )
