"""Reliability diagram: empirical against nominal coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from calibrant.metrics import LEVELS, noise_floor
from calibrant.metrics.calibration import central_coverage, coverage_errors, mean_over_draws
from calibrant.metrics.floor import binomial_band
from calibrant.plots._forecasts import Forecast, check_band, named_forecasts, pit_draws_of
from calibrant.plots.style import BAND, GREY, axes_or_new, legend_above, line_style, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(
    forecasts: Forecast | Mapping[str, Forecast],
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    band: float | None = 0.9,
) -> Axes:
    """Draw the coverage of central intervals against their nominal level, 0.01 ... 0.99.

    On the diagonal intervals cover what they promise; below it they are too narrow, above it too
    wide. The grey band holds, at each level, the share `band` of perfect forecasters on as many
    rows: inside it a curve can't be told from a perfect one.

    Parameters
    ----------
    forecasts : Distribution of n rows, Evaluation, or mapping from names to them
        Several methods on the same rows are drawn as one curve each.
    y : array of shape (n,) or (n, 1), optional
        Observed targets; an Evaluation has its own.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import reliability
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> forecasts = {s: Normal(np.zeros(500), np.full(500, float(s))) for s in ("0.5", "1", "2")}
    >>> ax = reliability(forecasts, y)
    """
    curves = named_forecasts(forecasts, "reliability")
    # Everything is computed, and the input checked, before a figure is opened.
    draws = {name: pit_draws_of(forecast, y) for name, forecast in curves.items()}
    return draw_coverage(
        {name: mean_over_draws(central_coverage, pit) for name, pit in draws.items()},
        {
            name: float(mean_over_draws(lambda u: coverage_errors(u).mean(), pit))
            for name, pit in draws.items()
        },
        next(iter(draws.values())).shape[1],
        ax=ax,
        band=band,
    )


def draw_coverage(
    shares: Mapping[str, ArrayLike],
    errors: Mapping[str, float],
    n: int,
    *,
    styles: Sequence[int] | None = None,
    ax: Axes | None = None,
    band: float | None = 0.9,
) -> Axes:
    """Draw curves of empirical coverage that are known already, at the levels 0.01 ... 0.99.

    Parameters
    ----------
    shares : mapping from names to arrays of shape (99,)
    errors : mapping from names to float
        ECPE of each, for the legend.
    n : int
        Rows that they were computed on.
    styles : sequence of int, optional
        Index of the colour and line style of each curve; 0, 1 ... if not given.
    """
    check_band(band)

    ax = axes_or_new(ax, (4.8, 5.2))
    if band is not None:
        lower, upper = binomial_band(n, LEVELS, band)
        label = f"{band:.0%} of perfect forecasts"
        ax.fill_between(LEVELS, lower, upper, color=BAND, linewidth=0, label=label)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, label=f"perfect (ECPE {_floor(n)} by chance)")
    for index, (name, share) in zip(styles or range(len(shares)), shares.items(), strict=True):
        colour, style = line_style(index)
        label = f"{name} (ECPE {errors[name]:.3f})" if name else f"ECPE {errors[name]:.3f}"
        ax.plot(LEVELS, share, color=colour, linestyle=style, linewidth=1.8, label=label)
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
        xlabel="nominal coverage of the central interval (probability)",
        ylabel=f"share of {n:,} targets inside it",
    )
    legend_above(ax)  # inside, an underconfident curve would run through it
    tidy(ax)
    return ax


def _floor(n: int) -> str:
    return f"{noise_floor(n).ecpe:.3f}"
