"""Risk-coverage curves: the error of the rows that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from calibrant.distributions import Distribution
from calibrant.metrics import risk_coverage as risk_coverage_curve
from calibrant.plots._forecasts import named_forecasts
from calibrant.plots.style import axes_or_new, legend_above, line_style, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def risk_coverage(
    forecasts: Distribution | Mapping[str, Distribution],
    y: ArrayLike,
    *,
    coverage: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean error of the kept rows against their share, the widest rejected first.

    A curve that rises says that the forecast knows which rows are hard; a flat one that its widths
    say nothing.

    Parameters
    ----------
    forecasts : Distribution of n rows, or mapping from names to them
    y : array of shape (n,)
    coverage : float in (0, 1)
        Of the intervals whose widths order the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import risk_coverage
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.gamma(4.0, size=500)
    >>> ax = risk_coverage(Normal(np.zeros(500), spread), spread * rng.normal(size=500))
    """
    curves = named_forecasts(forecasts, "risk_coverage")
    ax = axes_or_new(ax, (5.6, 3.8))
    for index, (name, dist) in enumerate(curves.items()):
        curve = risk_coverage_curve(dist, y, coverage=coverage)
        label = f"{name} (mean {curve.area:.3g})".strip()
        colour, style = line_style(index)
        ax.plot(curve.kept, curve.risk, color=colour, linestyle=style, label=label)
    ax.set(
        xlabel="share of the rows that is kept, the widest intervals rejected first",
        ylabel="mean absolute error of the kept rows",
        xlim=(0, 1),
    )
    ax.set_ylim(bottom=0)
    legend_above(ax)
    tidy(ax)
    return ax
