"""Piecewise-linear maps of an interval, one for all rows or one per row."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Index, as_numbers, check_increasing
from calibrant.distributions._rows import RowWise
from calibrant.distributions._search import search_rows
from calibrant.errors import ParameterError


class MonotoneMap(RowWise):
    """Strictly increasing, piecewise-linear map g of [0, 1] onto itself.

    It runs through (0, 0), the knots and (1, 1), so it has an inverse everywhere, and a
    distribution recalibrated by it has finite quantiles that never cross.

    Parameters
    ----------
    x, y : arrays of shape (k,) or (n, k)
        Knots: g maps each x to its y. Strictly increasing inside the interval; none gives the
        identity. A matrix holds knots of one map per row.
    interval : (float, float), default (0.0, 1.0)
        Interval to map onto itself.

    Attributes
    ----------
    x, y : arrays of shape (k + 2,) or (n, k + 2)
        Knots with both ends of the interval.
    slopes : array of shape (k + 1,) or (n, k + 1)
        Derivatives between the knots.

    Examples
    --------
    >>> from calibrant.distributions import MonotoneMap
    >>> g = MonotoneMap([0.5], [0.8])
    >>> g([0.25, 0.5]), g.inverse([0.4, 0.8])
    (array([0.4, 0.8]), array([0.25, 0.5 ]))

    One map per row, with common knots x:

    >>> maps = MonotoneMap([0.5], [[0.8], [0.4]])
    >>> maps([[0.25, 0.5]])
    array([[0.4, 0.8],
           [0.2, 0.4]])
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("x", "y", "slopes")  # where they have rows at all
    _common_parts: ClassVar[tuple[str, ...]] = ("x", "y", "interval")

    def __init__(
        self,
        x: ArrayLike = (),
        y: ArrayLike = (),
        *,
        interval: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.interval = interval
        self.x = _with_ends(check_increasing(x, "Knots x", *interval), *interval)
        self.y = _with_ends(check_increasing(y, "Knots y", *interval), *interval)
        per_row = self.x.ndim == self.y.ndim == 2
        same_rows = len(self.x) == len(self.y) if per_row else max(self.x.ndim, self.y.ndim) <= 2
        if not same_rows or self.x.shape[-1] != self.y.shape[-1]:
            raise ParameterError(
                "x and y must have as many knots, in one map, (k,), or in one map per row, (n, k), "
                f"got shapes {np.shape(x)} and {np.shape(y)}."
            )
        with np.errstate(over="ignore"):
            self.slopes: Array = np.diff(self.y) / np.diff(self.x)
        if not np.all(np.isfinite(self.slopes)):
            raise ParameterError("Knots x are so close that the slope between them is infinite.")

    @classmethod
    def between(cls, x: ArrayLike, anchors: Array, levels: Array, at: Array) -> Self:
        """Interpolate maps that are known at some anchors, such as predicted means.

        Before the first and after the last anchor the map stays the same.

        Parameters
        ----------
        x : array of shape (k,)
            Knots of all maps.
        anchors : array of shape (B,)
            Increasing.
        levels : array of shape (B, k)
            The y of the map at each anchor.
        at : array of shape (n,)
            Where the n maps are wanted.
        """
        right = np.clip(np.searchsorted(anchors, at), 1, len(anchors) - 1)
        share = (at - anchors[right - 1]) / (anchors[right] - anchors[right - 1])
        share = np.clip(share, 0.0, 1.0)[:, None]
        return cls(x, (1.0 - share) * levels[right - 1] + share * levels[right])

    @property
    def n_rows(self) -> int | None:
        """Number of maps; None where one map holds for all rows."""
        return len(self.slopes) if self.slopes.ndim == 2 else None

    def __call__(self, p: ArrayLike) -> Array:
        """Apply the map to values of any shape, or the maps of n rows to (n, L) or (1, L)."""
        at = self._for_rows(p)
        if self.n_rows is None:
            return np.minimum(np.interp(at, self.x, self.y), self.interval[1])
        at = np.clip(at, *self.interval)
        piece = self._piece(self.x, at)
        value = _pick(self.y, piece) + (at - _pick(self.x, piece)) * _pick(self.slopes, piece)
        return self._held(at, value, end=_pick(self.y, piece + 1))

    def inverse(self, p: ArrayLike) -> Array:
        """Apply the inverse map; the result never decreases, not even in the last bit."""
        at = np.clip(self._for_rows(p), *self.interval)
        piece = self._piece(self.y, at)
        value = _pick(self.x, piece) + (at - _pick(self.y, piece)) / _pick(self.slopes, piece)
        return self._held(at, value, end=_pick(self.x, piece + 1))

    def slope(self, p: ArrayLike) -> Array:
        """Derivative of the map; at a knot the mean of both sides."""
        at = self._for_rows(p)
        left, right = (self._piece(self.x, at, side) for side in ("left", "right"))
        mean: Array = 0.5 * (_pick(self.slopes, left) + _pick(self.slopes, right))
        return mean

    def mirrored(self) -> Self:
        """Return ``p -> low + high - g(low + high - p)``: the map of upper tail probabilities."""
        # Knots that differ near 0 may round to the same number near 1, so nothing is checked.
        both = sum(self.interval)
        return self._with(
            x=both - self.x[..., ::-1], y=both - self.y[..., ::-1], slopes=self.slopes[..., ::-1]
        )

    def _held(self, at: Array, value: Array, end: Array) -> Array:
        """Values that rounding leads neither beyond the end of a piece nor short of the last."""
        return np.where(at >= self.interval[1], end, np.minimum(value, end))

    def _for_rows(self, p: ArrayLike) -> Array:
        values = as_numbers(p, "Values of a map")
        if self.n_rows is None:
            return values
        return np.broadcast_to(values, (self.n_rows, values.shape[-1]))

    def _piece(self, knots: Array, at: Array, side: Literal["left", "right"] = "right") -> Index:
        """Which piece between knots, (k,) or (n, k), each value lies on."""
        search = np.searchsorted if knots.ndim == 1 else search_rows
        return np.clip(search(knots, at, side) - 1, 0, knots.shape[-1] - 2)

    def _row_names(self) -> tuple[str, ...]:
        return tuple(name for name in self._row_parts if getattr(self, name).ndim == 2)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MonotoneMap)
            and self.interval == other.interval
            and np.array_equal(self.x, other.x)
            and np.array_equal(self.y, other.y)
        )

    def __hash__(self) -> int:
        return hash((self.interval, self.x.tobytes(), self.y.tobytes()))

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f"{self.n_rows} rows, "
        return f"MonotoneMap({rows}{self.x.shape[-1] - 2} knots)"


def _with_ends(knots: Array, low: float, high: float) -> Array:
    margins = [(0, 0)] * (knots.ndim - 1) + [(1, 1)]
    return np.pad(knots, margins, constant_values=(low, high))


def _pick(values: Array, piece: Index) -> Array:
    """Entries of values, (k,) or (n, k), at pieces: any shape, or (n, L)."""
    return values[piece] if values.ndim == 1 else np.take_along_axis(values, piece, axis=1)
