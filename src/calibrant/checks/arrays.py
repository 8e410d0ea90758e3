"""Numbers as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import DataError, ParameterError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Index = NDArray[np.intp]


def as_numbers(
    values: ArrayLike, name: str, error: type[DataError | ParameterError] = ParameterError
) -> Array:
    """Return values of any shape as float64.

    Examples
    --------
    >>> from calibrant.checks import as_numbers
    >>> as_numbers("high", "alpha")
    Traceback (most recent call last):
    calibrant.errors.ParameterError: alpha must be numbers, got 'high'.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        text = repr(values)
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise error(f"{name} must be numbers, got {shown}.") from cause


def as_array(values: Any) -> NDArray[Any]:
    """Return values of any type as an array; a tensor may need gradients or be on a device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def finite_numbers(values: Any, name: str) -> Array:
    """Return one finite number per row, (n,); a column (n, 1) is flattened.

    Parameters
    ----------
    values : array, series or tensor of shape (n,) or (n, 1)
    name : str
        What the values are called in an error.
    """
    try:
        array = as_array(values).astype(np.float64)
    except (TypeError, ValueError) as cause:
        raise DataError(
            f"{name} must be numbers, but {cause}. Convert or drop these rows."
        ) from cause
    # (n,) against (n, 1) would silently broadcast to (n, n).
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must have one number per row, got shape {array.shape}.")
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise DataError(
            f"{name} must be finite, but {len(wrong)} of {len(array)} values are not (the first "
            f"is {array[wrong[0]]} in row {wrong[0]}). Drop or impute these rows."
        )
    return array


def package_of(values: Any) -> str:
    """Return the top-level package of a value's class, such as "polars"."""
    return type(values).__module__.split(".", 1)[0]


def name_of(values: Any) -> str | None:
    """Return the name of a pandas or polars series; None where there is none."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else None


def show(values: Array) -> str:
    """Return the first and last few values as text for an error."""
    return np.array2string(np.ravel(values), precision=4, threshold=6, edgeitems=2)
