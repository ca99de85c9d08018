import re
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from srs_core.mdeq.checkpoints import load_model
from srs_core.mdeq.inference import InferenceMDEQ
from srs_core.smoothing.noise import NoisyCopies, Purpose
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.voters import Ballot, SerialVoter, StandardVoter

STEPS = Settings(tol=0.0, steps=2, warm_up_steps=4, reference_steps=4, n=1_000, audit=100)


@pytest.mark.parametrize("solver", ["naive", "anderson", "broyden"])
@pytest.mark.parametrize("start", ["previous", "mean", "zero"])
def test_the_engine_makes_no_tensor_on_another_device(solver: str, start: str) -> None:
    """On torch's meta device an operation that meets a tensor of the CPU fails, as it would on CUDA."""
    model = load_model("cifar10-small-0.25", "cpu").to("meta")
    settings = STEPS.with_(solver=solver, start=start)
    picture = torch.zeros(3, 32, 32, device="meta")
    copies = NoisyCopies(picture, 0.25, 0, Purpose.ESTIMATION)
    proxy = SerialVoter(model, settings, picture)
    ballots = [proxy.vote(copies.batch(0, 8)), proxy.vote(copies.batch(8, 20))]
    ballots.append(StandardVoter(model, settings).vote(copies.batch(0, 8)))
    for ballot, size in zip(ballots, (8, 12, 8), strict=True):
        assert ballot.labels.is_meta
        assert ballot.labels.shape == (size,)
        assert ballot.margins.is_meta
        assert ballot.residuals.is_meta


class Average:
    """f(z, x) = (z + x) / 2, so that a state tells exactly where it started and how many steps it took."""

    def inject(self, x: Tensor) -> Tensor:
        return x.flatten(1)

    def initial(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x.flatten(1))

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        return (z + injection) / 2

    def classify(self, z: Tensor) -> Tensor:
        return z


def states(settings: Settings, *batches: list[float]) -> list[list[float]]:
    """The first coordinate of every state that a serial voter reaches, batch by batch."""
    clean = torch.tensor([64.0, 0.0])
    voter = SerialVoter(Average(), settings, clean)
    found = []
    for batch in batches:
        ballot: Ballot = voter.vote(torch.tensor([[value, 0.0] for value in batch]))
        found.append(ballot.margins.tolist())
    return found


ONE = Settings(tol=0.0, steps=1, solver="naive", warm_up_steps=2, warm_up_solver="naive", n=1_000, audit=100)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Two warm-up steps reach 3/4 of the way from zero; each later batch goes half of the way from its start.
        (ONE, [[12.0, 24.0], [14.0, 28.0], [15.0, 30.0, 15.0]]),
        (ONE.with_(start="zero"), [[8.0, 16.0], [8.0, 16.0], [8.0, 16.0, 8.0]]),
        (ONE.with_(start="clean"), [[32.0, 40.0], [32.0, 40.0], [32.0, 40.0, 32.0]]),
        (ONE.with_(start="mean"), [[12.0, 24.0], [17.0, 25.0], [17.75, 25.75, 17.75]]),
        (ONE.with_(restart_every=2), [[12.0, 24.0], [14.0, 28.0], [12.0, 24.0, 12.0]]),
    ],
    ids=["previous", "zero", "clean", "mean", "restart"],
)
def test_each_start_begins_where_it_says(settings: Settings, expected: list[list[float]]) -> None:
    assert states(settings, [16.0, 32.0], [16.0, 32.0], [16.0, 32.0, 16.0]) == expected


def test_what_the_clean_start_costs_is_counted() -> None:
    assert SerialVoter(Average(), ONE.with_(start="clean"), torch.ones(2)).preparation == 2
    assert SerialVoter(Average(), ONE, torch.ones(2)).preparation == 0


class Coarse(Average):
    """A model whose cheaper precision answers nothing but zeros, so that one sees who uses it."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        return self.factor * super().step(z, injection)

    def in_precision(self, precision: str) -> "Coarse":
        assert precision == "bfloat16"
        return Coarse(0.0)


def test_the_proxy_alone_computes_in_the_cheaper_precision() -> None:
    settings, pictures = ONE.with_(proxy_precision="bfloat16"), torch.tensor([[16.0, 0.0]] * 3)
    proxy = SerialVoter(Coarse(), settings, torch.ones(2))
    assert proxy.vote(pictures).margins.tolist() == [0.0] * 3
    standard = StandardVoter(Coarse(), settings.with_(reference_steps=2)).vote(pictures)
    assert min(standard.margins.tolist()) > 0.0


def test_a_model_without_precisions_says_so() -> None:
    with pytest.raises(ValueError, match="'bfloat16', but the model Average has no method in_precision"):
        SerialVoter(Average(), ONE.with_(proxy_precision="bfloat16"), torch.ones(2))


@pytest.fixture(scope="module")
def compiled() -> InferenceMDEQ:
    model = load_model("cifar10-small-0.25", "cpu")
    if not model.compiled:
        pytest.skip("without AVX-512 and a C++ compiler torch evaluates the model, and batches differ by rounding")
    return model


def test_a_standard_label_depends_on_its_picture_alone_to_the_last_bit(compiled: InferenceMDEQ) -> None:
    """The audit's argument needs it: whoever shares the batch, logits and evaluations are the same numbers."""
    judge = StandardVoter(compiled, Settings(n=1_000, audit=100))
    pictures = NoisyCopies(torch.full((3, 32, 32), 0.5), 0.25, 0, Purpose.ESTIMATION).batch(0, 12)
    together = judge.vote(pictures)
    for start, stop in ((0, 1), (1, 4), (4, 12)):
        apart = judge.vote(pictures[start:stop])
        assert torch.equal(apart.margins, together.margins[start:stop])
        assert torch.equal(apart.labels, together.labels[start:stop])
        assert torch.equal(apart.evaluations, together.evaluations[start:stop])


class Operations(TorchDispatchMode):
    """Notes the names of all operations that torch is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(operation.overloadpacket.__name__)
        return operation(*args, **(kwargs or {}))


@pytest.mark.parametrize("solver", ["naive", "anderson", "broyden"])
def test_no_label_passes_through_blas_whose_sums_may_depend_on_the_batch(compiled: InferenceMDEQ, solver: str) -> None:
    settings = Settings(n=1_000, audit=100, reference_solver=solver)
    with Operations() as seen:
        StandardVoter(compiled, settings).vote(torch.rand(3, 3, 32, 32))
    assert "topk" in seen.names
    assert [name for name in seen.names if re.search("mm|mv|dot|conv|solve|lu_|cholesky", name)] == []
