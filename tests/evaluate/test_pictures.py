"""Pictures kept beside results are found again by what the results say of them."""

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
