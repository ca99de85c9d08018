import torch

from srs_core.training.augment import batch_order, crop_and_flip, to_float


def test_an_epoch_visits_every_picture_once_in_an_order_of_its_own() -> None:
    first, second = batch_order(50, 0, seed=1), batch_order(50, 1, seed=1)
    assert sorted(first.tolist()) == list(range(50))
    assert not torch.equal(first, second)
    assert not torch.equal(first, batch_order(50, 0, seed=2))
    assert torch.equal(first, batch_order(50, 0, seed=1))


def test_without_room_to_shift_pictures_are_only_mirrored() -> None:
    torch.manual_seed(0)
    pictures = torch.rand(40, 3, 6, 5)
    out = crop_and_flip(pictures, padding=0)
    same = (out == pictures).flatten(1).all(dim=1)
    mirrored = (out == pictures.flip(3)).flatten(1).all(dim=1)
    assert bool((same | mirrored).all())
    assert 5 < int(mirrored.sum()) < 35  # half of 40; outside with probability 3e-7


def test_a_shift_moves_all_channels_of_a_picture_together() -> None:
    torch.manual_seed(1)
    pictures = torch.zeros(200, 2, 9, 9)
    pictures[:, 0, 4, 4] = 1.0
    pictures[:, 1, 4, 4] = 2.0
    out = crop_and_flip(pictures, padding=4)
    places = out[:, 0].flatten(1).argmax(dim=1)
    assert torch.equal(out[:, 1], 2.0 * out[:, 0])
    assert bool((out[:, 0].flatten(1).sum(dim=1) == 1.0).all())
    assert len(places.unique()) > 50  # 81 places are possible


def test_bytes_become_floats_between_zero_and_one() -> None:
    out = to_float(torch.tensor([0, 51, 255], dtype=torch.uint8), torch.device("cpu"))
    torch.testing.assert_close(out, torch.tensor([0.0, 0.2, 1.0]))
