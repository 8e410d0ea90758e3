"""Checks of parameters: what is wrong, what was expected."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import DataError, ParameterError

Array = NDArray[np.float64]


def as_numbers(
    values: ArrayLike, name: str, error: type[DataError | ParameterError] = ParameterError
) -> Array:
    """Return values as float64, or say that they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise error(f"{name} must be numbers, got {_brief(values)}.") from cause


def finite(array: Array, name: str, *, positive: bool = False) -> Array:
    """Return an array of finite (and positive) numbers, or say which are not."""
    if not np.all(np.isfinite(array)):
        raise ParameterError(f"{name} must be finite, got {show(array[~np.isfinite(array)])}.")
    if positive and not np.all(array > 0):
        raise ParameterError(f"{name} must be positive, got {show(array[array <= 0])}.")
    return array


def row_parameter(values: ArrayLike, name: str, *, positive: bool = False) -> Array:
    """Check a parameter that has one finite number a row; a copy, (n,)."""
    array = np.atleast_1d(as_numbers(values, name)).copy()  # later changes of the input stay out
    if array.ndim != 1:
        raise ParameterError(f"{name} must be one number a row, got shape {array.shape}.")
    return finite(array, name, positive=positive)


def matrix_parameter(values: ArrayLike, name: str, *, positive: bool = False) -> Array:
    """Check a parameter that has the same number, >= 1, of finite numbers in every row; a copy."""
    array = as_numbers(values, name).copy()
    if array.ndim != 2 or array.shape[1] == 0:
        raise ParameterError(
            f"{name} must have one line a row and at least one column, got shape {array.shape}."
        )
    return finite(array, name, positive=positive)


def same_shape(**arrays: Array) -> None:
    """Check that all parameters have the same rows and columns."""
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1:
        raise ParameterError(f"Parameters must have the same shape, got {shapes}.")


def spread_over_rows(values: ArrayLike, name: str, n_rows: int) -> Array:
    """Check a parameter that is one number for all rows or one a row, (n_rows,)."""
    array = as_numbers(values, name)
    if array.shape not in ((), (n_rows,)):
        raise ParameterError(
            f"{name} must be one number or one for each of {n_rows} rows, got shape {array.shape}."
        )
    return np.full(n_rows, array)


def loc_and_scale(loc: ArrayLike, scale: ArrayLike, n_rows: int) -> tuple[Array, Array]:
    """Check the two parameters of an affine change, each one number or one a row."""
    shift = finite(spread_over_rows(loc, "loc", n_rows), "loc")
    factor = finite(spread_over_rows(scale, "scale", n_rows), "scale", positive=True)
    return shift, factor


def show(values: Array) -> str:
    """Return a few of the values for a message."""
    return np.array2string(np.ravel(values), precision=4, threshold=6, edgeitems=2)


def _brief(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 60 else f"{text[:57]}..."
