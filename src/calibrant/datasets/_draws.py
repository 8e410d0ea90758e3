"""Checks of the arguments of generated data, and their licence."""

from __future__ import annotations

import operator

import numpy as np

from calibrant.errors import ParameterError

GENERATED = "none needed: generated"
RandomState = int | np.random.Generator | None


def generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed into a generator; a generator is passed through."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "random_state must be a whole number of at least 0, a numpy.random.Generator or None; "
            f"got {random_state!r}."
        ) from error


def row_count(n: int, at_most: int | None = None) -> int:
    """Check a number of rows to draw, NumPy integers included."""
    try:
        rows = operator.index(n)
    except TypeError:
        rows = 0
    if rows < 1 or (at_most is not None and rows > at_most):
        limit = "of at least 1" if at_most is None else f"from 1 to {at_most}, the rows there are"
        raise ParameterError(f"n must be a whole number {limit}; got {n!r}.")
    return rows
