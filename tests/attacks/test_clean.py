from collections.abc import Callable

from torch import Tensor

from srs_core.attacks import AttackSettings
from srs_core.attacks.clean import answer_to_change
from srs_core.attacks.target import as_target
from srs_core.smoothing.certificate import Certificate

Make = Callable[..., tuple[object, Tensor]]
SETTINGS = AttackSettings(sigma=0.05, n=100)


def test_a_certified_answer_is_what_an_attack_must_change(
    halfspaces: Make, make_certificate: Callable[..., Certificate]
) -> None:
    model, picture = halfspaces(0.5)
    assert answer_to_change(as_target(model), picture, make_certificate(class_index=3), SETTINGS) == 3


def test_without_a_certificate_a_vote_establishes_it_or_cannot(
    halfspaces: Make, make_certificate: Callable[..., Certificate]
) -> None:
    abstained = make_certificate(abstained=True, radius=0.0, class_index=1)
    model, picture = halfspaces(0.5)
    assert answer_to_change(as_target(model), picture, abstained, SETTINGS) == 0
    model, on_the_border = halfspaces(0.0)
    assert answer_to_change(as_target(model), on_the_border, abstained, SETTINGS) is None
