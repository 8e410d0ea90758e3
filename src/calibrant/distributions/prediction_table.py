"""Predictions as tables with named columns, in the container of the user's choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calibrant.checks import Array, check_levels, package_of
from calibrant.distributions._base import Distribution
from calibrant.errors import MissingDependencyError, ParameterError

Container = Literal["pandas", "polars", "arrow"]


def prediction_columns(
    dist: Distribution,
    coverage: ArrayLike,
    alpha: ArrayLike,
    *,
    interval: Callable[[Array], Array] | None = None,
    quantiles: Callable[[Array], Array] | None = None,
) -> dict[str, Array]:
    """Mean, stddev, ``lower_90`` and ``upper_90``, ``quantile_5`` and so on, (n,) each.

    Parameters
    ----------
    dist : Distribution of n rows
    coverage : float or array of shape (L,)
        Of the intervals; an empty list for none.
    alpha : float or array of shape (L,)
        Levels of the quantiles.
    interval, quantiles : callables, optional
        Intervals, (n, 2, L), and quantiles, (n, L), of a model whose bounds are not those of its
        distribution, such as guaranteed ones.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.distributions.prediction_table import prediction_columns
    >>> columns = prediction_columns(Normal([0.0], [1.0]), [0.5, 0.9], 0.025)
    >>> list(columns)[2:]
    ['lower_50', 'upper_50', 'lower_90', 'upper_90', 'quantile_2.5']
    """
    shares, levels = (
        np.atleast_1d(check_levels(values, name)) if np.size(values) else np.empty(0)
        for values, name in ((coverage, "coverage"), (alpha, "alpha"))
    )
    columns = {"mean": dist.mean, "stddev": dist.stddev}
    if len(shares):
        bounds = (interval or dist.interval)(shares)
        for i, share in enumerate(shares):
            columns[f"lower_{100 * share:.10g}"] = bounds[:, 0, i]
            columns[f"upper_{100 * share:.10g}"] = bounds[:, 1, i]
    if len(levels):
        values = (quantiles or dist.ppf)(levels)
        columns |= {f"quantile_{100 * a:.10g}": values[:, i] for i, a in enumerate(levels)}
    return columns


def as_container(
    columns: dict[str, Array], container: Container | None = None, *, like: Any = None
) -> Any:
    """Return columns as a frame of pandas or polars or an Arrow table.

    Parameters
    ----------
    columns : dict of arrays of shape (n,)
    container : {"pandas", "polars", "arrow"}, optional
        The kind of `like` by default.
    like : any input of a model with n rows, optional
        A pandas frame also hands on its index.
    """
    kind = container or container_of(like)
    if kind == "arrow":
        import pyarrow as pa

        return pa.table(columns)
    if kind == "polars":
        try:
            import polars as pl
        except ImportError as cause:
            raise MissingDependencyError(
                "A table of polars needs polars: pip install polars."
            ) from cause
        return pl.DataFrame(columns)
    if kind != "pandas":
        known = ", ".join(map(repr, get_args(Container)))
        raise ParameterError(f"container must be one of {known} or None, got {container!r}.")
    return pd.DataFrame(columns, index=like.index if isinstance(like, pd.DataFrame) else None)


def read_stream(X: Any) -> Any:
    """Return an Arrow stream as a table: some can be read only once; other input as it is."""
    if container_of(X) != "arrow":
        return X
    import pyarrow as pa

    return pa.table(X)


def container_of(X: Any) -> Container:
    """Return the kind of a user's table: pandas also for arrays and tensors."""
    package = package_of(X)
    if package == "polars":
        return "polars"
    is_stream = package != "pandas" and hasattr(X, "__arrow_c_stream__")
    return "arrow" if is_stream else "pandas"
