"""Windows into a series: sequence inputs without copying each window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import Array
from calibrant.errors import DataError, ParameterError
from calibrant.tables import to_local


class Windows:
    """Inputs (n, length, d): the `length` rows of a series up to each of n positions.

    Row i is ``series[ends[i] - length + 1 : ends[i] + 1]``. The series is referenced, not copied,
    and windows are gathered batch by batch, so memory does not grow with the length of the
    windows. Several series may be stacked; choose `ends` so that no window crosses a border.

    Parameters
    ----------
    series : array of shape (T, d)
        Finite numbers, oldest row first.
    ends : array of int of shape (n,)
        Position of the last row of every window, from ``length - 1`` to ``T - 1``.
    length : int
        Rows in a window.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.estimators import Windows
    >>> windows = Windows(np.arange(10.0).reshape(5, 2), ends=[1, 4], length=2)
    >>> windows.shape
    (2, 2, 2)
    >>> windows.flat()
    array([[0., 1., 2., 3.],
           [6., 7., 8., 9.]])
    """

    def __init__(self, series: ArrayLike, ends: ArrayLike, length: int) -> None:
        self.series = _check_series(series)
        self.length = _check_length(length)
        self.ends = _check_ends(ends, self.length, len(self.series))

    @classmethod
    def of_array(cls, array: NDArray[Any]) -> Windows:
        """Windows of an array (n, steps, d), whose stacked rows are the series."""
        n, steps, d = array.shape
        if 0 in array.shape:
            raise DataError(f"Found array with 0 sample(s), steps or features: {array.shape}.")
        return cls(array.reshape(n * steps, d), np.arange(1, n + 1) * steps - 1, steps)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, steps and features: (n, length, d)."""
        return len(self.ends), self.length, self.series.shape[1]

    def __len__(self) -> int:
        return len(self.ends)

    def take(self, index: Any) -> Windows:
        """Return the windows of an index, a mask or a slice, into the same series."""
        chosen = object.__new__(Windows)  # without checking the series again
        chosen.series, chosen.length, chosen.ends = self.series, self.length, self.ends[index]
        return chosen

    def __getitem__(self, index: Any) -> Windows:
        return self.take(index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        steps = self.ends[:, None] + np.arange(1 - self.length, 1)
        gathered: NDArray[Any] = self.series[steps]
        return gathered if dtype is None else gathered.astype(dtype, copy=False)

    def flat(self) -> Array:
        """Float64 matrix (n, length * d): the features of the first step, of the second, ..."""
        return np.asarray(self, dtype=np.float64).reshape(len(self), -1)

    def seen_rows(self, weights: Array) -> tuple[Array, Array]:
        """Rows of the series inside at least one window, (m, d), and their weights, (m,).

        The weight of a row is the sum of the weights of its windows, which are positive.
        """
        total = np.zeros(len(self.series))
        for back in range(self.length):
            total += np.bincount(self.ends - back, weights, minlength=len(total))
        seen = total > 0
        return self.series[seen].astype(np.float64), total[seen]

    def __repr__(self) -> str:
        return f"Windows(shape={self.shape}, series={self.series.shape})"


def _check_series(series: ArrayLike) -> NDArray[Any]:
    array = np.asarray(to_local(series))
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"series must be (T, d) with at least one row, got shape {array.shape}.")
    if not np.issubdtype(array.dtype, np.floating):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"series must be numbers, got {array.dtype}: {error}") from error
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        wrong = int(np.flatnonzero(~finite)[0])
        what = "NaN" if np.isnan(array[wrong]).any() else "infinity"
        raise DataError(
            f"Input X contains {what}: {np.count_nonzero(~finite)} rows of the series, the first "
            f"is row {wrong}. Fill them or leave them out: only gaps in tables are imputed."
        )
    return array


def _check_length(length: int) -> int:
    if not isinstance(length, int | np.integer) or isinstance(length, bool) or length < 1:
        raise ParameterError(f"length must be a number of rows of at least 1, got {length!r}.")
    return int(length)


def _check_ends(ends: ArrayLike, length: int, n_rows: int) -> NDArray[np.intp]:
    positions = np.asarray(to_local(ends))
    if positions.ndim != 1 or not np.issubdtype(positions.dtype, np.integer):
        raise DataError(
            "ends must be whole numbers of shape (n,), got "
            f"{positions.dtype} of shape {positions.shape}."
        )
    if len(positions) and not (positions.min() >= length - 1 and positions.max() < n_rows):
        raise DataError(
            f"A window of {length} rows in a series of {n_rows} ends between {length - 1} and "
            f"{n_rows - 1}, got ends from {positions.min()} to {positions.max()}."
        )
    return positions.astype(np.intp, copy=False)
