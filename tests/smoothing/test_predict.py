from collections.abc import Callable

import torch
from scipy import stats
from torch import Tensor

from srs_core.smoothing.predict import predict, predict_stream
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify


def test_a_clear_picture_is_answered_as_it_is_certified(make_tiny: Callable[[], object], picture: Tensor) -> None:
    settings = Settings(method="rs", sigma=0.5, n=500)
    answer = predict(make_tiny(), picture, settings)
    assert answer.class_index == certify(make_tiny(), picture, settings).class_index
    first, second = sorted(answer.votes)[:-3:-1]
    assert answer.p_value == stats.binomtest(first, first + second).pvalue


class Coin:
    """Answers by the sign of the noise alone: no class can win."""

    def inject(self, x: Tensor) -> Tensor:
        return x.flatten(1).sum(1, keepdim=True)

    def initial(self, x: Tensor) -> Tensor:
        return x.new_zeros(len(x), 1)

    def step(self, _z: Tensor, injection: Tensor) -> Tensor:
        return injection

    def classify(self, z: Tensor) -> Tensor:
        return torch.cat([z, -z], dim=1)


def test_a_tie_is_left_open() -> None:
    assert predict(Coin(), torch.zeros(3, 2, 2), Settings(method="rs", sigma=0.5, n=400)).class_index is None


def test_the_stream_counts_batch_by_batch_and_ends_with_the_answer(
    make_tiny: Callable[[], object], picture: Tensor
) -> None:
    settings = Settings(method="rs", sigma=0.5, n=100, batch_size=40)
    answers = list(predict_stream(make_tiny(), picture, settings))
    assert [sum(answer.votes) for answer in answers] == [40, 80, 100]
    assert answers[-1] == predict(make_tiny(), picture, settings)
