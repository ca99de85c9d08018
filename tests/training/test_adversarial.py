import torch
from torch import Tensor
from torch.nn import functional as F

from srs_core.training.adversarial import smooth_attack


def test_on_a_linear_classifier_the_attack_goes_straight_to_the_edge_of_the_ball() -> None:
    torch.manual_seed(0)
    weight = torch.randn(2, 3 * 4 * 4)
    pictures = torch.rand(6, 3, 4, 4)
    labels = torch.tensor([0, 1, 0, 1, 1, 0])
    noise = 0.1 * torch.randn(3, 6, 3, 4, 4)
    moved = smooth_attack(lambda x: x.flatten(1) @ weight.T, pictures, labels, noise, epsilon=0.5, steps=2)
    away = (weight[1 - labels] - weight[labels]).view_as(pictures)
    expected = 0.5 * away / away.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
    torch.testing.assert_close(moved - pictures, expected, atol=1e-5, rtol=1e-4)


def test_the_attack_stays_in_the_ball_and_raises_the_loss_of_the_mean_prediction() -> None:
    torch.manual_seed(1)
    first, second = torch.randn(20, 48) / 7, torch.randn(5, 20)
    pictures, labels, noise = torch.rand(8, 3, 4, 4), torch.arange(8) % 5, 0.25 * torch.randn(4, 8, 3, 4, 4)

    def logits_of(x: Tensor) -> Tensor:
        return torch.tanh(x.flatten(1) @ first.T) @ second.T

    def loss(x: Tensor) -> float:
        probabilities = F.softmax(logits_of((x + noise).flatten(0, 1)), dim=1).view(4, 8, 5).mean(dim=0)
        return float(F.nll_loss(probabilities.log(), labels))

    moved = smooth_attack(logits_of, pictures, labels, noise, epsilon=0.3, steps=4)
    assert not moved.requires_grad
    assert float((moved - pictures).flatten(1).norm(dim=1).max()) <= 0.3 * (1 + 1e-5)
    assert loss(moved) > loss(pictures) + 0.05
