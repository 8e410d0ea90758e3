"""Predictive distributions as frozen distributions of scipy.stats."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from calibrant.checks import Array
from calibrant.distributions._base import Distribution
from calibrant.distributions.normal import Normal


def to_scipy(dist: Distribution) -> Any:
    """Return a frozen ``scipy.stats`` distribution of shape (n,); see `Distribution.to_scipy`."""
    if isinstance(dist, Normal):
        return stats.norm(dist.loc, dist.scale)
    return ScipyRows(dist)(np.arange(len(dist)))


class ScipyRows(stats.rv_continuous):
    """Distributions of n rows; the shape parameter is the number of the row.

    Parameters
    ----------
    dist : Distribution of n rows
    """

    def __init__(self, dist: Distribution) -> None:
        super().__init__(name=type(dist).__name__, shapes="row")
        self.rows = dist

    def _updated_ctor_param(self) -> dict[str, Any]:
        return {"dist": self.rows}  # what scipy builds a frozen copy with

    # scipy annotates these for scalars; it calls them with arrays of one shape.

    def _argcheck(self, *args: Any) -> Any:
        (row,) = args
        return (row >= 0) & (row < len(self.rows)) & (row == np.floor(row))

    def _get_support(self, *args: Any, **options: Any) -> Any:
        return -np.inf, np.inf

    def _cdf(self, x: Any, *args: Any) -> Any:
        return self._each("cdf", x, *args)

    def _sf(self, x: Any, *args: Any) -> Any:
        return self._each("prob_above", x, *args)

    def _logpdf(self, x: Any, *args: Any) -> Any:
        return self._each("log_prob", x, *args)

    def _pdf(self, x: Any, *args: Any) -> Any:
        return np.exp(self._logpdf(x, *args))

    def _ppf(self, q: Any, *args: Any) -> Any:
        levels, rows = np.broadcast_arrays(q, *args)
        found = self.rows[rows.ravel().astype(np.intp)].ppf(levels.reshape(-1, 1))
        return found.reshape(levels.shape)

    def _stats(self, *args: Any, **options: Any) -> Any:
        rows = np.asarray(args[0]).astype(np.intp)
        return self.rows.mean[rows], self.rows.variance[rows], None, None

    def _each(self, method: str, x: Any, row: Any) -> Array:
        """Evaluate a method at pairs of a value and a row, of any common shape."""
        values, rows = np.broadcast_arrays(x, row)
        chosen = self.rows[rows.ravel().astype(np.intp)]
        found: Array = getattr(chosen, method)(values.ravel())
        return found.reshape(values.shape)
