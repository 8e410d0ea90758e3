"""Sharpness: the distribution of interval widths over rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from calibrant.checks import check_level
from calibrant.plots._forecasts import Forecast, interval_of, named_forecasts
from calibrant.plots.style import BLUE, INK, VERMILLION, axes_or_new, legend_above, tidy, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def sharpness(
    forecasts: Forecast | Mapping[str, Forecast],
    *,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution over rows of the width of central intervals, one box per method.

    A box holds the middle half of the rows and its line their median; the whiskers reach from
    5% to 95% of the rows, the diamond is the mean width. Narrow is good only among forecasts
    that are calibrated.

    Parameters
    ----------
    forecasts : Distribution of n rows, Evaluation, or mapping from names to them
    coverage : float in (0, 1)
        Nominal coverage of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import sharpness
    >>> spread = np.random.default_rng(0).gamma(4.0, size=500)
    >>> both = {"sharp": Normal(np.zeros(500), spread), "wide": Normal(np.zeros(500), 2 * spread)}
    >>> ax = sharpness(both)
    """
    boxes = named_forecasts(forecasts, "sharpness")
    level = check_level(coverage, "coverage")
    stats = []
    for name, forecast in boxes.items():
        widths = np.diff(interval_of(forecast, level), axis=1)[:, 0]
        low, first, middle, third, high = np.quantile(widths, _SHARES)
        stats.append(
            dict(label=name, whislo=low, q1=first, med=middle, q3=third, whishi=high)
            | {"mean": widths.mean()}
        )

    ax = axes_or_new(ax, (6.4, 1.2 + 0.5 * len(boxes)))
    drawn = ax.bxp(
        stats,
        orientation="horizontal",
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        widths=0.55,
        boxprops={"facecolor": tint(BLUE, 0.3), "edgecolor": BLUE},
        medianprops={"color": BLUE, "linewidth": 2.0},
        whiskerprops={"color": BLUE},
        capprops={"color": BLUE},
        meanprops={
            "marker": "D",
            "markerfacecolor": VERMILLION,
            "markeredgecolor": "white",
            "markersize": 7,
        },
    )
    ax.invert_yaxis()  # the first method on top, as in a table
    ax.set_xlim(left=0)
    ax.set_xlabel(f"width of {100 * level:.4g}% intervals (target units)")
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    handles = [drawn["means"][0], drawn["boxes"][0], drawn["whiskers"][0]]
    names = ["mean", "middle half of the rows", "5% to 95% of the rows"]
    legend_above(ax, handles=handles, labels=names, ncols=3)
    tidy(ax)
    return ax
