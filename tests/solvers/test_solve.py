import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from srs_core.solvers import SOLVERS, Solution, Status, solve
from srs_core.solvers.state import State

ALL = sorted(SOLVERS)


def linear(rates: torch.Tensor, size: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    """Matrices [B, D, D] with these spectral norms, and right-hand sides; symmetric ones and skewed ones mixed."""
    generator = torch.Generator().manual_seed(7)
    raw = torch.randn(len(rates), size, size, generator=generator, dtype=rates.dtype)
    raw[::2] = raw[::2] + raw[::2].transpose(1, 2)
    matrices = raw / torch.linalg.matrix_norm(raw, ord=2)[:, None, None] * rates[:, None, None]
    return matrices, torch.randn(len(rates), size, generator=generator, dtype=rates.dtype)


def affine(z: torch.Tensor, x: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    matrices, offsets = x
    return torch.bmm(matrices, z.unsqueeze(2)).squeeze(2) + offsets


class Counting:
    """Counts how many samples f was evaluated on."""

    def __init__(self) -> None:
        self.calls = 0
        self.samples = 0

    def __call__(self, z: torch.Tensor, x: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        self.calls += 1
        self.samples += len(z)
        return affine(z, x)


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_contractive_linear_problems_are_solved_exactly(solver: str, dtype: torch.dtype) -> None:
    rates = torch.tensor([0.05, 0.5, 0.8, 0.9], dtype=dtype)
    x = linear(rates)
    truth = torch.linalg.solve(torch.eye(12, dtype=dtype) - x[0], x[1].unsqueeze(2)).squeeze(2)
    tolerance = 1e-5 if dtype is torch.float32 else 1e-10
    solution = solve(affine, x, torch.zeros(4, 12, dtype=dtype), solver=solver, steps=400, tol=tolerance)
    assert solution.z.dtype == dtype
    assert (solution.status == Status.CONVERGED).all()
    assert torch.allclose(solution.z, truth, atol=200 * tolerance)
    assert torch.equal(solution.evaluations, (~solution.residuals.isnan()).sum(dim=0))


@pytest.mark.parametrize("solver", ["anderson", "broyden"])
def test_scipy_finds_the_same_fixed_point(solver: str) -> None:
    x = linear(torch.tensor([0.7], dtype=torch.float64))
    ours = solve(affine, x, torch.zeros(1, 12, dtype=torch.float64), solver=solver, steps=400, tol=1e-11)

    def gap(z: np.ndarray) -> np.ndarray:
        return affine(torch.from_numpy(z)[None], x)[0].numpy() - z

    method = {"anderson": optimize.anderson, "broyden": optimize.broyden1}[solver]
    theirs = method(gap, np.zeros(12), f_tol=1e-10)
    assert np.allclose(ours.z[0].numpy(), theirs, atol=1e-8)


@pytest.mark.parametrize("solver", ALL)
def test_acceleration_needs_no_more_steps_than_naive_iteration(solver: str) -> None:
    matrices, offsets = linear(torch.tensor([0.9], dtype=torch.float64))
    # Anderson's ridge is absolute, as in the reference: residuals far below it are averaged, not mixed.
    x = (matrices, 1e6 * offsets)
    start = torch.zeros(1, 12, dtype=torch.float64)
    spent = solve(affine, x, start, solver=solver, steps=300, tol=1e-8).evaluations.item()
    naive = solve(affine, x, start, solver="naive", steps=300, tol=1e-8).evaluations.item()
    assert spent <= naive


@pytest.mark.parametrize("solver", ALL)
def test_one_step_is_f_of_the_start(solver: str) -> None:
    x = linear(torch.tensor([0.5, 3.0]))
    start = torch.randn(2, 12, generator=torch.Generator().manual_seed(1))
    solution = solve(affine, x, start, solver=solver, steps=1, tol=0)
    assert torch.allclose(solution.z, affine(start, x))


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_steps_are_evaluations(solver: str, steps: int) -> None:
    f = Counting()
    solution = solve(f, linear(torch.tensor([0.5, 0.9, 1.5])), torch.zeros(3, 12), solver=solver, steps=steps, tol=0)
    assert f.calls == steps
    assert solution.evaluations.tolist() == [steps] * 3
    assert solution.residuals.shape == (steps, 3)


@pytest.mark.parametrize("solver", ALL)
def test_converged_samples_stop_costing(solver: str) -> None:
    f = Counting()
    solution = solve(f, linear(torch.tensor([0.01, 0.9])), torch.zeros(2, 12), solver=solver, steps=30, tol=1e-3)
    easy, hard = solution.evaluations.tolist()
    assert easy < hard
    assert f.samples == easy + hard


@pytest.mark.parametrize("solver", ALL)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_sample_does_not_depend_on_its_batch(solver: str, data: st.DataObject) -> None:
    rates = data.draw(st.lists(st.sampled_from([0.001, 0.3, 0.9, 0.99, 1.2]), min_size=2, max_size=6))
    order = torch.tensor(data.draw(st.permutations(range(len(rates)))))
    steps = data.draw(st.integers(1, 12))
    tol = data.draw(st.sampled_from([0.0, 1e-2]))
    matrices, offsets = linear(torch.tensor(rates, dtype=torch.float64))
    start = torch.randn(len(rates), 12, dtype=torch.float64, generator=torch.Generator().manual_seed(3))

    def run(index: torch.Tensor) -> Solution:
        x = (matrices[index], offsets[index])
        return solve(affine, x, start[index], solver=solver, steps=steps, tol=tol)

    together, shuffled = run(torch.arange(len(rates))), run(order)
    assert torch.allclose(together.z[order], shuffled.z, rtol=1e-6, atol=1e-8)
    assert torch.equal(together.evaluations[order], shuffled.evaluations)
    for i in range(len(rates)):
        alone = run(torch.tensor([i]))
        assert torch.allclose(alone.z[0], together.z[i], rtol=1e-6, atol=1e-8)
        assert alone.status[0] == together.status[i]


def neighbours(z: State, x: State) -> State:
    """A map of sums, products and cuts alone, whose every value is rounded in one way wherever it lies."""
    return tuple(
        (part + part.roll(1, dims=1)).mul(0.45).clamp(-1.0, 1.0) + shift for part, shift in zip(z, x, strict=True)
    )


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("tol", [0.0, 1e-2])
@pytest.mark.parametrize("solver", ALL)
def test_a_sample_is_the_same_to_the_last_bit_in_any_batch(solver: str, tol: float, threads: int) -> None:
    """Odd lengths move every sample to another alignment; the long part is more than torch sums in one go."""
    generator = torch.Generator().manual_seed(5)
    x = tuple(torch.randn(7, length, generator=generator) for length in (33_333, 1_001))

    def run(samples: slice) -> Solution:
        inputs = tuple(part[samples] for part in x)
        return solve(neighbours, inputs, tuple(map(torch.zeros_like, inputs)), solver=solver, steps=12, tol=tol)

    usual = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        together = run(slice(7))
        for samples in (slice(1), slice(1, 2), slice(2, 5), slice(5, 7)):
            apart = run(samples)
            for ours, theirs in zip(apart.z, together.z, strict=True):
                assert torch.equal(ours, theirs[samples])
            assert torch.equal(apart.evaluations, together.evaluations[samples])
    finally:
        torch.set_num_threads(usual)


@pytest.mark.parametrize("solver", ALL)
def test_a_warm_start_is_where_the_solve_begins(solver: str) -> None:
    x = linear(torch.tensor([0.9], dtype=torch.float64))
    cold = solve(affine, x, torch.zeros(1, 12, dtype=torch.float64), solver=solver, steps=200, tol=1e-9)
    warm = solve(affine, x, cold.z, solver=solver, steps=200, tol=1e-6)
    assert warm.evaluations.item() == 1
    assert warm.status.tolist() == [Status.CONVERGED]


@pytest.mark.parametrize("solver", ALL)
def test_what_is_not_finite_keeps_its_last_state_and_harms_nobody(solver: str) -> None:
    def f(z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, z * 1e30 + 1e30, 0.5 * z + 1)

    x = torch.tensor([[1.0], [-1.0]])
    for tol in (0.0, 1e-4):
        solution = solve(f, x, torch.ones(2, 1), solver=solver, steps=40, tol=tol)
        assert solution.status[0] == Status.DIVERGED
        assert solution.z.isfinite().all()
        assert torch.allclose(solution.z[1], torch.tensor([2.0]), atol=1e-3)


def test_a_singular_update_falls_back_to_a_plain_step() -> None:
    # f(z) = z + 1 has no fixed point: Broyden's update divides by zero at its second step.
    solution = solve(lambda z, _: z + 1, None, torch.zeros(1, 3), solver="broyden", steps=3, tol=0)
    assert solution.status.tolist() == [Status.FELL_BACK]
    assert torch.equal(solution.z, torch.full((1, 3), 3.0))
    assert "plain step" in Status.FELL_BACK.message


@pytest.mark.parametrize("solver", ALL)
def test_states_may_be_tuples_in_any_memory_order(solver: str) -> None:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(3, 4, 2, 2, generator=generator)

    def f(z: tuple[torch.Tensor, ...], injection: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return 0.5 * z[0].tanh() + injection, 0.3 * z[1] + z[0].mean(dim=(1, 2, 3)).unsqueeze(1)

    def run(memory_format: torch.memory_format) -> tuple[torch.Tensor, ...]:
        start = (torch.zeros(3, 4, 2, 2).to(memory_format=memory_format), torch.zeros(3, 5))
        z = solve(f, x.to(memory_format=memory_format), start, solver=solver, steps=30, tol=1e-5).z
        assert isinstance(z, tuple)
        return z

    plain, last = run(torch.contiguous_format), run(torch.channels_last)
    assert last[0].is_contiguous(memory_format=torch.channels_last)
    for a, b in zip(plain, last, strict=True):
        assert torch.allclose(a, b, atol=1e-4)
    for before, after in zip(plain, f(plain, x), strict=True):
        assert torch.allclose(before, after, atol=1e-3)


@pytest.mark.parametrize("solver", ALL)
def test_solvers_make_no_tensor_on_another_device(solver: str) -> None:
    z = torch.zeros(4, 12, device="meta")
    x = torch.zeros(4, 12, device="meta")
    solution = solve(lambda z, x: 0.5 * z + x, x, z, solver=solver, steps=8, tol=0)
    assert solution.z.is_meta
    assert solution.residuals.is_meta


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"solver": "newton"}, "solver is 'newton'; choose one of naive, anderson, broyden"),
        ({"steps": 0}, "steps is 0; it must be at least 1"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"tol": float("nan")}, "tol is nan"),
    ],
)
def test_impossible_options_are_named(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        solve(lambda z, _: z, None, torch.zeros(1, 1), **options)  # type: ignore[arg-type]
