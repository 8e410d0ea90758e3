"""Histogram of PIT values: flat for a calibrated forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from calibrant.errors import ParameterError
from calibrant.metrics.floor import binomial_band
from calibrant.plots._forecasts import Forecast, check_band, pit_draws_of
from calibrant.plots.style import BAND, BLUE, GREY, axes_or_new, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pit_histogram(
    forecast: Forecast,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    bins: int = 20,
    band: float | None = 0.9,
) -> Axes:
    """Draw how often targets fell into each part of their predictive distribution.

    Flat is calibrated. A U shape is overconfident, a hump underconfident, a slope biased. The
    grey band holds, for each bar, the share `band` of perfect forecasters on as many rows.

    Parameters
    ----------
    forecast : Distribution of n rows, or Evaluation
    y : array of shape (n,) or (n, 1), optional
        Observed targets; an Evaluation has its own.
    bins : int
        Number of bars.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import pit_histogram
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> ax = pit_histogram(Normal(np.zeros(500), np.full(500, 0.5)), y)
    """
    if bins < 1:
        raise ParameterError(f"bins must be at least 1, got {bins}.")
    check_band(band)
    draws = pit_draws_of(forecast, y)
    counts, edges = np.histogram(draws, bins=bins, range=(0.0, 1.0))
    n = draws.shape[1]
    heights = counts / draws.size * bins  # 1 for a calibrated forecast

    ax = axes_or_new(ax, (5.2, 3.6))
    ax.bar(
        edges[:-1],
        heights,
        width=1 / bins,
        align="edge",
        color=BLUE,
        edgecolor="white",
        linewidth=0.6,
        label=f"{n:,} targets",
    )
    if band is not None:
        lower, upper = (float(share) * bins for share in binomial_band(n, 1 / bins, band))
        label = f"{band:.0%} of perfect forecasts"
        # In front of the bars and translucent: both ends of the band must be visible.
        ax.axhspan(lower, upper, color=BAND, alpha=0.55, linewidth=0, label=label)
    ax.axhline(1.0, color=GREY, linewidth=1)
    ax.set(
        xlim=(0, 1),
        xlabel="PIT value: predicted probability of at most the target",
        ylabel="relative frequency (1 = calibrated)",
    )
    ax.set_ylim(0, 1.25 * max(float(heights.max()), 1.2))  # room for the legend
    ax.legend(frameon=False, loc="upper center", fontsize="small", ncols=2)
    tidy(ax)
    return ax
