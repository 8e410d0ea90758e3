"""Predictive distributions as distributions of skpro."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from skpro.distributions import Normal as SkproNormal
from skpro.distributions.base import BaseDistribution

from calibrant.checks import Array
from calibrant.distributions._base import Distribution
from calibrant.distributions.normal import Normal


def to_skpro(dist: Distribution, index: Any = None, columns: Any = None) -> Any:
    """Return an skpro distribution of shape (n, 1); see `Distribution.to_skpro`."""
    rows = pd.RangeIndex(len(dist)) if index is None else pd.Index(index)
    names = pd.RangeIndex(1) if columns is None else pd.Index(columns)
    if isinstance(dist, Normal):
        return SkproNormal(dist.loc[:, None], dist.scale[:, None], index=rows, columns=names)
    return SkproRows(dist, index=rows, columns=names)


class SkproRows(BaseDistribution):
    """Any distribution of n rows behind the interface of skpro, (n, 1).

    Parameters
    ----------
    rows : Distribution of n rows
    index : pandas Index of n labels, optional
    columns : pandas Index of one label, optional
    """

    _tags: ClassVar[dict[str, Any]] = {
        "capabilities:approx": ["pdfnorm", "energy"],
        "capabilities:exact": ["mean", "var", "pdf", "log_pdf", "cdf", "ppf"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
    }

    def __init__(self, rows: Distribution, index: Any = None, columns: Any = None) -> None:
        self.rows = rows
        super().__init__(
            index=pd.RangeIndex(len(rows)) if index is None else index,
            columns=pd.RangeIndex(1) if columns is None else columns,
        )

    def _mean(self) -> Array:
        return self.rows.mean[:, None]

    def _var(self) -> Array:
        return self.rows.variance[:, None]

    def _cdf(self, x: Array) -> Array:
        return self.rows.cdf(self._values(x))

    def _ppf(self, p: Array) -> Array:
        return self.rows.ppf(self._values(p))

    def _log_pdf(self, x: Array) -> Array:
        return self.rows.log_prob(self._values(x))

    def _pdf(self, x: Array) -> Array:
        return np.exp(self._log_pdf(x))

    def _values(self, x: Any) -> Array:
        return np.broadcast_to(np.asarray(x, dtype=np.float64), (len(self.rows), 1))

    def _subset_params(self, rowidx: Any, colidx: Any, coerce_scalar: bool = False) -> Any:
        chosen = slice(None) if rowidx is None else np.asarray(rowidx)
        return {"rows": self.rows[chosen]}

    def _iat(self, rowidx: Any = None, colidx: Any = None) -> Any:
        return self._iloc(pd.Index([rowidx]), pd.Index([colidx]))
