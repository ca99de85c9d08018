"""What several pages share: pictures that travel in the page, and an empty shelf that is explained everywhere."""

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image


def opened(address: str) -> Image.Image:
    head, data = address.split(",", 1)
    assert head == "data:image/png;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


@pytest.fixture
def picture_address(run_page):  # noqa: ARG001  (it makes the pages importable)
    from pages.widgets import picture_address

    return picture_address


def test_a_picture_is_enlarged_by_a_whole_factor_and_not_blurred(picture_address):
    tensor = torch.tensor(np.random.default_rng(1).integers(0, 256, (3, 4, 4)) / 255)
    exact = np.asarray(opened(picture_address(tensor)))
    large = np.asarray(opened(picture_address(tensor, 15)))
    assert exact.shape == (4, 4, 3)
    assert large.shape == (12, 12, 3)
    assert np.array_equal(large[1::3, 1::3], exact)
    assert np.array_equal(large, exact.repeat(3, 0).repeat(3, 1))


def test_a_picture_that_is_large_enough_is_left_alone(picture_address):
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), "teal").save(buffer, "PNG")
    assert opened(picture_address(buffer.getvalue(), 64)).size == (40, 30)


@pytest.mark.parametrize(
    ("page", "query"), [("certify", {}), ("attack", {}), ("warm_start", {}), ("evaluate", {"job": "nobody"})]
)
def test_an_empty_shelf_is_explained(run_page, monkeypatch, tmp_path, page, query):
    monkeypatch.setenv("SRS_CHECKPOINTS", str(tmp_path))
    test = run_page(page, **query)
    assert not test.exception
    assert "srs_core import-checkpoint" in test.info[0].value


def test_the_pictures_of_a_page_do_not_depend_on_the_servers_memory(run_page):
    page = run_page("certify", n=40, audit=20, picture=333)
    assert not page.exception
    urls = [image.url for element in page.get("image") for image in element.proto.imgs]
    assert len(urls) == 35  # the gallery, the picture as the model sees it, and three noisy copies
    assert all(opened(url).size[0] in (64, 128) for url in urls)
