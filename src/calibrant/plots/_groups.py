"""Calibration within groups or deciles: coverage of each, with the band of chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.errors import ParameterError
from calibrant.metrics import GroupCalibration
from calibrant.metrics.floor import binomial_band
from calibrant.plots.style import BAND, BLUE, GREY, VERMILLION, axes_or_new, legend_above, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def group_coverage(
    found: GroupCalibration,
    *,
    ax: Axes | None = None,
    confidence: float = 0.95,
    max_groups: int = 30,
) -> Axes:
    """Draw the coverage of each group, or each decile, of rows.

    The grey bar of a group is the range of coverage of a calibrated forecast on as many rows. Bars
    are adjusted for the number of groups (Bonferroni): if all groups are calibrated, all dots lie
    inside with at least the given confidence. Crosses lie outside.

    Parameters
    ----------
    found : GroupCalibration of G groups
        From `calibrant.metrics.calibration_by_group` or `calibration_by_bins`.
    confidence : float in (0, 1)
    max_groups : int
        If there are more, those furthest from nominal for their size are drawn, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import calibration_by_bins
    >>> from calibrant.plots import group_coverage
    >>> dist = Normal(np.arange(500.0), np.full(500, 9.0))
    >>> ax = group_coverage(calibration_by_bins(dist, dist.sample(random_state=0)))
    """
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be in (0, 1), got {confidence}.")
    if max_groups < 1:
        raise ParameterError(f"max_groups must be at least 1, got {max_groups}.")
    each = 1.0 - (1.0 - confidence) / len(found)
    lower, upper = binomial_band(found.n, found.level, each)
    rows = _most_striking(found, max_groups)
    at = np.arange(len(rows))
    share, low, high = found.coverage[rows], lower[rows], upper[rows]

    ax = axes_or_new(ax, (6.4, 1.4 + 0.26 * len(rows)))
    label = f"chance, {len(found)} groups at {confidence:.0%}"
    ax.barh(at, high - low, left=low, height=0.7, color=BAND, label=label)
    ax.axvline(found.level, color=GREY, linewidth=1, label=f"nominal, {100 * found.level:.4g}%")
    inside = (share >= low) & (share <= high)
    ax.plot(share[inside], at[inside], "o", color=BLUE, markersize=5.5, label="group")
    if not inside.all():
        ax.plot(
            share[~inside], at[~inside], "X", color=VERMILLION, markersize=8, label="not chance"
        )
    ax.set_yticks(at, [f"{found.names[g]!s} (n = {found.n[g]:,})" for g in rows])
    ax.set(xlabel=f"share of targets inside {100 * found.level:.4g}% intervals")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.margins(x=0.05)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    legend_above(ax, ncols=2)
    tidy(ax)
    return ax


def _most_striking(
    found: GroupCalibration, limit: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Groups furthest from nominal in standard errors of their size, in their own order."""
    error = np.sqrt(found.level * (1.0 - found.level) / found.n)
    distance = np.abs(found.coverage - found.level) / error
    return np.sort(np.argsort(-distance, kind="stable")[:limit])
