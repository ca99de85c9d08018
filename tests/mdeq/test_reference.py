import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from srs_core.mdeq.cards import CheckpointError
from srs_core.mdeq.inference import InferenceMDEQ
from srs_core.mdeq.network import MDEQ
from srs_core.mdeq.reference import import_reference
from srs_core.mdeq.variants import VARIANTS
from srs_core.solvers import solve

FIXTURES = Path(__file__).parents[1] / "fixtures"
RANDOM, TRAINED = "reference-mdeq-small", "prototype-small-0.25"


def outputs(name: str) -> dict[str, np.ndarray]:
    with np.load(FIXTURES / f"{name}.npz") as archive:
        return {key: archive[key] for key in archive.files}


@pytest.fixture(scope="module", params=[RANDOM, TRAINED])
def imported(request: pytest.FixtureRequest) -> tuple[str, InferenceMDEQ, dict[str, np.ndarray]]:
    name = request.param
    return name, import_reference(FIXTURES / f"{name}.pth.tar", "small", device="cpu"), outputs(name)


def test_the_reference_outputs_are_reproduced_with_as_many_evaluations_as_steps(
    imported: tuple[str, InferenceMDEQ, dict[str, np.ndarray]],
) -> None:
    name, model, reference = imported
    x = torch.from_numpy(reference["x"])
    runs = [key for key in reference if key.split("_")[0] in ("naive", "anderson", "broyden")]
    assert len(runs) >= 8
    for key in runs:
        solver, steps = key.split("_")
        calls = []

        def counted(z: object, injection: object, calls: list[int] = calls) -> object:
            calls.append(1)
            return model.step(z, injection)  # type: ignore[arg-type]

        z = solve(counted, model.inject(x), model.initial(x), solver=solver, steps=int(steps), tol=0).z  # type: ignore[arg-type]
        assert len(calls) == int(steps)
        logits = model.classify(z).numpy()  # type: ignore[arg-type]
        tolerance = 2e-2 if name == TRAINED and int(steps) >= 14 else 1e-3
        assert np.abs(logits - reference[key]).max() < tolerance, key
        assert (logits.argmax(1) == reference[key].argmax(1)).all(), key


def test_a_warm_start_is_the_references_warm_start() -> None:
    model, reference = import_reference(FIXTURES / f"{RANDOM}.pth.tar", "small", device="cpu"), outputs(RANDOM)
    x = torch.from_numpy(reference["x"])
    start = solve(model.step, model.inject(x), model.initial(x), solver="naive", steps=3, tol=0).z
    flipped = x.flip(0)
    z = solve(model.step, model.inject(flipped), start, solver="anderson", steps=3, tol=0).z
    expected = reference["warm_anderson_3_on_flipped_x_from_naive_3_of_x"]
    assert np.abs(model.classify(z).numpy() - expected).max() < 1e-3  # type: ignore[arg-type]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_key_and_shape_of_the_reference_is_accepted_and_none_is_left_over(variant: str) -> None:
    shapes = json.loads((FIXTURES / "reference-state-shapes.json").read_text())[VARIANTS[variant].reference_name]
    with torch.device("meta"):
        ours = {key: list(tensor.shape) for key, tensor in MDEQ(variant).state_dict().items()}
    assert ours == shapes


@pytest.mark.parametrize(
    ("variant", "parameters"), [("small", 249_883), ("large", 11_097_438), ("imagenet", 18_613_496)]
)
def test_the_number_of_parameters_is_the_published_one(variant: str, parameters: int) -> None:
    with torch.device("meta"):
        assert sum(p.numel() for p in MDEQ(variant).parameters()) == parameters


def test_wrapped_and_prefixed_state_dicts_are_the_same_model(tmp_path: Path) -> None:
    state = MDEQ("small").state_dict()
    forms = {
        "bare": state,
        "wrapped": {"state_dict": state, "epoch": 120},
        "parallel": {"state_dict": {f"module.{key}": value for key, value in state.items()}},
    }
    hashes = set()
    for name, content in forms.items():
        torch.save(content, tmp_path / f"{name}.pth.tar")
        hashes.add(import_reference(tmp_path / f"{name}.pth.tar", "small", device="cpu").hash)
    assert len(hashes) == 1


class Evil:
    """A pickle that would write a file if it were executed."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.write_text, (self.victim, "owned"))


def test_a_pickle_is_never_executed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    torch.save({"state_dict": Evil(victim)}, tmp_path / "evil.pth.tar")
    (tmp_path / "plain.pth.tar").write_bytes(pickle.dumps(Evil(victim)))
    for name in ("evil", "plain"):
        with pytest.raises(CheckpointError, match="refused"):
            import_reference(tmp_path / f"{name}.pth.tar", "small")
    assert not victim.exists()


def test_what_is_no_checkpoint_is_said_in_a_sentence(tmp_path: Path) -> None:
    good = FIXTURES / f"{RANDOM}.pth.tar"
    (tmp_path / "torn.pth.tar").write_bytes(good.read_bytes()[:5000])
    (tmp_path / "text.pth.tar").write_text("hello")
    (tmp_path / "empty.pth.tar").write_bytes(b"")
    (tmp_path / "short.pth.tar").write_bytes(b"junk")
    torch.save([1, 2], tmp_path / "list.pth.tar")
    for name in ("torn", "text", "empty", "short", "list", "absent"):
        with pytest.raises(CheckpointError, match=r"no file|not a readable|no state dict"):
            import_reference(tmp_path / f"{name}.pth.tar", "small")
    with pytest.raises(CheckpointError, match="does not hold the weights of the variant 'large'"):
        import_reference(good, "large")
    with pytest.raises(ValueError, match="no variant 'huge'; choose one of small, large, imagenet"):
        import_reference(good, "huge")
    for sigma in (-0.5, float("nan"), float("inf")):
        with pytest.raises(CheckpointError, match="sigma is"):
            import_reference(good, "small", sigma=sigma)
    for name in ("../outside", "a/b", "."):
        with pytest.raises(CheckpointError, match="cannot be called"):
            import_reference(good, "small", name=name, folder=tmp_path / "shelf")
    assert not (tmp_path / "shelf").exists()
