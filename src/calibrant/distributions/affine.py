"""Location and scale change of any distribution, for targets that were scaled."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.distributions._base import Distribution, Flags, checked_base
from calibrant.distributions._checks import Array, loc_and_scale


class Affine(Distribution):
    """Distribution of ``loc + scale * Y`` for a Y of any family.

    It answers as ``base.affine(loc, scale)`` does, which stays inside the family of the base (a
    scaled normal is a normal, and atoms stay on the very numbers that the change gives), and
    remembers what was changed.

    Parameters
    ----------
    base : Distribution of n rows
    loc : float or array of shape (n,)
    scale : float or array of shape (n,), > 0

    Examples
    --------
    >>> from calibrant.distributions import Affine, Normal
    >>> celsius = Normal([20.0], [5.0])
    >>> Affine(celsius, loc=32.0, scale=1.8).mean
    array([68.])
    """

    _row_arrays: ClassVar[tuple[str, ...]] = ("base", "loc", "scale")

    def __init__(self, base: Distribution, loc: ArrayLike, scale: ArrayLike) -> None:
        self.base = checked_base(base)
        self.loc, self.scale = loc_and_scale(loc, scale, len(base))

    def __len__(self) -> int:
        return len(self.base)

    @property
    def _changed(self) -> Distribution:
        return self.base.affine(self.loc, self.scale)

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        return self.loc + self.scale * self.base.mean

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,)."""
        return self.scale**2 * self.base.variance

    def _cdf(self, y: Array) -> Array:
        return self._changed._cdf(y)

    def _cdf_left(self, y: Array) -> Array:
        return self._changed._cdf_left(y)

    def _sf(self, y: Array) -> Array:
        return self._changed._sf(y)

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        return self._changed._ppf(tail, upper)

    def _log_prob(self, y: Array) -> Array:
        return self._changed._log_prob(y)

    def _crps(self, y: Array) -> Array:
        return self._changed._crps(y)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self._changed._sample(n, rng)

    def _panels(self) -> Array:
        return self._changed._panels()

    def _cells_per_row(self) -> int:
        return self.base._cells_per_row()

    def __repr__(self) -> str:
        return f"Affine({self.base!r})"

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``: one change after the other."""
        # Made one, the two would round differently and miss the atoms by a last digit.
        return type(self)(self._changed, loc, scale)
