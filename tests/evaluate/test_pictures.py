"""Pictures kept beside results are found again by what the results say of them."""

import os

import torch

from srs_core.data import gallery
from srs_core.evaluate.pictures import find_pictures, keep_pictures
from srs_core.evaluate.plan import Selection, fingerprint


def test_kept_pictures_come_back_exactly_and_only_for_their_results(tmp_path):
    pictures = Selection(every=10).of(gallery())
    (tmp_path / "broken-pictures.npz").write_bytes(b"PK")
    path = keep_pictures(pictures, tmp_path / "results.tsv")
    assert path.name == "results-pictures.npz"
    found = find_pictures(fingerprint(pictures), [tmp_path / "nowhere", tmp_path])
    assert list(found) == list(pictures.indices)
    assert all(torch.equal(found[sample.index], sample.image) for sample in pictures)
    assert find_pictures(fingerprint(Selection(every=9).of(gallery())), [tmp_path]) == {}


def test_kept_pictures_are_replaced_in_one_piece(tmp_path):
    path = keep_pictures(Selection(every=10).of(gallery()), tmp_path / "results.tsv")
    # A second name for the same file: what is written into it would show here, what takes its place does not.
    os.link(path, tmp_path / "before")
    before = path.read_bytes()
    keep_pictures(Selection(every=9).of(gallery()), tmp_path / "results.tsv")
    assert (tmp_path / "before").read_bytes() == before != path.read_bytes()
    assert sorted(child.name for child in tmp_path.iterdir()) == ["before", "results-pictures.npz"]
