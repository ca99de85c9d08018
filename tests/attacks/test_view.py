import pytest
import torch

from srs_core.attacks.view import magnified_change


@pytest.mark.parametrize(("size", "factor"), [(0.0004, 500), (0.009, 50), (0.06, 5), (0.3, 1), (0.9, 1), (0.0, 500)])
def test_a_change_is_shown_as_strong_as_fits(size: float, factor: int) -> None:
    picture = torch.full((3, 4, 4), 0.05)
    attacked = picture.clone()
    attacked[0, 0, 0] += size
    shown = magnified_change(picture, attacked)
    assert shown.factor == factor
    assert shown.picture[1, 1, 1] == 0.5
    assert float(shown.picture[0, 0, 0]) == pytest.approx(min(1.0, 0.5 + factor * size), abs=1e-5)
    assert shown.picture.max() <= 1
