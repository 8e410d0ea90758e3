"""Leaderboard: scores of methods over repeated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.checks import Array
from calibrant.errors import DataError
from calibrant.metrics import METRICS
from calibrant.plots.style import BLUE, GREY, INK, axes_or_new, legend_above, tidy, tint

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def leaderboard(
    frame: pd.DataFrame,
    *,
    value: str,
    method: str = "method",
    floor: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean score of each method with its standard error, the best on top.

    Parameters
    ----------
    frame : DataFrame, one row per run
        A column with the method and one with the score.
    value, method : str
        Names of these columns. Lower is better, except for metrics of
        `calibrant.metrics.METRICS` where higher is.
    floor : float, optional
        What a perfect forecaster scores, drawn as a line.

    Examples
    --------
    >>> import pandas as pd
    >>> from calibrant.plots import leaderboard
    >>> runs = pd.DataFrame({"method": ["a", "a", "b", "b"], "ecpe": [0.02, 0.04, 0.05, 0.06]})
    >>> ax = leaderboard(runs, value="ecpe", floor=0.01)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    _check_frame(frame, [method, value])
    runs = {name: part.to_numpy(dtype=np.float64) for name, part in frame.groupby(method)[value]}
    better = METRICS[value].better if value in METRICS else "lower"
    sign = -1.0 if better == "higher" else 1.0
    runs = dict(sorted(runs.items(), key=lambda item: sign * float(item[1].mean())))
    ax = axes_or_new(ax, (6.4, 1.4 + 0.34 * len(runs)))
    if floor is not None:
        ax.axvline(floor, color=GREY, linestyle="--", linewidth=1.2, label="perfect forecaster")
    _draw_runs(ax, runs)
    ax.set_xlabel(value if better is None else f"{value} ({better} is better)")
    legend_above(ax, ncols=3)
    return ax


def _draw_runs(ax: Axes, runs: Mapping[Any, Array]) -> None:
    """Draw one line per name: the runs faint, their mean and its standard error in front."""
    for row, values in enumerate(runs.values()):
        ax.plot(
            values,
            np.full(len(values), row),
            "|",
            color=tint(BLUE, 0.55),
            markersize=9,
            label="single run" if row == 0 else None,
        )
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        ax.errorbar(
            values.mean(),
            row,
            xerr=error,
            fmt="o",
            color=BLUE,
            markersize=6,
            capsize=3,
            label="mean and standard error" if row == 0 else None,
        )
    ax.set_yticks(range(len(runs)), [str(name) for name in runs])
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.set_ylim(len(runs) - 0.5, -0.5)
    tidy(ax)


def _check_frame(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise an error about a frame without rows or without these columns."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        known = ", ".join(map(str, frame.columns))
        raise DataError(f"The frame has no column {', '.join(missing)}; its columns are: {known}.")
    if not len(frame):
        raise DataError("The frame has no rows: expected one per run.")
