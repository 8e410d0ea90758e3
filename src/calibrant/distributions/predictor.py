"""Means, intervals and quantiles from predictive distributions."""

from __future__ import annotations

import os
from abc import abstractmethod
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from calibrant.checks import Array
from calibrant.distributions._base import Distribution
from calibrant.distributions.prediction_table import (
    Container,
    as_container,
    prediction_columns,
    read_stream,
)


class DistributionPredictor:
    """Base of models: mean, intervals and quantiles of what `predict_dist` returns.

    Examples
    --------
    >>> from calibrant.distributions import DistributionPredictor, Normal
    >>> class Doubling(DistributionPredictor):
    ...     def predict_dist(self, X):
    ...         return Normal([2.0 * x for x in X], [1.0] * len(X))
    >>> Doubling().predict([1.0, 3.0])
    array([2., 6.])
    """

    @abstractmethod
    def predict_dist(self, X: Any) -> Distribution:
        """Predictive distribution of every row, in target units."""

    def predict(self, X: Any) -> Array:
        """Mean of the predictive distribution, (n,)."""
        return self.predict_dist(X).mean

    def predict_interval(self, X: Any, coverage: ArrayLike = 0.9) -> Array:
        """Central prediction intervals.

        Returns
        -------
        array of shape (n, 2) for one coverage, (n, 2, L) for a list: row, bound, level
        """
        return self.predict_dist(X).interval(coverage)

    def predict_quantiles(self, X: Any, alpha: ArrayLike = (0.1, 0.5, 0.9)) -> Array:
        """Quantiles at any levels, (n, L), or (n,) for one level."""
        return self.predict_dist(X).ppf(alpha)

    def predict_table(
        self,
        X: Any,
        coverage: ArrayLike = 0.9,
        alpha: ArrayLike = (),
        *,
        container: Container | None = None,
    ) -> Any:
        """Means, spreads, intervals and quantiles as a table with named columns.

        Parameters
        ----------
        X : array, frame or tensor of n rows
        coverage, alpha : float or array of shape (L,)
            Of the intervals and of the quantiles, in columns such as ``lower_90``, ``upper_90``
            and ``quantile_5``.
        container : {"pandas", "polars", "arrow"}, optional
            The kind of X by default: polars for polars, an Arrow table for anything else that is
            an Arrow stream, otherwise pandas, with the index of X if it has one.

        Examples
        --------
        >>> from calibrant.distributions import DistributionPredictor, Normal
        >>> class Doubling(DistributionPredictor):
        ...     def predict_dist(self, X):
        ...         return Normal([2.0 * x for x in X], [1.0] * len(X))
        >>> Doubling().predict_table([1.0, 3.0], coverage=0.8, alpha=0.05).round(2)
           mean  stddev  lower_80  upper_80  quantile_5
        0   2.0     1.0      0.72      3.28        0.36
        1   6.0     1.0      4.72      7.28        4.36
        """
        X = read_stream(X)
        bounds = {
            "interval": partial(self.predict_interval, X),
            "quantiles": partial(self.predict_quantiles, X),
        }
        if type(self).predict_interval is DistributionPredictor.predict_interval:
            bounds = {}  # those of the distribution, without predicting again
        columns = prediction_columns(self.predict_dist(X), coverage, alpha, **bounds)
        return as_container(columns, container, like=X)

    def report(
        self,
        X: Any,
        y: ArrayLike,
        path: str | os.PathLike[str] | None = None,
        *,
        overwrite: bool = False,
        **options: Any,
    ) -> Any:
        """Evaluate the fitted model on new rows, as one interactive page.

        Parameters
        ----------
        X : array, frame or tensor of shape (n, d)
        y : array of shape (n,)
        path : path, optional
            HTML file to write as well.
        overwrite : bool
            Replace an existing file.
        **options
            Of `calibrant.report.build_report`: groups, coverage, title, target.

        Returns
        -------
        calibrant.report.Report
            With ``html`` and ``save(path)``; a notebook displays the page.
        """
        # The one import of a room above: a convenience, so it stays inside its function.
        from calibrant.report import build_report, write_report

        if path is None:
            return build_report(self, X, y, **options)
        return write_report(path, self, X, y, overwrite=overwrite, **options)
