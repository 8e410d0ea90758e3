"""Probability levels: coverages, quantile levels, knots."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks.arrays import Array, as_numbers, show
from calibrant.errors import ParameterError

_SHOWN = 5  # levels that a hint spells out


def check_levels(levels: ArrayLike, name: str) -> Array:
    """Return one probability, as a 0-d array, or a list of them, (L,), all inside (0, 1).

    Examples
    --------
    >>> from calibrant.checks import check_levels
    >>> check_levels([0.5, 0.9], "coverage")
    array([0.5, 0.9])
    >>> check_levels(95, "coverage")
    Traceback (most recent call last):
    calibrant.errors.ParameterError: coverage must be one number or a list of numbers in (0, 1), \
got [95.]. Did you mean 0.95?
    """
    array = as_numbers(levels, name)
    if array.ndim > 1 or array.size == 0 or not np.all((array > 0) & (array < 1)):
        raise ParameterError(
            f"{name} must be one number or a list of numbers in (0, 1), got {show(array)}."
            f"{percent_hint(array)}"
        )
    return array


def percent_hint(levels: ArrayLike) -> str:
    """Ask whether levels are given in percent; empty if that is unlikely.

    Examples
    --------
    >>> from calibrant.checks import percent_hint
    >>> percent_hint([50, 90]), percent_hint(1.5)
    (' Did you mean 0.5, 0.9?', '')
    """
    values = np.ravel(levels)
    if not 0 < len(values) <= _SHOWN or not np.all((values >= 2) & (values < 100)):
        return ""
    return f" Did you mean {', '.join(f'{value / 100:g}' for value in values)}?"


def check_level(level: float, name: str) -> float:
    """Return one probability inside (0, 1)."""
    array = check_levels(level, name)
    if array.ndim:
        raise ParameterError(f"{name} must be one number in (0, 1), got {array.size} of them.")
    return float(array)


def check_increasing(values: ArrayLike, name: str, low: float = 0.0, high: float = 1.0) -> Array:
    """Return a copy of numbers that increase strictly along the last axis, inside (low, high).

    Parameters
    ----------
    values : array of shape (k,) or (n, k)
    name : str
        What the values are called in an error.
    low, high : float
        The open interval that holds them.
    """
    array = as_numbers(values, name).copy()
    inside = np.all((array > low) & (array < high))
    if array.ndim == 0 or not inside or np.any(np.diff(array) <= 0):
        raise ParameterError(
            f"{name} must be strictly increasing numbers inside ({low:g}, {high:g}), "
            f"got {show(array)}."
        )
    return array


def check_quantile_levels(levels: ArrayLike) -> Array:
    """Return a copy of at least two strictly increasing levels inside (0, 1), (K,)."""
    array = as_numbers(levels, "levels").copy()
    with_ends = np.concatenate([[0.0], np.ravel(array), [1.0]])
    if array.ndim != 1 or len(array) < 2 or not np.all(np.diff(with_ends) > 0):
        raise ParameterError(
            "levels must be at least two strictly increasing numbers inside (0, 1), got "
            f"{show(array)}."
        )
    return array
