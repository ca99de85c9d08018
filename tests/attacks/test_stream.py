"""What attacks find, where the answer is known."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from srs_core.attacks import AttackSettings, attack_image, attack_stream
from srs_core.attacks.search import Search
from srs_core.attacks.target import as_target
from srs_core.data import gallery
from srs_core.mdeq.network import MDEQ
from srs_core.planar import load_planar
from srs_core.smoothing.predict import predict
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify

Make = Callable[..., tuple[object, Tensor]]


@pytest.mark.parametrize("samples", [0, 1, 16])
@pytest.mark.parametrize("margin", [0.2, 1.0])
def test_a_linear_boundary_is_found_within_one_percent(halfspaces: Make, samples: int, margin: float) -> None:
    """Smoothing does not move a straight boundary, so the smoothed model's margin is known too.

    Just outside, the other class has the share Phi(0.01 margin / sigma), 0.54 here; 20,000 votes miss that with
    probability below 1e-20. Just inside, "changed" would be an error of `predict`, of probability below 0.001.
    """
    model, picture = halfspaces(margin)
    settings = AttackSettings(samples=samples, sigma=margin / 10, n=20_000, batch_size=5_000, alpha=0.001)
    outside = attack_image(model, picture, 0, 1.01 * margin, settings)
    assert outside.outcome == "changed"
    assert outside.answer == 1
    assert outside.distance <= 1.01 * margin + 1e-6
    inside = attack_image(model, picture, 0, 0.99 * margin, settings)
    assert inside.outcome == "same"
    assert inside.answer == 0


@pytest.mark.parametrize("samples", [0, 4])
def test_the_attacked_picture_is_allowed_though_black_and_white_pixels_are_in_the_way(samples: int) -> None:
    class Brightness:
        def inject(self, x: Tensor) -> Tensor:
            return x.flatten(1).mean(dim=1, keepdim=True) - 0.5

        def initial(self, x: Tensor) -> Tensor:
            return x.new_zeros(len(x), 1)

        def step(self, z: Tensor, injection: Tensor) -> Tensor:
            return 0.5 * z + injection

        def classify(self, z: Tensor) -> Tensor:
            return torch.cat([z, -z], dim=1)

    picture = torch.ones(3, 8, 8)
    picture[:, :4] = 0.0
    picture[:, 0] = 0.6
    result = attack_image(Brightness(), picture, 0, 2.0, AttackSettings(samples=samples, sigma=0.01, n=200))
    assert result.attacked.min() >= 0
    assert result.attacked.max() <= 1
    assert torch.linalg.vector_norm((result.attacked - picture).double()) <= 2.0 + 1e-6
    # Black pixels cannot get darker: all of the budget goes where it counts.
    assert torch.equal(result.attacked[:, 1:4], picture[:, 1:4])
    assert result.outcome == "changed"


def test_the_verdict_is_predicts_and_its_noise_is_not_the_searchs(halfspaces: Make) -> None:
    model, picture = halfspaces(0.5)
    settings = AttackSettings(samples=4, sigma=0.1, n=300)
    result = attack_image(model, picture, 0, 0.6, settings)
    again = predict(model, result.attacked, settings.verdict)
    assert (result.answer, result.votes, result.p_value) == (again.class_index, again.votes, again.p_value)
    assert sum(result.votes) == 300
    other_seed = settings.with_(seed=1)
    assert attack_image(model, picture, 0, 0.6, other_seed).votes != result.votes


def test_at_the_boundary_itself_the_verdict_is_open(halfspaces: Make) -> None:
    model, picture = halfspaces(0.5)
    result = attack_image(model, picture, 0, 0.5, AttackSettings(samples=0, sigma=0.2, n=200))
    assert result.outcome == "undecided"
    assert result.answer is None


def test_an_attack_stops_early_when_it_has_won_and_not_before(halfspaces: Make) -> None:
    model, picture = halfspaces(0.2)
    settings = AttackSettings(samples=4, sigma=0.05, n=100, restarts=3)
    far = attack_image(model, picture, 0, 1.0, settings)
    assert far.outcome == "changed"
    assert (far.searches, far.steps) == (1, 5)
    near = attack_image(model, picture, 0, 0.1, settings)
    assert near.outcome == "same"
    assert (near.searches, near.steps) == (4, 80)


def test_searches_after_the_first_start_at_random_points(halfspaces: Make) -> None:
    model, picture = halfspaces(0.5)
    starts = [Search(as_target(model), picture, 0, 0.3, AttackSettings(), number).attacked for number in range(3)]
    assert torch.equal(starts[0], picture)
    assert not torch.allclose(starts[1], starts[2])
    for start in starts[1:]:
        assert 0.1 < torch.linalg.vector_norm(start - picture) <= 0.3 + 1e-6


def test_without_a_slope_the_search_still_moves() -> None:
    class Flat:
        def inject(self, x: Tensor) -> Tensor:
            return x.flatten(1)

        def initial(self, x: Tensor) -> Tensor:
            return torch.zeros_like(x.flatten(1))

        def step(self, z: Tensor, injection: Tensor) -> Tensor:
            return 0.0 * z + injection

        def classify(self, z: Tensor) -> Tensor:
            return torch.stack([1 + 0 * z[:, 0], 0 * z[:, 0]], dim=1)

    result = attack_image(Flat(), torch.full((3, 4, 4), 0.5), 0, 0.2, AttackSettings(samples=2, n=100, steps=10))
    assert result.outcome == "same"
    assert 0 < result.distance <= 0.2 + 1e-6


def test_progress_never_goes_back_and_only_the_last_snapshot_has_the_result(halfspaces: Make) -> None:
    model, picture = halfspaces(0.3)
    settings = AttackSettings(samples=2, sigma=0.1, n=150, restarts=1)
    snapshots = list(attack_stream(model, picture, 0, 0.2, settings))
    done = [snapshot.done for snapshot in snapshots]
    assert done == sorted(done)
    assert done[-1] == snapshots[-1].total
    assert [snapshot.result is not None for snapshot in snapshots] == [False] * (len(snapshots) - 1) + [True]
    assert {snapshot.phase for snapshot in snapshots} == {"search", "verdict", "done"}
    assert all(snapshot.distance <= 0.2 + 1e-6 for snapshot in snapshots)
    # The loss is what the search pushes up.
    first_search = [snapshot.loss for snapshot in snapshots if snapshot.phase == "search" and snapshot.search == 1]
    assert first_search[-1] > first_search[0]


def test_the_same_seed_gives_the_same_attack(halfspaces: Make) -> None:
    model, picture = halfspaces(0.4)
    settings = AttackSettings(samples=4, sigma=0.2, n=100, steps=6, restarts=1)
    one, two = (attack_image(model, picture, 0, 0.3, settings) for _ in range(2))
    assert torch.equal(one.attacked, two.attacked)
    assert {**one.to_dict(), "seconds": 0} == {**two.to_dict(), "seconds": 0}


def test_inside_the_certificate_attacks_fail_and_far_outside_they_win() -> None:
    """On the plane. Each certificate, and each verdict, may err with probability 0.001: six of them here."""
    model = load_planar()
    smoothing = Settings(method="rs", sigma=0.06, n=2_000, n0=100, batch_size=1_000)
    settings = AttackSettings.against(smoothing, samples=16, n=1_000, batch_size=1_000)
    for point in ((0.24, 0.30), (0.90, 0.30)):
        picture = torch.tensor(point)
        certificate = certify(model, picture, smoothing)
        assert certificate.radius > 0.01
        inside = attack_image(model, picture, certificate.class_index, 0.999 * certificate.radius, settings)
        assert inside.outcome != "changed"
        outside = attack_image(model, picture, certificate.class_index, 4 * certificate.radius, settings)
        assert outside.outcome == "changed"


def test_an_mdeq_is_attacked_in_both_of_its_forms(mdeq: MDEQ) -> None:
    picture = gallery()[0].image
    settings = AttackSettings(samples=2, steps=3, n=20, solve_steps=3, gradient_steps=2, reference_steps=10)
    result = attack_image(mdeq, picture, 3, 0.5, settings)
    # The steps of 0.05 nearly add up: the gradient of one step agrees with the next one's.
    assert 0.07 < result.distance <= 0.15 + 1e-6
    assert sum(result.votes) == 20


@pytest.mark.parametrize(
    ("radius", "picture", "words"),
    [
        (0.0, torch.rand(3, 8, 8), "radius is 0.0; it must be a positive number"),
        (float("nan"), torch.rand(3, 8, 8), "radius is nan"),
        (0.5, torch.rand(3, 8, 8) + 0.5, "values outside"),
        (0.5, torch.full((3, 8, 8), float("nan")), "not finite"),
        (0.5, torch.ones(3, 8, 8, dtype=torch.uint8), "floats are needed"),
    ],
)
def test_bad_input_is_named(halfspaces: Make, radius: float, picture: Tensor, words: str) -> None:
    model, _ = halfspaces(0.5)
    with pytest.raises(ValueError, match=words):
        attack_image(model, picture, 0, radius, AttackSettings())


def test_a_model_in_training_mode_is_refused(mdeq: MDEQ) -> None:
    network = MDEQ("small").train()
    with pytest.raises(ValueError, match=r"training mode.*call model.eval\(\) first"):
        attack_image(network, gallery()[0].image, 0, 0.5, AttackSettings())
    assert as_target(replace(as_target(mdeq))).search is mdeq
