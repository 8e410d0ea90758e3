"""Objects made of rows: taking rows, replacing parts, joining."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from calibrant.checks import Index

RowIndex = slice | Index


class RowWise:
    """Base of objects whose parts, arrays or other such objects, have one entry per row."""

    _row_parts: ClassVar[tuple[str, ...]] = ()  # names of attributes with one entry per row
    _common_parts: ClassVar[tuple[str, ...]] = ()  # those that must be equal to join rows

    def _row_names(self) -> tuple[str, ...]:
        """Names of the parts of this very object that have one entry per row."""
        return self._row_parts

    def _take(self, rows: RowIndex) -> Self:
        taken = {}
        for name in self._row_names():
            part = getattr(self, name)
            taken[name] = part._take(rows) if isinstance(part, RowWise) else part[rows]
        return self._with(**taken)

    def _with(self, **parts: Any) -> Self:
        """Return a copy with other parts, unchecked."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **parts)
        return copy

    def _joins(self, other: RowWise) -> bool:
        """Whether rows of both can be held in the same arrays."""
        names = self._row_names()
        if type(self) is not type(other) or names != other._row_names():
            return False
        for name in names:
            mine, theirs = getattr(self, name), getattr(other, name)
            nested = isinstance(mine, RowWise)
            if not (mine._joins(theirs) if nested else mine.shape[1:] == theirs.shape[1:]):
                return False
        common = (name for name in self._common_parts if name not in names)
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in common)

    def _join(self, others: list[Self]) -> Self:
        """Return these rows followed by those of others that `_joins` accepts."""
        joined = {}
        for name in self._row_names():
            first, *rest = (getattr(part, name) for part in [self, *others])
            joined[name] = (
                first._join(rest) if isinstance(first, RowWise) else np.concatenate([first, *rest])
            )
        return self._with(**joined)


def row_positions(index: Any, n_rows: int) -> Index:
    """Positions of rows chosen by a whole number, a list of them or a mask."""
    chosen = np.asarray(index)
    if chosen.dtype == np.bool_ and chosen.shape == (n_rows,):
        return np.flatnonzero(chosen)
    whole = np.issubdtype(chosen.dtype, np.integer) or chosen.shape == (0,)
    if isinstance(index, tuple) or chosen.ndim > 1 or not whole:
        raise IndexError(
            "Rows are chosen by a whole number, a slice, a list of whole numbers or a mask of "
            f"shape ({n_rows},), got {index!r}."
        )
    positions = np.atleast_1d(chosen).astype(np.intp)
    outside = (positions < -n_rows) | (positions >= n_rows)
    if outside.any():
        raise IndexError(f"row {positions[outside][0]} is out of range for {n_rows} rows")
    return positions
