from dataclasses import dataclass

import pytest

from srs_core.checks import check_choice, check_names, check_whole


@dataclass
class Tea:
    sort: str = "green"
    cups: int = 1


def test_good_values_pass():
    check_choice("sort", "green", ("green", "black"))
    check_whole("cups", 0, 0)
    check_names({"sort": "black"}, Tea, "tea")


def test_a_word_that_is_not_allowed_is_named_with_those_that_are():
    with pytest.raises(ValueError, match=r"sort is 'blue'; choose one of green, black\."):
        check_choice("sort", "blue", ("green", "black"))


@pytest.mark.parametrize("value", [0, -3, 1.5, True, "2", None, float("nan")])
def test_only_whole_numbers_that_are_large_enough_pass(value):
    with pytest.raises(ValueError, match=r"cups is .*; it must be a whole number of at least 1\."):
        check_whole("cups", value, 1)


def test_a_misspelt_name_is_told_beside_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown tea sugar, topping; known are cups, sort\."):
        check_names(["topping", "cups", "sugar"], Tea, "tea")
