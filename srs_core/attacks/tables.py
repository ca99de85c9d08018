"""Many attacks as numbers: accuracy under attack, and how often attacks won on certified and on other pictures."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from srs_core.attacks.study import AttackRow

__all__ = ["AttackSummary", "before_attacks", "by_radius", "by_reach", "contradictions"]


@dataclass(frozen=True)
class AttackSummary:
    """All pictures under one attack at one radius, in the shape of the paper's tables.

    `accuracy` is the share of all pictures whose answer was right and is clearly still right; "undecided" does not
    count as right. `certified` pictures have their label certified beyond the radius; all others are uncertified, the
    wrongly answered ones included (the paper's two tables agree with each other only so). A success turns a right
    answer into a wrong one.
    """

    attack: str
    radius: float
    pictures: int
    accuracy: float
    certified: int
    certified_successes: int
    uncertified: int
    uncertified_successes: int
    undecided: int

    @property
    def successes(self) -> int:
        """The attacks that won, on certified and uncertified pictures together."""
        return self.certified_successes + self.uncertified_successes

    @property
    def certified_accuracy(self) -> float:
        """The share of all pictures whose label is certified beyond the radius; no attack may bring accuracy below."""
        return self.certified / self.pictures

    @property
    def certified_rate(self) -> float | None:
        """Successes on certified pictures, as a share; None without such pictures. More than 0 is a contradiction."""
        return self.certified_successes / self.certified if self.certified else None

    @property
    def uncertified_rate(self) -> float | None:
        """Successes on uncertified pictures, as a share; None without such pictures."""
        return self.uncertified_successes / self.uncertified if self.uncertified else None

    def record(self) -> dict[str, Any]:
        """Plain values by name."""
        rates = {"certified_rate": self.certified_rate, "uncertified_rate": self.uncertified_rate}
        return {**vars(self), "certified_accuracy": self.certified_accuracy, **rates}


def before_attacks(rows: Iterable[AttackRow]) -> list[AttackSummary]:
    """One line for each attack at radius 0: how things stood before it."""
    first: dict[tuple[str, int], AttackRow] = {}
    for row in rows:
        first.setdefault((row.attack, row.idx), row)
    return by_radius(
        replace(row, radius=0.0, outcome="undecided" if row.clean_answer == -1 else "same") for row in first.values()
    )


def by_radius(rows: Iterable[AttackRow]) -> list[AttackSummary]:
    """One line for each attack and radius."""
    return _summaries(rows, lambda row: row.radius)


def by_reach(rows: Iterable[AttackRow]) -> list[AttackSummary]:
    """One line for each attack and each multiple of a picture's own certified radius; `radius` is that multiple."""
    return _summaries(
        (row for row in rows if row.certified_radius > 0), lambda row: round(row.radius / row.certified_radius, 3)
    )


def contradictions(rows: Iterable[AttackRow]) -> list[AttackRow]:
    """The attacks that won where a certificate said that none could."""
    return [
        row for row in rows if row.right_before and row.outcome == "changed" and row.distance < row.certified_radius
    ]


def _summaries(rows: Iterable[AttackRow], radius: Callable[[AttackRow], float]) -> list[AttackSummary]:
    groups: dict[tuple[Hashable, float], list[AttackRow]] = {}
    for row in rows:
        groups.setdefault((row.attack, radius(row)), []).append(row)
    return [_summary(str(attack), value, group) for (attack, value), group in sorted(groups.items(), key=_order)]


def _order(group: tuple[tuple[Hashable, float], list[AttackRow]]) -> tuple[int, float]:
    (attack, radius), _ = group
    name = str(attack)
    return int(name.removeprefix("m=")) if name.startswith("m=") else 0, radius


def _summary(attack: str, radius: float, rows: list[AttackRow]) -> AttackSummary:
    certified = [row for row in rows if row.certified]
    others = [row for row in rows if not row.certified]
    right = sum(row.right_before and row.outcome == "same" for row in rows)
    return AttackSummary(
        attack=attack,
        radius=radius,
        pictures=len(rows),
        accuracy=right / len(rows),
        certified=len(certified),
        certified_successes=sum(row.won for row in certified),
        uncertified=len(others),
        uncertified_successes=sum(row.won for row in others),
        undecided=sum(row.outcome == "undecided" for row in rows),
    )
