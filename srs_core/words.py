"""Certificates in plain words: the sentences and labels that pages and reports share."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

from srs_core.smoothing.bounds import format_radius
from srs_core.smoothing.certificate import Certificate

if TYPE_CHECKING:
    from srs_core.smoothing.compare import Measured

__all__ = [
    "Fact",
    "claim",
    "duration",
    "equal_cost_line",
    "facts",
    "measured_facts",
    "percent_down",
    "percent_up",
    "plain_number",
]


@dataclass(frozen=True)
class Fact:
    """A number with the label a student understands, and the symbol and its meaning as help."""

    label: str
    value: str
    help: str


def plain_number(value: float, digits: int = 2) -> str:
    """A number with so many significant digits and never a power of ten, such as 0.00009."""
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def percent_down(share: float, digits: int = 1) -> str:
    """A share as a percentage, rounded down: for what is at least so much."""
    return _percent(share, digits, ROUND_FLOOR)


def percent_up(share: float, digits: int = 1) -> str:
    """A share as a percentage, rounded up: for what is at most so much."""
    return _percent(share, digits, ROUND_CEILING)


def _percent(share: float, digits: int, rounding: str) -> str:
    # From the shortest text that means this float, so that 0.29 stays 29.0 %.
    return f"{(Decimal(repr(float(share))) * 100).quantize(Decimal(1).scaleb(-digits), rounding=rounding)} %"


def duration(seconds: float) -> str:
    """A time that is easy to read: 0.4 s, 12 s, 3 min 20 s, 1 h 5 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def claim(certificate: Certificate, values: int | None = None) -> str:
    """What a certificate promises, in one sentence; `values` is how many numbers the picture has (3 x H x W)."""
    c = certificate
    confidence = f"{100 * (1 - c.alpha):.6g} % confidence"
    if c.abstained:
        return (
            f"No promise can be made with {confidence}: the votes do not prove that “{c.class_name}” comes up more "
            "often than all other answers together."
        )
    radius = format_radius(c.radius)
    example = ""
    if values:
        # One value moves by R / sqrt(values) if all of them move alike; 255 levels make a colour value.
        levels = format_radius(255 * c.radius / math.sqrt(values), 1)
        example = f" (for instance every colour value of every pixel shifted by {levels} of its 255 levels)"
    return (
        f"Any change of this picture smaller than {radius} in L2 norm{example} cannot change the answer "
        f"“{c.class_name}”, with {confidence}."
    )


def facts(certificate: Certificate) -> list[Fact]:
    """The numbers of one certificate, the most important first."""
    c = certificate
    votes = c.votes[c.class_index]
    found = [
        Fact(
            "Answer",
            "none (abstains)" if c.abstained else c.class_name,
            "The class c that came up most often among the selection draws (n0). If the votes cannot prove that it has "
            "the majority, the method abstains.",
        ),
        Fact(
            "Certified radius",
            format_radius(c.radius),
            "R = σ · Φ⁻¹(p_A lower bound), rounded down. An L2 distance: the square root of the sum of squared changes "
            "of all colour values, each from 0 to 1.",
        ),
        Fact(
            "Votes for the answer",
            f"{votes:,} of {c.n:,}",
            f"N_A of N: {votes / c.n:.1%} of the noisy copies were given this class.",
        ),
        Fact(
            "Guaranteed share",
            percent_down(c.p_a_lower),
            f"The lower bound on p_A, the chance that the standard model gives this class to a noisy copy. It holds "
            f"with confidence 1 - α = {1 - c.alpha:.6g}, and is rounded down.",
        ),
    ]
    if c.counts is not None and c.mismatch_bound is not None:
        found += [
            Fact(
                "Refuted in the audit",
                f"{c.counts.mismatched:,} of {c.counts.audited:,}",
                f"K = {c.audit:,} votes, drawn at random, were checked by the standard model, a full solve from the "
                "cold start. So many of the checked votes for this answer were not confirmed.",
            ),
            Fact(
                "Wrong votes, at most",
                percent_up(c.mismatch_bound),
                "The bound on p_m, the share of the quick votes for this class that the standard model would not "
                "confirm, rounded up.",
            ),
        ]
    return [
        *found,
        Fact(
            "Network evaluations",
            f"{c.evaluations:,}",
            "How often the network's layer f was evaluated on one picture, everything included.",
        ),
        Fact("Time", duration(c.seconds), f"Seconds of computation on {c.device}."),
    ]


def measured_facts(measured: "Measured") -> list[Fact]:
    """How serialized smoothing did against plain smoothing on the same noise."""
    m = measured
    found = [
        Fact(
            "Faster by",
            f"{m.speed_up_seconds:.1f} ×",
            "Seconds of plain smoothing divided by seconds of serialized smoothing.",
        ),
        Fact(
            "Fewer evaluations by",
            f"{m.speed_up_evaluations:.1f} ×",
            "Evaluations of f of plain smoothing divided by those of serialized smoothing.",
        ),
    ]
    if m.relative_radius_difference is not None:
        found.append(
            Fact(
                "Radius given up",
                f"{m.relative_radius_difference:.1%}",
                "The relative radius difference (RRD): (plain - serialized) / plain, at the same number of votes.",
            )
        )
    if m.true_mismatch is not None:
        found.append(
            Fact(
                "Votes truly wrong",
                f"{m.true_mismatch:.1%}",
                "The true p_m of this run: plain smoothing voted on the same noisy copies, so it can be counted here.",
            )
        )
    if m.gap is not None:
        found.append(
            Fact(
                "Caution of the audit",
                f"{m.gap:.1%}",
                "The gap: the audit's bound on p_m minus the true share. A larger audit makes it smaller.",
            )
        )
    return found


def equal_cost_line(serialized: Certificate, measured: "Measured") -> str:
    """Who certifies more for the same number of evaluations, said plainly."""
    e = measured.equal_cost
    price = f"For the {serialized.evaluations:,} evaluations that serialized smoothing spent, plain smoothing"
    if e.n == 0:
        bought = f"{price} could not have taken a single vote"
    else:
        radius = f"certified {format_radius(e.radius)}" if e.radius else "abstained"
        bought = f"{price} could have taken {e.n:,} votes and {radius}"
    own = f"serialized smoothing certified {format_radius(serialized.radius)}"
    if serialized.abstained and e.radius == 0:
        return f"{bought}; serialized smoothing abstained too. At equal cost nobody wins here."
    if e.plain_wins:
        own = "serialized smoothing abstained" if serialized.abstained else own
        return f"{bought}; {own}. At equal cost, plain smoothing wins here."
    return f"{bought}; {own}. At equal cost, serialized smoothing wins here."
