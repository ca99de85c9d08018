from typing import Any

import pytest

from srs_core.training.settings import TrainingSettings


def test_settings_survive_being_stored() -> None:
    settings = TrainingSettings(sigma=0.5, gradient="implicit", noise_draws=2, consistency=10.0)
    assert TrainingSettings.from_dict(settings.to_dict()) == settings


def test_an_older_file_keeps_the_defaults_and_a_newer_one_is_refused() -> None:
    assert TrainingSettings.from_dict({"sigma": 1.0}) == TrainingSettings(sigma=1.0)
    with pytest.raises(ValueError, match="name warp, which this version does not know"):
        TrainingSettings.from_dict({"sigma": 1.0, "warp": 9})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"variant": "huge"}, "no variant 'huge'"),
        ({"optimizer": "lion"}, "optimizer is 'lion'; choose one of adam, sgd"),
        ({"sigma": -0.1}, "sigma is -0.1; it must not be negative"),
        ({"sigma": float("nan")}, "sigma is nan"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it must be above 0"),
        ({"ema_decay": 1.0}, "ema_decay is 1; it must be below 1"),
        ({"jacobian_frequency": 1.5}, "jacobian_frequency is 1.5; it must be between 0 and 1"),
        ({"tail_steps": 0}, "tail_steps is 0; it must be at least 1"),
        ({"consistency": 1.0}, "agreement needs at least 2"),
        ({"noise_draws": 3}, "batch_size is 64, which 3 noise draws"),
    ],
)
def test_an_impossible_value_is_named(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TrainingSettings(**wrong)


def test_attacks_bring_their_own_draws() -> None:
    settings = TrainingSettings(adversarial=0.5)
    assert (settings.draws, settings.pictures_per_step) == (4, 16)
