"""Settings files: the ready-made ones are sound, and a bad one is refused with its fault named."""

import json
from pathlib import Path

import pytest

from srs_core.evaluate.settings_file import parts_of, read_settings_file

ABLATIONS = sorted((Path(__file__).parents[2] / "ablations").glob("*.json"))


def write(tmp_path, content):
    path = tmp_path / "settings.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_common_values_hold_for_all_and_each_entry_adds_its_own(tmp_path):
    content = {
        "title": "T",
        "models": ["a", "b"],
        "data": "cifar10",
        "every": 20,
        "common": {"n": 1000, "audit": 200},
        "settings": [{"method": "rs"}, {"steps": 1}, {"steps": 1, "audit": 100, "name": "small audit"}],
    }
    file = read_settings_file(write(tmp_path, content))
    assert (file.models, file.selection.every) == (("a", "b"), 20)
    rs, srs, small = parts_of(file.common, file.settings, sigma=0.5)
    assert (rs.settings.method, rs.settings.sigma, rs.settings.n) == ("rs", 0.5, 1000)
    assert srs.settings.audit == 200
    assert (small.name, small.settings.audit) == ("small audit", 100)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ([], "JSON object"),
        ({"setings": []}, "'setings'"),
        ({"every": "20"}, "every is '20'"),
        ({"every": True}, "every is True"),
        ({"settings": ["rs"]}, "list of JSON objects"),
        ({"settings": [{"metod": "rs"}]}, "metod"),
        ({"settings": [{"steps": 0}]}, "steps is 0"),
    ],
)
def test_a_bad_file_is_refused_with_its_fault_named(tmp_path, content, words):
    with pytest.raises(ValueError, match=words):
        read_settings_file(write(tmp_path, content))


@pytest.mark.parametrize("path", ABLATIONS, ids=lambda path: path.stem)
def test_a_ready_made_file_is_sound(path):
    file = read_settings_file(path)
    parts = parts_of(file.common, file.settings, sigma=0.5)
    assert file.title
    assert file.about
    assert file.data == "cifar10"
    assert len({part.name for part in parts}) == len(parts) > 1
    assert any(part.settings.method == "rs" for part in parts)
    assert all("sigma" not in each for each in (file.common, *file.settings)) or file.models


def test_the_ready_made_files_cover_the_papers_studies():
    assert {path.stem for path in ABLATIONS} >= {
        "main-table",
        "noise-levels",
        "more-steps",
        "solvers",
        "samplings",
        "warm-up-steps",
        "warm-up-solver",
        "restart",
        "start-points",
        "shipped-results",
    }
