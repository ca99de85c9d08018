"""What an attack showed, in plain words: the sentences that the page and the command line share."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from srs_core.attacks.result import AttackResult
from srs_core.smoothing.bounds import format_radius
from srs_core.smoothing.certificate import Certificate

__all__ = ["class_name", "contradicts", "distance_up", "verdict"]


def class_name(classes: Sequence[str], index: int) -> str:
    """A class by name, or by number when the model does not name it."""
    return classes[index] if index < len(classes) else f"class {index}"


def distance_up(distance: float, digits: int = 3) -> str:
    """A distance as text, rounded up: an attack did not get away with less than what is printed.

    Small distances get more decimals, so that two digits count.
    """
    # From the shortest text that means this float, so that 0.3 stays 0.300.
    exact = Decimal(repr(float(distance)))
    digits = max(digits, 1 - exact.adjusted()) if exact else digits
    return f"{exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING):f}"


def contradicts(result: AttackResult, certificate: Certificate) -> bool:
    """Whether the attack changed the certified answer inside the certified radius, which should not happen."""
    return result.outcome == "changed" and result.distance < certificate.radius


def verdict(result: AttackResult, certificate: Certificate, classes: Sequence[str]) -> str:
    """How the attack ended, beside what the certificate promised at that distance."""
    before = class_name(classes, result.label)
    promised = format_radius(certificate.radius)
    away = distance_up(result.distance)
    inside = result.distance < certificate.radius
    after = "" if result.answer is None else class_name(classes, result.answer)
    if contradicts(result, certificate):
        return (
            f"The attack changed the answer from “{before}” to “{after}” at a distance of {away}, inside the certified "
            f"radius of {promised}. The certificate and this verdict are each wrong with probability at most "
            f"{certificate.alpha:g} and {result.settings.alpha:g}: try other seeds, and if it stays so, report it."
        )
    if result.outcome == "changed":
        limit = "the certificate abstains" if certificate.abstained else f"the certified radius is {promised}"
        return (
            f"The attack won: at a distance of {away} the answer is “{after}”, no longer “{before}”. "
            f"Nothing was promised there; {limit}."
        )
    if result.outcome == "undecided":
        promise = f" It is inside the certified radius of {promised}, so it is still “{before}”." if inside else ""
        return (
            f"The attack brought two answers so close together that {result.settings.n:,} votes cannot tell which one "
            f"leads at a distance of {away}.{promise}"
        )
    if inside:
        return (
            f"The attack failed, as promised: at a distance of {away} the answer is still “{before}”, as for every "
            f"picture nearer than the certified {promised}."
        )
    if certificate.abstained:
        return (
            f"The attack failed: at a distance of {away} the answer is still “{before}”. The certificate abstains, so "
            "nothing was promised, and a stronger attack might have found something."
        )
    return (
        f"The attack failed: at a distance of {away} the answer is still “{before}”. The certificate promised it up "
        f"to {promised} only; a certificate is cautious, and a stronger attack might have found something."
    )
