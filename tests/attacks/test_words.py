import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from srs_core.attacks import AttackResult, AttackSettings
from srs_core.attacks.words import contradicts, distance_up, verdict
from srs_core.smoothing.certificate import Certificate

CLASSES = ("plane", "car", "bird", "cat", "deer")


def result(**changes: Any) -> AttackResult:
    values: dict[str, Any] = {
        "outcome": "same",
        "label": 3,
        "answer": 3,
        "plain_answer": 3,
        "radius": 0.25,
        "distance": 0.25,
        "votes": (0, 0, 0, 90, 10),
        "p_value": 0.0,
        "searches": 1,
        "steps": 20,
        "seconds": 1.0,
        "settings": AttackSettings(),
        "attacked": torch.zeros(3, 2, 2),
    }
    return AttackResult(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "The attack failed, as promised: at a distance of 0.250 the answer is still “cat”"),
        ({"distance": 0.5}, "promised it up to 0.311 only"),
        (
            {"distance": 0.5, "outcome": "changed", "answer": 4},
            "The attack won: at a distance of 0.500 the answer is “deer”",
        ),
        ({"outcome": "changed", "answer": 4}, "inside the certified radius of 0.311.*report it"),
        ({"outcome": "undecided", "answer": None}, "cannot tell.*so it is still “cat”"),
        ({"outcome": "undecided", "answer": None, "distance": 0.5}, r"leads at a distance of 0.500\.$"),
    ],
)
def test_each_outcome_has_its_sentence(
    make_certificate: Callable[..., Certificate], changes: dict[str, Any], words: str
) -> None:
    assert re.search(words, verdict(result(**changes), make_certificate(), CLASSES))


def test_without_a_certificate_nothing_was_promised(make_certificate: Callable[..., Certificate]) -> None:
    abstained = make_certificate(abstained=True, radius=0.0)
    assert "abstains, so nothing was promised" in verdict(result(), abstained, CLASSES)
    won = verdict(result(outcome="changed", answer=4), abstained, CLASSES)
    assert won.endswith("Nothing was promised there; the certificate abstains.")


@pytest.mark.parametrize(
    ("distance", "text"), [(0.3, "0.300"), (0.30001, "0.301"), (1e-6, "0.0000010"), (0.00123, "0.0013"), (0.0, "0.000")]
)
def test_a_distance_is_printed_rounded_up_with_two_digits_that_count(distance: float, text: str) -> None:
    assert distance_up(distance) == text


def test_only_a_change_inside_the_radius_contradicts(make_certificate: Callable[..., Certificate]) -> None:
    certificate = make_certificate()
    assert contradicts(result(outcome="changed", answer=4), certificate)
    assert not contradicts(result(outcome="changed", answer=4, distance=certificate.radius), certificate)
    assert not contradicts(result(outcome="undecided", answer=None), certificate)


def test_distances_are_rounded_up() -> None:
    assert [distance_up(value) for value in (0.3, 0.3001, 0.2991)] == ["0.300", "0.301", "0.300"]
