"""Levels, or errors that say what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.checks import check_increasing, check_level, check_levels, check_quantile_levels
from calibrant.errors import ParameterError


def test_good_levels() -> None:
    assert check_levels(0.9, "coverage").shape == ()
    np.testing.assert_array_equal(check_levels((0.5, 0.9), "coverage"), [0.5, 0.9])
    assert check_level(0.9, "coverage") == 0.9


@pytest.mark.parametrize("wrong", [0.0, 1.0, 95, np.nan, [0.5, 1.5], [[0.5]], []])
def test_bad_levels(wrong: object) -> None:
    with pytest.raises(ParameterError, match=r"alpha must be one number or a list .* in \(0, 1\)"):
        check_levels(wrong, "alpha")


def test_percent_is_pointed_out() -> None:
    with pytest.raises(ParameterError, match=r"got \[90\.\]\. Did you mean 0\.9\?$"):
        check_level(90, "coverage")
    with pytest.raises(ParameterError, match=r"Did you mean 0\.025, 0\.5\?$"):
        check_levels([2.5, 50], "alpha")
    for wrong in (1.5, 100, [0.5, 90]):
        with pytest.raises(ParameterError, match=r"\]\.$"):
            check_levels(wrong, "alpha")


def test_one_level() -> None:
    with pytest.raises(ParameterError, match=r"level must be one number in \(0, 1\), got 2 of"):
        check_level([0.5, 0.9], "level")
    with pytest.raises(ParameterError, match="level must be numbers, got 'high'"):
        check_level("high", "level")


def test_increasing_numbers_are_copied() -> None:
    given = np.array([[-1.0, 0.0], [2.0, 3.0]])
    found = check_increasing(given, "knots", -5.0, 5.0)
    np.testing.assert_array_equal(found, given)
    assert not np.shares_memory(found, given)
    assert check_increasing([], "knots").shape == (0,)


@pytest.mark.parametrize(
    "wrong", [[0.5, 0.5], [0.0, 0.5], [0.5, 1.0], [0.5, np.nan], 0.5, [[0.1, 0.2], [0.2, 0.1]]]
)
def test_numbers_that_do_not_increase(wrong: object) -> None:
    with pytest.raises(ParameterError, match=r"x must be strictly increasing .* inside \(0, 1\)"):
        check_increasing(wrong, "x")


@pytest.mark.parametrize("wrong", [[0.5], [0.9, 0.1], [[0.1, 0.9]], 0.5, [0.1, 1.0], [0.1, np.nan]])
def test_bad_quantile_levels(wrong: object) -> None:
    with pytest.raises(ParameterError, match="levels must be at least two strictly increasing"):
        check_quantile_levels(wrong)
