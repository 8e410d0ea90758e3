"""Prediction intervals over a feature, over time or over sorted rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import Array, check_levels
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError
from calibrant.metrics.inputs import check_dist, check_target, column
from calibrant.metrics.quantile_pass import evenly_spaced
from calibrant.plots.style import (
    BLUE,
    VERMILLION,
    axes_or_new,
    axis_name,
    legend_above,
    tidy,
    tint,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def intervals(
    dist: Distribution,
    y: ArrayLike | None = None,
    *,
    x: Any = None,
    coverage: float | Sequence[float] = (0.5, 0.9),
    ax: Axes | None = None,
    max_rows: int = 500,
) -> Axes:
    """Draw the median and central intervals of each row, with the observed targets.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1), optional
        Observed targets; those outside the widest interval are drawn as crosses.
    x : array of shape (n,), optional
        Numbers or dates of the x axis. Without it rows are sorted by their median.
    coverage : float or sequence of floats in (0, 1)
        Nominal coverages, drawn from the widest, lightest, to the narrowest.
    max_rows : int
        If there are more, this many evenly spaced rows are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import intervals
    >>> hours = np.arange(48)
    >>> dist = Normal(np.sin(hours / 4), np.full(48, 0.3))
    >>> ax = intervals(dist, dist.sample(random_state=0), x=hours, coverage=0.95)
    """
    check_dist(dist)
    shares = np.sort(np.atleast_1d(check_levels(coverage, "coverage")))
    target = None if y is None else check_target(dist, y)
    if max_rows < 2:
        raise ParameterError(f"max_rows must be at least 2, got {max_rows}.")
    rows, at, x_label = _positions(dist, x, max_rows)
    drawn = dist[rows]
    bounds = drawn.interval(shares)  # (rows, 2, L)

    return draw_intervals(
        at,
        dict(zip(shares.tolist(), np.moveaxis(bounds, 2, 0), strict=True)),
        drawn.median,
        None if target is None else target[rows],
        centre_label="median",
        x_label=x_label,
        ax=ax,
    )


def draw_intervals(
    at: NDArray[Any],
    bounds: Mapping[float, Array],
    centre: Array,
    y: Array | None,
    *,
    centre_label: str,
    x_label: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw intervals that are known already.

    Parameters
    ----------
    at : array of shape (n,)
        Positions on the x axis.
    bounds : mapping from coverages, increasing, to arrays of shape (n, 2)
    centre : array of shape (n,)
        Line in the middle.
    y : array of shape (n,) or None
        Observed targets.
    centre_label, x_label : str
    """
    ax = axes_or_new(ax, (7.2, 3.8))
    tints = np.linspace(0.5, 0.25, len(bounds)) if len(bounds) > 1 else [0.25]
    for share, shade in reversed(list(zip(bounds, tints, strict=True))):
        lower, upper = bounds[share].T
        ax.fill_between(
            at,
            lower,
            upper,
            color=tint(BLUE, shade),
            linewidth=0,
            label=f"{100 * share:.4g}% interval",
        )
    ax.plot(at, centre, color=BLUE, linewidth=1.2, label=centre_label)
    if y is not None:
        widest = max(bounds)
        _draw_targets(ax, at, y, bounds[widest], widest)
    ax.set(xlabel=x_label, ylabel="target (in its own units)")
    legend_above(ax, ncols=3)
    ax.margins(x=0.01)
    tidy(ax)
    return ax


def _positions(
    dist: Distribution, x: Any, max_rows: int
) -> tuple[NDArray[np.intp], NDArray[Any], str]:
    """Rows to draw in order, where to draw them and the name of that axis."""
    n = len(dist)
    kept = evenly_spaced(n, max_rows)
    if x is None:
        order = np.argsort(dist.median, kind="stable")
        return order[kept], kept, "row, sorted by predicted median (rank)"
    values = column(x, "x", n)
    if values.dtype == object or values.dtype.kind in "US":
        raise DataError(
            f"x must hold numbers or dates, got {values.dtype}. Convert it, for example with "
            "numpy.asarray(x, dtype='datetime64[s]')."
        )
    order = np.argsort(values, kind="stable")[kept]
    return order, values[order], axis_name(x, "time" if values.dtype.kind == "M" else "x")


def _draw_targets(ax: Axes, at: NDArray[Any], y: Array, widest: Array, share: float) -> None:
    inside = (y >= widest[:, 0]) & (y <= widest[:, 1])
    ax.plot(at[inside], y[inside], ".", color="black", markersize=3.5, label="observed")
    label = f"observed, outside {100 * share:.4g}%"
    ax.plot(at[~inside], y[~inside], "x", color=VERMILLION, markersize=5, label=label)
