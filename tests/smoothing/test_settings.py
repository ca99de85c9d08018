import re

import pytest

from srs_core.smoothing.settings import Settings


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"method": "magic"}, "method is 'magic'; choose one of srs, rs, auto"),
        ({"solver": "newton"}, "solver is 'newton'; choose one of naive, anderson, broyden"),
        ({"start": "warm"}, "start is 'warm'; choose one of previous, mean, clean, zero"),
        ({"estimator": "published"}, "not a certificate"),
        ({"estimator": "best"}, "estimator is 'best'; choose one of joint, exact, paper"),
        ({"sigma": 0.0}, "sigma is 0.0; it must be a positive number"),
        ({"sigma": float("nan")}, "sigma is nan"),
        ({"sigma": 1e27}, "sigma is 1e+27; it must be a positive number of at most 1000"),
        ({"sigma": "0.5"}, "sigma is '0.5'; it must be a number"),
        ({"alpha": None}, "alpha is None; it must be a number"),
        ({"robust_at": "far"}, "robust_at is 'far'; it must be a number"),
        ({"anytime": "yes"}, "anytime is 'yes'; it must be True or False"),
        ({"n": 10**14}, "n is 100,000,000,000,000; it must be at most 100,000,000"),
        ({"reference_steps": 10**11}, "reference_steps is 100,000,000,000; it must be at most 10,000"),
        ({"sigma": float("inf")}, "sigma is inf"),
        ({"alpha": 0.0}, "alpha is 0.0; it must lie between 0 and 1"),
        ({"alpha": 1.0}, "alpha is 1.0"),
        ({"n": 0}, "n is 0; it must be a whole number of at least 1"),
        ({"n": 10.5}, "n is 10.5"),
        ({"n0": 0}, "n0 is 0"),
        ({"steps": 0}, "steps is 0"),
        ({"audit": 0}, "audit is 0"),
        ({"n": 100, "audit": 101}, "audit is 101; it must be from 1 to n = 100"),
        ({"census": 1_000}, "census is 1000; it is a part of the audit of 1000"),
        ({"census": 10, "estimator": "paper"}, "only the estimator 'joint'"),
        ({"census": 10, "anytime": True}, "only the estimator 'joint' without anytime"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"n": 1_000, "batch_size": 1_001}, "batch_size is 1001, more than the n = 1000 votes"),
        ({"restart_every": 3, "start": "clean"}, "restart_every is 3, but start = 'clean'"),
        ({"robust_at": -0.5}, "robust_at is -0.5"),
        ({"tol": 1.0}, "tol is 1.0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_an_impossible_value_is_named_with_what_is_allowed(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Settings.from_dict(changes)


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(ValueError, match="Unknown settings sigm, stepz; known are"):
        Settings.from_dict({"sigm": 0.5, "stepz": 3})


def test_steps_mean_the_proxy_for_srs_and_the_standard_model_for_rs() -> None:
    assert Settings().proxy_steps == 3
    plain = Settings(method="rs")
    assert (plain.proxy_steps, plain.reference_steps) == (30, 30)
    short = Settings(method="rs", steps=1, solver="naive")
    assert (short.reference_steps, short.reference_solver) == (1, "naive")
    assert Settings(reference_steps=14).with_(method="rs").proxy_steps == 14


def test_labels_are_the_papers() -> None:
    assert Settings(steps=3).label == "SRS-MDEQ-3A"
    assert Settings(steps=1, solver="naive").label == "SRS-MDEQ-1N"
    assert Settings(method="rs").label == "MDEQ-30A"


def test_settings_come_back_from_plain_values() -> None:
    settings = Settings(method="srs", steps=5, n=500, audit=50, restart_every=4, seed=9)
    assert Settings.from_dict(settings.to_dict()) == settings
