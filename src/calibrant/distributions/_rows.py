"""Rows of a distribution: choosing, replacing and joining them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

Rows = slice | NDArray[np.intp]


class RowWise(ABC):
    """Something with n rows whose parts are arrays, or other such things, of n rows."""

    # Names of the parts with one entry (or one line) a row.
    _row_arrays: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, index: Any) -> Self:
        """Rows by position, slice, mask or index array; an integer gives one row."""
        return self._take(index if isinstance(index, slice) else self._positions(index))

    def __array__(self, *args: object, **options: object) -> NoReturn:
        # Without this NumPy would index rows of rows of rows.
        raise TypeError(f"{type(self).__name__} is not an array; ask for its mean, ppf, sample ...")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows)"

    def _row_names(self) -> tuple[str, ...]:
        return self._row_arrays

    def _positions(self, index: Any) -> NDArray[np.intp]:
        chosen, n = np.asarray(index), len(self)
        if chosen.dtype == np.bool_ and chosen.shape == (n,):
            return np.flatnonzero(chosen)
        whole = np.issubdtype(chosen.dtype, np.integer) or chosen.shape == (0,)
        if isinstance(index, tuple) or chosen.ndim > 1 or not whole:
            raise IndexError(
                "Rows are chosen by a whole number, a slice, a list of whole numbers or a mask of "
                f"shape ({n},), got {index!r}."
            )
        positions = np.atleast_1d(chosen).astype(np.intp)
        outside = (positions < -n) | (positions >= n)
        if outside.any():
            raise IndexError(f"row {positions[outside][0]} is out of range for {n} rows")
        return positions

    def _take(self, rows: Rows) -> Self:
        return self._with(**{name: getattr(self, name)[rows] for name in self._row_names()})

    def _part(self, rows: slice) -> Self:
        """Return a chunk of rows, without a copy where it is all of them."""
        return self if (rows.start, rows.stop) == (0, len(self)) else self._take(rows)

    def _with(self, **parts: Any) -> Self:
        """Return a copy with other parts, unchecked."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **parts)
        return copy

    def _joins(self, other: RowWise) -> bool:
        """Whether rows of the other can stand in the same arrays as these."""
        if type(self) is not type(other):
            return False
        pairs = ((getattr(self, name), getattr(other, name)) for name in self._row_names())
        return self._row_names() == other._row_names() and all(
            mine._joins(theirs) if isinstance(mine, RowWise) else mine.shape[1:] == theirs.shape[1:]
            for mine, theirs in pairs
        )

    def _join(self, others: list[Self]) -> Self:
        """Return these rows and, below them, those of others that `_joins` accepts."""
        joined = {}
        for name in self._row_names():
            first, *rest = (getattr(part, name) for part in [self, *others])
            whole = (
                first._join(rest) if isinstance(first, RowWise) else np.concatenate([first, *rest])
            )
            joined[name] = whole
        return self._with(**joined)
