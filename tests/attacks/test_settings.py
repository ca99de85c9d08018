from typing import Any

import pytest

from srs_core.attacks import AttackSettings
from srs_core.smoothing.settings import Settings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"samples": -1}, "samples is -1; it must be a whole number of at least 0"),
        ({"samples": 2.5}, "samples is 2.5; it must be a whole number"),
        ({"steps": 0}, "steps is 0; it must be a whole number of at least 1"),
        ({"restarts": True}, "restarts is True; it must be a whole number"),
        ({"solve_steps": 0}, "solve_steps is 0"),
        ({"gradient_steps": -1}, "gradient_steps is -1"),
        ({"step": 0}, "step is 0; it is a share of the radius"),
        ({"step": 2.1}, "step is 2.1"),
        ({"step": float("nan")}, "step is nan"),
        ({"sigma": 0.0}, "sigma is 0.0; it must be a positive number"),
        ({"n": 0}, "n is 0; it must be a whole number of at least 1"),
        ({"alpha": 1.0}, "alpha is 1.0; it must lie between 0 and 1"),
        ({"reference_solver": "newton"}, "solver is 'newton'; choose one of naive"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_an_impossible_value_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AttackSettings(**change)


def test_they_survive_a_round_trip_and_unknown_names_do_not() -> None:
    settings = AttackSettings(samples=4, sigma=0.5, restarts=2)
    assert AttackSettings.from_dict(settings.to_dict()) == settings
    with pytest.raises(ValueError, match="Unknown attack settings sample; known are alpha"):
        AttackSettings.from_dict({"sample": 4})


def test_an_attack_is_on_the_model_that_was_certified() -> None:
    certified = Settings(method="srs", sigma=0.5, reference_steps=20, reference_solver="broyden", tol=0.01, alpha=0.01)
    verdict = AttackSettings.against(certified, n=300).verdict
    for name in ("sigma", "reference_steps", "reference_solver", "tol", "alpha", "seed"):
        assert getattr(verdict, name) == getattr(certified, name)
    assert verdict.n == 300


def test_attacks_bear_the_papers_names() -> None:
    assert [AttackSettings(samples=m).label for m in (0, 1, 16)] == ["PGD", "m=1", "m=16"]
