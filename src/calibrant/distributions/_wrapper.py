"""The base of distributions that transform another one."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array
from calibrant.distributions._base import Distribution
from calibrant.distributions._chunks import over_rows, row_chunks
from calibrant.distributions._integrate import (
    NODES_PER_PANEL,
    integrate_crps,
    integrate_moments,
    panels_of,
)
from calibrant.distributions._parameters import loc_and_scale
from calibrant.errors import ParameterError


class Wrapper(Distribution):
    """Distribution that transforms a base; its moments and CRPS are integrals of its cdf.

    Parameters
    ----------
    base : Distribution of n rows
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("base",)
    _in_target_units: ClassVar[tuple[str, ...]] = ()  # parts (n,) or (n, k) that `affine` moves

    def __init__(self, base: Distribution) -> None:
        if not isinstance(base, Distribution):
            raise ParameterError(f"base must be a distribution, got {type(base).__name__}.")
        self.base = base

    def __len__(self) -> int:
        return len(self.base)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base!r})"

    def _cells_per_row(self) -> int:
        return self.base._cells_per_row()

    def _epistemic_part(self) -> Array:
        known = self._epistemic_share
        return self.base._epistemic_part() if known is None else known

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``, the same transformation of a moved base.

        Parameters
        ----------
        loc, scale : float or array of shape (n,)
        """
        shift, factor = loc_and_scale(loc, scale, len(self))
        # Unchecked: bounds or atoms closer than the digits of loc may coincide afterwards.
        moved = {n: (shift + factor * getattr(self, n).T).T for n in self._in_target_units}
        return self._with(base=self.base.affine(shift, factor), **moved)

    # ---- integrals --------------------------------------------------------------------------

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        return (self._moments[0] if self._fast_mean is None else self._fast_mean).copy()

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,)."""
        return self._moments[1].copy()

    @cached_property
    def _fast_mean(self) -> Array | None:
        """Mean of each row, by an integral only where there is no other way; None if in none."""
        mean = np.full(len(self), np.nan)

        def work(rows: slice) -> None:
            part = self._part(rows)
            found = part._mean_and_shortfall(np.empty((len(part), 0)))
            if found is not None:
                mean[rows] = found[0]

        over_rows(len(self), self._cells_per_row(), work)
        slow = np.isnan(mean)
        if slow.all():
            return None
        if slow.any():  # whether a row is one of these must not depend on the others
            mean[slow] = self._take(np.flatnonzero(slow))._moments[0]
        return mean

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance; cached, because they take as long as hundreds of cdf values."""
        mean, variance = np.empty(len(self)), np.empty(len(self))

        def work(rows: slice) -> None:
            mean[rows], variance[rows] = integrate_moments(panels_of(self._part(rows)))

        over_rows(len(self), NODES_PER_PANEL * self._cells_per_row(), work)
        return mean, variance

    def _crps(self, y: Array) -> Array:
        out = np.empty(y.shape)
        for rows in row_chunks(len(y), NODES_PER_PANEL * (self._cells_per_row() + y.shape[1])):
            part = self._part(rows)
            out[rows] = integrate_crps(part, panels_of(part), y[rows])
        return out

    def moments_and_crps(self, y: ArrayLike) -> tuple[Array, Array, Array]:
        """Return mean, variance and CRPS at y from one evaluation of the cdf."""
        values = self._checked_values(y, finite=True)
        mean, variance, crps = np.empty(len(self)), np.empty(len(self)), np.empty(values.shape)

        def work(rows: slice) -> None:
            part = self._part(rows)
            panels = panels_of(part)
            mean[rows], variance[rows] = integrate_moments(panels)
            crps[rows] = integrate_crps(part, panels, values[rows])

        over_rows(len(self), NODES_PER_PANEL * (self._cells_per_row() + values.shape[1]), work)
        self.__dict__["_moments"] = mean, variance
        return self.mean, variance.copy(), crps if np.ndim(y) == 2 else crps[:, 0]

    def _with(self, **parts: Any) -> Self:
        copy = super()._with(**parts)
        for name in ("_moments", "_fast_mean"):  # they belong to the rows of before
            copy.__dict__.pop(name, None)
        return copy
