"""Checks of the parameters of distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, as_numbers, show
from calibrant.errors import ParameterError


def finite(array: Array, name: str, *, positive: bool = False) -> Array:
    """Return an array of finite (and positive) numbers."""
    if not np.all(np.isfinite(array)):
        raise ParameterError(f"{name} must be finite, got {show(array[~np.isfinite(array)])}.")
    if positive and not np.all(array > 0):
        raise ParameterError(f"{name} must be positive, got {show(array[array <= 0])}.")
    return array


def row_parameter(values: ArrayLike, name: str, *, positive: bool = False) -> Array:
    """Return a copy of a parameter with one finite number per row, (n,)."""
    array = np.atleast_1d(as_numbers(values, name)).copy()
    if array.ndim != 1:
        raise ParameterError(f"{name} must be one number per row, got shape {array.shape}.")
    return finite(array, name, positive=positive)


def matrix_parameter(values: ArrayLike, name: str, *, positive: bool = False) -> Array:
    """Return a copy of a parameter with k >= 1 finite numbers per row, (n, k)."""
    array = as_numbers(values, name).copy()
    if array.ndim != 2 or array.shape[1] == 0:
        raise ParameterError(
            f"{name} must be of shape (n, k) with at least one column, got shape {array.shape}."
        )
    return finite(array, name, positive=positive)


def same_shape(**arrays: Array) -> None:
    """Check that all parameters have the same rows and columns."""
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1:
        raise ParameterError(f"Parameters must have the same shape, got {shapes}.")


def spread_over_rows(values: ArrayLike, name: str, n_rows: int) -> Array:
    """Return a parameter that is one number, or one per row, as (n_rows,)."""
    array = as_numbers(values, name)
    if array.shape not in ((), (n_rows,)):
        raise ParameterError(
            f"{name} must be one number or one for each of {n_rows} rows, got shape {array.shape}."
        )
    return np.full(n_rows, array)


def loc_and_scale(loc: ArrayLike, scale: ArrayLike, n_rows: int) -> tuple[Array, Array]:
    """Return both parameters of an affine transformation, (n_rows,) each."""
    shift = finite(spread_over_rows(loc, "loc", n_rows), "loc")
    factor = finite(spread_over_rows(scale, "scale", n_rows), "scale", positive=True)
    return shift, factor
