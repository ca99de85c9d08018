"""Attacks: try to break certificates, by gradients of the plain or of the smoothed model."""

from srs_core.attacks.result import AttackResult, AttackSnapshot, Outcome
from srs_core.attacks.settings import AttackSettings
from srs_core.attacks.smallest import Hunt, smallest_radius_stream
from srs_core.attacks.stream import attack_image, attack_stream
from srs_core.attacks.target import Target, load_target

__all__ = [
    "AttackResult",
    "AttackSettings",
    "AttackSnapshot",
    "Hunt",
    "Outcome",
    "Target",
    "attack_image",
    "attack_stream",
    "load_target",
    "smallest_radius_stream",
]
