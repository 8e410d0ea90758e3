"""Monotone maps of the unit interval, one for every row."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.distributions._checks import Array, as_numbers, show
from calibrant.distributions._rows import RowWise
from calibrant.distributions._search import search_rows
from calibrant.errors import ParameterError

Pieces = NDArray[np.intp]


class RowMaps(RowWise):
    """Strictly increasing, piecewise linear maps of [0, 1] onto [0, 1] with common knots.

    What `MonotoneMap` is for all rows, each row has here for itself.

    Parameters
    ----------
    x : array of shape (k,)
        Knots, strictly increasing inside (0, 1).
    y : array of shape (n, k)
        Levels of every row at the knots, likewise.

    Attributes
    ----------
    x, y : arrays of shape (k + 2,) and (n, k + 2)
        With both ends, 0 and 1.
    slopes : array of shape (n, k + 1)
        Derivatives between the knots.

    Examples
    --------
    >>> from calibrant.distributions import Normal, Recalibrated, RowMaps
    >>> maps = RowMaps([0.1, 0.9], [[0.1, 0.9], [0.2, 0.8]])  # the second row becomes wider
    >>> Recalibrated(Normal([0.0, 0.0], [1.0, 1.0]), maps).interval(0.6).round(3)
    array([[-0.842,  0.842],
           [-1.282,  1.282]])
    """

    _row_arrays: ClassVar[tuple[str, ...]] = ("y", "slopes")

    def __init__(self, x: ArrayLike, y: ArrayLike) -> None:
        inner, levels = as_numbers(x, "Knots x"), as_numbers(y, "Levels y")
        if inner.ndim != 1 or levels.ndim != 2 or levels.shape[1] != len(inner):
            raise ParameterError(
                f"x must be of shape (k,) and y (n, k), got {inner.shape} and {levels.shape}."
            )
        ends = np.zeros((len(levels), 1))
        self.x = np.concatenate([[0.0], inner, [1.0]])
        self.y = np.concatenate([ends, levels, ends + 1.0], axis=1)
        if not (np.all(np.diff(self.x) > 0) and np.all(np.diff(self.y, axis=1) > 0)):
            raise ParameterError(
                "x and every row of y must be strictly increasing inside (0, 1), got "
                f"{show(inner)} and {show(levels)}."
            )
        self.slopes: Array = np.diff(self.y, axis=1) / np.diff(self.x)

    @classmethod
    def between(cls, x: Array, places: Array, levels: Array, at: Array) -> RowMaps:
        """Maps of rows at `at`, (n,), mixed from those known at places (B,) with levels (B, k).

        Beyond the first and the last place theirs are kept.
        """
        right = np.clip(np.searchsorted(places, at), 1, len(places) - 1)
        share = (at - places[right - 1]) / (places[right] - places[right - 1])
        share = np.clip(share, 0.0, 1.0)[:, None]
        return cls(x, (1.0 - share) * levels[right - 1] + share * levels[right])

    def __len__(self) -> int:
        return len(self.y)

    def __call__(self, p: Array) -> Array:
        """Apply the maps to probabilities (n, L) or (1, L)."""
        at = np.broadcast_to(p, (len(self), np.shape(p)[1]))
        piece = self._clipped(np.searchsorted(self.x, at, side="right") - 1)
        value: Array = self._of(self.y, piece)
        value += (at - self.x[piece]) * self._of(self.slopes, piece)
        return np.minimum(value, self._of(self.y, piece + 1))

    def inverse(self, p: Array) -> Array:
        """Apply the inverse maps to (n, L) or (1, L)."""
        at = np.clip(np.broadcast_to(p, (len(self), np.shape(p)[1])), 0.0, 1.0)
        piece = self._clipped(search_rows(self.y, at, "right") - 1)
        value = self.x[piece] + (at - self._of(self.y, piece)) / self._of(self.slopes, piece)
        end = self.x[piece + 1]
        found: Array = np.where(at >= 1.0, end, np.minimum(value, end))
        return found

    def mirrored(self) -> RowMaps:
        """Return ``p -> 1 - g(1 - p)``: the maps of upper tail probabilities."""
        twin = self._with(y=1.0 - self.y[:, ::-1], slopes=self.slopes[:, ::-1])
        twin.x = 1.0 - self.x[::-1]
        return twin

    def slope(self, p: Array) -> Array:
        """Derivative of the maps at (n, L); at a knot the mean of both sides."""
        left = self._clipped(np.searchsorted(self.x, p, side="left") - 1)
        right = self._clipped(np.searchsorted(self.x, p, side="right") - 1)
        return 0.5 * (self._of(self.slopes, left) + self._of(self.slopes, right))

    def _clipped(self, piece: Pieces) -> Pieces:
        return np.clip(piece, 0, len(self.x) - 2)

    @staticmethod
    def _of(values: Array, piece: Pieces) -> Array:
        return np.take_along_axis(values, piece, axis=1)

    def _joins(self, other: RowWise) -> bool:
        return isinstance(other, RowMaps) and np.array_equal(self.x, other.x)
