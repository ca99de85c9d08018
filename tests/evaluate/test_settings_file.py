"""Settings files: the ready-made ones are sound, and a bad one is refused with its fault named."""

import json
from pathlib import Path

import pytest

from srs_core.evaluate.settings_file import check_not_set, parts_of, read_settings_file

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
        ({"settings": [{"name": 5}]}, "name is 5"),
        ({"settings": [{"name": ["x"]}]}, r"name is \['x'\]"),
        ({"settings": [{"name": None}]}, "name is None"),
        ({"settings": [{"name": ""}]}, "name is ''"),
        ({"settings": [{"name": "a\tb"}]}, "without control characters"),
        ({"models": [5]}, "models must be a list of names or paths"),
        ({"models": ["cifar10-small-0.25", ""]}, "models must be a list of names or paths"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_file_is_refused_with_its_fault_named(tmp_path, content, words):
    with pytest.raises(ValueError, match=words):
        read_settings_file(write(tmp_path, content))


def test_no_depth_of_nesting_is_too_much_for_the_reader(tmp_path):
    # At some depth the values can still be read, but no longer be told in the sentence that refuses them.
    for depth in range(900, 1000):
        for start, end in (("[", "]"), ('{"a": ', "}")):
            value = start * depth + "1" + end * depth
            with pytest.raises(ValueError, match=r"steps is|nested too deeply"):
                read_settings_file(write(tmp_path, f'{{"settings": [{{"steps": {value}}}]}}'))


def test_an_option_that_an_entry_sets_too_is_refused():
    settings = ({"method": "rs"}, {"steps": 1, "batch_size": 8, "n": 30})
    check_not_set({"sigma": 0.5, "batch_size": None, "seed": 0}, settings)
    with pytest.raises(ValueError, match=r"^n is set by the entries of the settings file; leave --n out\.$"):
        check_not_set({"sigma": 0.5, "n": 30}, settings)
    with pytest.raises(ValueError, match=r"^batch_size is set by .*; leave --batch-size out\.$"):
        check_not_set({"batch_size": 16}, settings)
    check_not_set({"n": 30}, ())


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
