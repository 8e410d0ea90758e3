"""Fan chart: observed values, then the forecast as bands that fade towards the tails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import check_levels, finite_numbers
from calibrant.distributions import Distribution
from calibrant.errors import DataError
from calibrant.metrics.inputs import check_dist, check_target
from calibrant.plots.style import BLUE, INK, axes_or_new, axis_name, legend_above, tidy, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def fan_chart(
    dist: Distribution,
    y: ArrayLike | None = None,
    *,
    past: ArrayLike | None = None,
    x: Any = None,
    coverage: Sequence[float] = (0.2, 0.4, 0.6, 0.8, 0.95),
    ax: Axes | None = None,
) -> Axes:
    """Draw a forecast of consecutive steps as a fan of central intervals around the median.

    Parameters
    ----------
    dist : Distribution of n rows
        One row per step, in order.
    y : array of shape (n,) or (n, 1), optional
        Observed values of these steps, drawn over the fan.
    past : array of shape (m,), optional
        Observed values before the first step, in order.
    x : array of shape (m + n,), optional
        Numbers or dates of the past and the forecast. Without it steps are counted from the
        first forecast, step 1.
    coverage : sequence of floats in (0, 1)
        Nominal coverages of the bands, drawn from the widest, lightest, to the narrowest.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.plots import fan_chart
    >>> dist = Normal(np.zeros(12), np.sqrt(np.arange(1, 13)))
    >>> ax = fan_chart(dist, past=np.random.default_rng(0).normal(size=24))
    """
    check_dist(dist)
    shares = np.sort(np.atleast_1d(check_levels(coverage, "coverage")))
    target = None if y is None else check_target(dist, y)
    seen = np.empty(0) if past is None else finite_numbers(past, "past")
    at = _steps(x, len(seen), len(dist))
    before, ahead = at[: len(seen)], at[len(seen) :]
    bounds = dist.interval(shares)  # (n, 2, L)

    ax = axes_or_new(ax, (7.2, 3.8))
    for level in range(len(shares) - 1, -1, -1):
        ax.fill_between(
            ahead,
            bounds[:, 0, level],
            bounds[:, 1, level],
            color=tint(BLUE, 0.75 - 0.6 * level / max(1, len(shares) - 1)),
            linewidth=0,
            label=f"{100 * shares[level]:.4g}%",
        )
    # A white outline keeps the median visible on the darkest band.
    ax.plot(ahead, dist.median, color="white", linewidth=2.6)
    ax.plot(ahead, dist.median, color=BLUE, linewidth=1.4, label="median")
    if len(seen):
        ax.plot(before, seen, color=INK, linewidth=1.2, label="observed")
    if target is not None:
        label = "observed later" if len(seen) else "observed"
        ax.plot(ahead, target, ".-", color=INK, linewidth=0.9, markersize=4, label=label)
    counted = "step (1 is the first one forecast)"
    ax.set(
        xlabel=counted if x is None else axis_name(x, "time"), ylabel="target (in its own units)"
    )
    legend_above(ax, ncols=4)
    ax.margins(x=0.01)
    tidy(ax)
    return ax


def _steps(x: Any, m: int, n: int) -> NDArray[Any]:
    if x is None:
        return np.arange(1 - m, n + 1)
    at = np.asarray(x)
    if at.shape != (m + n,):
        raise DataError(
            f"x must have one value for each of the {m} past and {n} forecast steps, shape "
            f"({m + n},), got shape {at.shape}."
        )
    return at
