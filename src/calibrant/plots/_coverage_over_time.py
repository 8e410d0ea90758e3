"""Coverage of prediction intervals as time goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import Array, check_level
from calibrant.errors import ParameterError
from calibrant.metrics.floor import binomial_band
from calibrant.metrics.inputs import column
from calibrant.plots._forecasts import check_band, named_forecasts, pit_draws_of
from calibrant.plots.style import BAND, GREY, axes_or_new, axis_name, legend_above, line_style, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def coverage_over_time(
    forecasts: Any,
    y: ArrayLike | None = None,
    *,
    x: Any = None,
    coverage: float = 0.9,
    window: int | None = None,
    band: float | None = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of targets inside their intervals over the last `window` rows.

    A calibrated forecast stays near its nominal coverage at all times, not only on average. The
    grey band holds, at each time, the share `band` of perfect forecasters on as many independent
    rows.

    Parameters
    ----------
    forecasts : Backtest, Distribution of n rows, Evaluation, or mapping from names to them
        Rows in order of time. Several are drawn as one curve each.
    y : array of shape (n,), optional
        Observed targets; a Backtest or an Evaluation has its own.
    x : array of shape (n,), optional
        Numbers or dates of the x axis; a Backtest has its own.
    coverage : float in (0, 1)
        Nominal coverage of the central intervals.
    window : int, optional
        Rows of the moving share; by default a tenth of them, but at least 20.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import coverage_over_time
    >>> y = np.random.default_rng(0).normal(size=500) * np.linspace(1, 2, 500)
    >>> ax = coverage_over_time(Normal(np.zeros(500), np.ones(500)), y)
    """
    nominal = check_level(coverage, "coverage")
    named = named_forecasts(forecasts, "coverage_over_time")
    check_band(band)
    curves = {name: _curve(each, y, x, nominal) for name, each in named.items()}
    n = min(len(curve.inside) for curve in curves.values())
    rows = min(n, max(20, n // 10)) if window is None else window
    if not 1 <= rows <= n:
        raise ParameterError(f"window must lie between 1 and {n} rows, got {window}.")

    ax = axes_or_new(ax, (7.2, 3.4))
    if band is not None:
        lower, upper = (float(bound) for bound in binomial_band(rows, nominal, band))
        label = f"{band:.0%} of perfect forecasts"
        ax.axhspan(lower, upper, color=BAND, linewidth=0, label=label)
    ax.axhline(nominal, color=GREY, linewidth=1, label=f"nominal, {100 * nominal:.4g}%")
    for number, (name, curve) in enumerate(curves.items()):
        colour, style = line_style(number)
        mean = f"{curve.inside.mean():.1%} in all"
        ax.plot(
            curve.at[rows - 1 :],
            _moving_share(curve.inside, rows),
            color=colour,
            linestyle=style,
            linewidth=1.4,
            label=f"{name} ({mean})" if name else mean,
        )
    ax.set(
        xlabel=next(iter(curves.values())).label,
        ylabel=f"share inside, last {rows:,} rows",
    )
    legend_above(ax, ncols=3)
    ax.margins(x=0.01)
    tidy(ax)
    return ax


class _Curve(NamedTuple):
    inside: Array  # 0 or 1, or on an atom the share of the draws of the PIT that are inside
    at: NDArray[Any]
    label: str


def _curve(forecast: Any, y: ArrayLike | None, x: Any, level: float) -> _Curve:
    """Which targets are inside their intervals, and where to draw them."""
    if hasattr(forecast, "y_true"):  # a Backtest
        y = forecast.y_true if y is None else y
        x = forecast.index if x is None else x
        forecast = forecast.dist
    inside = np.mean(np.abs(2.0 * pit_draws_of(forecast, y) - 1.0) <= level, axis=0)
    if x is None:
        return _Curve(inside, np.arange(len(inside)), "row, in order of time")
    if getattr(x, "nlevels", 1) > 1:  # series and time
        x = x.get_level_values(-1)
    if hasattr(x, "to_timestamp"):  # periods
        x = x.to_timestamp()
    return _Curve(inside, column(x, "x", len(inside)), axis_name(x, "time"))


def _moving_share(inside: Array, rows: int) -> Array:
    total = np.concatenate([[0.0], np.cumsum(inside)])
    share: Array = (total[rows:] - total[:-rows]) / rows
    return share
