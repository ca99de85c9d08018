"""Attacks on many certified pictures: one row for each attack, in a file that survives a crash."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from srs_core.attacks.clean import smoothed_answer
from srs_core.attacks.result import Outcome
from srs_core.attacks.settings import AttackSettings
from srs_core.attacks.stream import attack_image
from srs_core.attacks.target import Target
from srs_core.files import write_text
from srs_core.smoothing.noise import Purpose, derive_seed

__all__ = ["AttackRow", "Point", "Radii", "read_rows", "study_stream"]


@dataclass(frozen=True, eq=False)
class Point:
    """A picture with what is known about it: its label, the smoothed model's answer, the certified radius (or 0).

    The answer is None where the certificate abstains: then a vote establishes it before the first attack.
    """

    index: int
    image: Tensor
    label: int
    answer: int | None
    radius: float


@dataclass(frozen=True)
class AttackRow:
    """One attack on one picture; `answer` is -1 when the verdict is undecided, `clean_answer` when that of before is.

    A picture whose answer was not right before is not attacked: its `steps` are 0 and its `outcome` is "same", or
    "undecided" when no answer could be established. A win at a smaller radius is a win at every larger one, because
    the attacked picture lies in the larger ball too; `distance` then tells where it was won, and `steps` are 0.
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
    identity: Mapping[str, Any],
) -> Iterator[AttackRow]:
    """Attack every picture at every radius with every setting, and write each row to the file before it is yielded.

    Rows that the file already has are yielded from there, so that the same call continues after an interruption. The
    noise derives from the setting's seed and the picture's index alone. `identity` says where pictures and
    certificates come from; a .json beside the file keeps it, and rows made differently are not mixed.
    """
    found = {row.key: row for row in read_rows(path)} if path.is_file() else {}
    whole = {"model_hash": getattr(target.answer, "hash", "unknown"), **identity}
    _agree(path, whole, settings, begun=bool(found))
    with path.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, delimiter="\t", lineterminator="\n")
        if stream.tell() == 0:
            writer.writeheader()
        for point in points:
            answer = point.answer
            for each in settings:
                won: AttackRow | None = None
                for radius in sorted(set(radii(point))):
                    row = found.get((point.index, each.label, radius))
                    if row is None:
                        if answer is None:
                            established = smoothed_answer(target, point.image, _seeded(each, point))
                            answer = -1 if established is None else established
                        row = _row(target, point, answer, radius, each, won)
                        writer.writerow(vars(row))
                        stream.flush()
                        os.fsync(stream.fileno())
                    elif (row.label, row.certified_radius) != (point.label, point.radius):
                        raise ValueError(
                            f"{path} knows picture {point.index} with the label {row.label} and the certified radius "
                            f"{row.certified_radius:g}; now they are {point.label} and {point.radius:g}. Choose "
                            "another file for attacks on other certificates."
                        )
                    answer = row.clean_answer
                    won = row if row.won else None
                    yield row


def read_rows(path: Path) -> list[AttackRow]:
    """The rows of a study's file; a last line that a crash cut off is removed."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as stream:
            stream.truncate(whole)
    lines = list(csv.reader(content[:whole].decode(errors="replace").splitlines(), delimiter="\t"))
    if lines and tuple(lines[0]) != COLUMNS:
        raise ValueError(f"{path} has other columns than a file of attacks. Choose another file.")
    return [_parsed(path, number, line) for number, line in enumerate(lines[1:], start=2)]


def _parsed(path: Path, number: int, line: list[str]) -> AttackRow:
    kinds: list[Any] = [field.type if field.type in (int, float) else str for field in fields(AttackRow)]
    try:
        return AttackRow(*(kind(text) for kind, text in zip(kinds, line, strict=True)))
    except ValueError as error:
        raise ValueError(
            f"Line {number} of {path} is damaged. Delete that line to have its attack done again."
        ) from error


def _agree(path: Path, identity: dict[str, Any], settings: Sequence[AttackSettings], *, begun: bool) -> None:
    """Say in the sidecar how the file is made, or refuse to continue one that was made differently."""
    by_name = {each.label: each.to_dict() for each in settings}
    if len(by_name) < len(settings):
        raise ValueError("Two attacks of a study have the same number of noise draws; give each its own file.")
    now = json.loads(json.dumps({**identity, "attacks": by_name}))
    sidecar = path.with_name(f"{path.name}.json")
    if begun:
        try:
            before = json.loads(sidecar.read_text(encoding="utf-8"))
            attacks = dict(before["attacks"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} has rows, but {sidecar.name}, which says how they were made, cannot be read ({error}). Choose "
                "another file for the attacks."
            ) from error
        same = all(before.get(name) == now[name] for name in identity)
        if not same or any(attacks[name] != now["attacks"][name] for name in set(attacks) & set(by_name)):
            raise ValueError(
                f"{path} was made with another model, other pictures or other settings (see {sidecar.name}). Give the "
                "same ones to continue it, or choose another file."
            )
        now["attacks"] = {**attacks, **now["attacks"]}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(sidecar, json.dumps(now, indent=2) + "\n")


def _seeded(settings: AttackSettings, point: Point) -> AttackSettings:
    return settings.with_(seed=derive_seed(settings.seed, Purpose.IMAGE, point.index))


def _row(
    target: Target, point: Point, answer: int, radius: float, settings: AttackSettings, won: AttackRow | None
) -> AttackRow:
    common: dict[str, Any] = {
        "idx": point.index,
        "label": point.label,
        "clean_answer": answer,
        "certified_radius": point.radius,
        "attack": settings.label,
        "radius": radius,
    }
    if won is not None:
        return replace(won, radius=radius, steps=0, seconds=0.0)
    if answer != point.label:
        outcome: Outcome = "undecided" if answer == -1 else "same"
        return AttackRow(**common, outcome=outcome, answer=answer, distance=0.0, votes_left=1.0, steps=0, seconds=0.0)
    result = attack_image(target, point.image, point.label, radius, _seeded(settings, point))
    return AttackRow(
        **common,
        outcome=result.outcome,
        answer=-1 if result.answer is None else result.answer,
        distance=result.distance,
        votes_left=result.votes[point.label] / sum(result.votes),
        steps=result.steps,
        seconds=round(result.seconds, 3),
    )
