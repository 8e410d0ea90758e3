"""Monotone maps of the unit interval onto itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.distributions._checks import Array, as_numbers, show
from calibrant.errors import ParameterError


class MonotoneMap:
    """Strictly increasing, piecewise linear map g of [0, 1] onto [0, 1].

    It runs through (0, 0), the knots and (1, 1), so it has an inverse everywhere and a
    distribution sent through it keeps the tails of its base: finite, and never crossing.

    Parameters
    ----------
    x, y : arrays of shape (k,)
        Knots, strictly increasing inside (0, 1); none gives the identity.

    Attributes
    ----------
    x, y : arrays of shape (k + 2,)
        Knots with both ends, 0 and 1.
    slopes : array of shape (k + 1,)
        Derivatives between the knots.

    Examples
    --------
    >>> from calibrant.distributions import MonotoneMap
    >>> g = MonotoneMap([0.5], [0.8])
    >>> g([0.25, 0.5]), g.inverse([0.4, 0.8])
    (array([0.4, 0.8]), array([0.25, 0.5 ]))
    """

    def __init__(self, x: ArrayLike = (), y: ArrayLike = ()) -> None:
        self.x = _knots(x, "x")
        self.y = _knots(y, "y")
        if self.x.shape != self.y.shape:
            raise ParameterError(
                f"x and y must have as many knots, got {len(self.x) - 2} and {len(self.y) - 2}."
            )
        with np.errstate(over="ignore"):
            self.slopes: Array = np.diff(self.y) / np.diff(self.x)
        if not np.all(np.isfinite(self.slopes)):
            raise ParameterError("Knots x are so close that the slope between them is infinite.")

    def __call__(self, p: ArrayLike) -> Array:
        """Apply the map to probabilities of any shape."""
        # Rounding could put the last piece above 1.
        return np.minimum(np.interp(np.asarray(p, dtype=np.float64), self.x, self.y), 1.0)

    def inverse(self, p: ArrayLike) -> Array:
        """Apply the inverse map; not decreasing to the last bit."""
        at = np.clip(np.asarray(p, dtype=np.float64), 0.0, 1.0)
        piece = np.clip(np.searchsorted(self.y, at, side="right") - 1, 0, len(self.slopes) - 1)
        value: Array = self.x[piece] + (at - self.y[piece]) / self.slopes[piece]
        # Rounding must lead neither beyond the end of a piece nor, at the last one, short of it.
        end = self.x[piece + 1]
        return np.where(at >= self.y[-1], end, np.minimum(value, end))

    def mirrored(self) -> MonotoneMap:
        """Return ``p -> 1 - g(1 - p)``: the map of upper tail probabilities."""
        # Knots too near 0 to be told apart at 1 may fall together there, so nothing is checked.
        twin = object.__new__(MonotoneMap)
        twin.x, twin.y = 1.0 - self.x[::-1], 1.0 - self.y[::-1]
        twin.slopes = self.slopes[::-1]
        return twin

    def slope(self, p: ArrayLike) -> Array:
        """Derivative of the map; at a knot the mean of both sides."""
        at = np.asarray(p, dtype=np.float64)
        last = len(self.slopes) - 1
        right = np.clip(np.searchsorted(self.x, at, side="right") - 1, 0, last)
        left = np.clip(np.searchsorted(self.x, at, side="left") - 1, 0, last)
        return 0.5 * (self.slopes[left] + self.slopes[right])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MonotoneMap)
            and np.array_equal(self.x, other.x)
            and np.array_equal(self.y, other.y)
        )

    def __hash__(self) -> int:
        return hash((self.x.tobytes(), self.y.tobytes()))

    def __repr__(self) -> str:
        return f"MonotoneMap({len(self.x) - 2} knots)"


def _knots(values: ArrayLike, name: str) -> Array:
    inner = as_numbers(values, f"Knots {name}")
    knots = np.concatenate([[0.0], np.ravel(inner), [1.0]])
    if inner.ndim != 1 or not np.all(np.diff(knots) > 0):
        raise ParameterError(
            f"Knots {name} must be a list of strictly increasing numbers inside (0, 1), "
            f"got {show(inner)}."
        )
    return knots
