"""Sentences promise no more than the certificate does."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srs_core.smoothing.compare import EqualCost, Measured
from srs_core.words import (
    claim,
    duration,
    equal_cost_line,
    facts,
    measured_facts,
    percent_down,
    percent_up,
    plain_number,
)


def measured(n=120, radius=0.29, plain_wins=False):
    return Measured(0.011, 0.041, 0.086, 3.33, 5.0, EqualCost(n, radius, plain_wins))


def test_the_claim_names_radius_class_and_confidence(make_certificate):
    text = claim(make_certificate(radius=0.31199, alpha=0.001), values=3 * 32 * 32)
    assert "smaller than 0.311 in L2 norm" in text
    assert "“cat”" in text
    assert "99.9 % confidence" in text
    assert "1.4 of its 255 levels" in text


def test_an_abstaining_certificate_promises_nothing(make_certificate):
    text = claim(make_certificate(abstained=True, radius=0.0), values=3072)
    assert text.startswith("No promise")
    assert "radius" not in text


def test_every_fact_has_a_label_a_value_and_help(make_certificate):
    for certificate in (
        make_certificate(),
        make_certificate(method="rs"),
        make_certificate(abstained=True, radius=0.0),
    ):
        assert all(fact.label and fact.value and len(fact.help) > 10 for fact in facts(certificate))
    assert "Wrong votes, at most" in {fact.label for fact in facts(make_certificate())}
    assert "Wrong votes, at most" not in {fact.label for fact in facts(make_certificate(method="rs"))}
    assert {fact.label: fact.value for fact in measured_facts(measured())}["Faster by"] == "5.0 ×"


@pytest.mark.parametrize(
    ("changes", "result", "words"),
    [
        ({}, {"plain_wins": True}, "plain smoothing wins"),
        ({}, {"plain_wins": False}, "serialized smoothing wins"),
        ({}, {"n": 0, "radius": 0.0}, "not have taken a single vote"),
        ({"abstained": True, "radius": 0.0}, {"radius": 0.0, "plain_wins": True}, "nobody wins"),
        ({"abstained": True, "radius": 0.0}, {"plain_wins": True}, "serialized smoothing abstained"),
    ],
)
def test_the_equal_cost_line_says_who_wins(make_certificate, changes, result, words):
    assert words in equal_cost_line(make_certificate(**changes), measured(**result))


@given(st.floats(min_value=0, max_value=1), st.integers(min_value=0, max_value=4))
def test_percentages_are_rounded_to_their_safe_side(share, digits):
    low, high = (Decimal(text.removesuffix(" %")) for text in (percent_down(share, digits), percent_up(share, digits)))
    exact = Decimal(repr(share)) * 100
    assert low <= exact <= high
    assert high - low <= Decimal(1).scaleb(-digits)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min"), (200, "3 min 20 s"), (3900, "1 h 5 min")],
)
def test_durations_are_easy_to_read(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"), [(9.0e-5, 2, "0.00009"), (0.00123, 2, "0.0012"), (1234.0, 2, "1200"), (0.0, 1, "0")]
)
def test_a_number_is_written_without_a_power_of_ten(value, digits, text):
    assert plain_number(value, digits) == text
