"""Methods compared over repeated runs: a leaderboard, and an ablation of paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import DataError, ParameterError
from calibrant.plots._style import BLUE, GREY, INK, axes_or_new, legend_above, tidy, tint

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
    """Draw the mean score of each method with its standard error, the lowest on top.

    Parameters
    ----------
    frame : DataFrame, one row a run
        A column with the method and one with the score; lower is better.
    value, method : str
        Names of these columns.
    floor : float, optional
        What a perfect forecaster scores, drawn as a line.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from calibrant.plots import leaderboard
    >>> runs = pd.DataFrame({"method": ["a", "a", "b", "b"], "ecpe": [0.02, 0.04, 0.05, 0.06]})
    >>> ax = leaderboard(runs, value="ecpe", floor=0.01)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    check_frame(frame, [method, value])
    runs = {name: part.to_numpy(dtype=np.float64) for name, part in frame.groupby(method)[value]}
    runs = dict(sorted(runs.items(), key=lambda item: float(item[1].mean())))
    ax = axes_or_new(ax, (6.4, 1.4 + 0.34 * len(runs)))
    if floor is not None:
        ax.axvline(floor, color=GREY, linestyle="--", linewidth=1.2, label="perfect forecaster")
    _dots(ax, runs)
    ax.set_xlabel(f"{value} (lower is better)")
    legend_above(ax, ncols=3)
    return ax


def ablation(
    frame: pd.DataFrame,
    *,
    value: str,
    baseline: str,
    variant: str = "variant",
    run: str | Sequence[str] = "seed",
    ax: Axes | None = None,
) -> Axes:
    """Draw what each change costs: its score less that of the baseline on the same run.

    Differences within a run leave out how hard its data or seed were, so the standard error is
    that of the comparison.

    Parameters
    ----------
    frame : DataFrame, one row a variant and run
    value, variant : str
        Columns of the score, lower is better, and of the variant.
    baseline : str
        The variant that the others are compared with.
    run : str or sequence of str
        Columns that together name a run, as the data set and the seed.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from calibrant.plots import ablation
    >>> runs = pd.DataFrame({
    ...     "variant": ["full", "full", "no anchor", "no anchor"],
    ...     "seed": [0, 1, 0, 1],
    ...     "crps": [1.0, 2.0, 1.3, 2.1],
    ... })
    >>> ax = ablation(runs, value="crps", baseline="full")
    """
    keys = [run] if isinstance(run, str) else list(run)
    check_frame(frame, [variant, value, *keys])
    if frame.duplicated([variant, *keys]).any():
        raise DataError(f"Several rows share a variant and {', '.join(keys)}: name runs further.")
    table = frame.pivot(index=keys, columns=variant, values=value)
    if baseline not in table:
        names = ", ".join(map(str, table.columns))
        raise ParameterError(f"baseline must be one of the variants {names}, got {baseline!r}.")
    if table.isna().to_numpy().any():
        raise DataError("Every variant needs a score on every run: the comparison is paired.")
    changes = {
        name: (table[name] - table[baseline]).to_numpy(dtype=np.float64)
        for name in dict.fromkeys(frame[variant])
        if name != baseline
    }
    ax = axes_or_new(ax, (6.4, 1.4 + 0.34 * len(changes)))
    ax.axvline(0.0, color=GREY, linestyle="--", linewidth=1.2, label=f"{baseline} (baseline)")
    _dots(ax, changes)
    ax.set_xlabel(f"change in {value} (left is better than the baseline)")
    legend_above(ax, ncols=3)
    return ax


def _dots(ax: Axes, runs: dict[Any, np.ndarray[tuple[int], np.dtype[np.float64]]]) -> None:
    """One line a name: the runs faint, their mean and its standard error in front."""
    for place, values in enumerate(runs.values()):
        ax.plot(
            values,
            np.full(len(values), place),
            "|",
            color=tint(BLUE, 0.55),
            markersize=9,
            label="single run" if place == 0 else None,
        )
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        ax.errorbar(
            values.mean(),
            place,
            xerr=error,
            fmt="o",
            color=BLUE,
            markersize=6,
            capsize=3,
            label="mean and standard error" if place == 0 else None,
        )
    ax.set_yticks(range(len(runs)), [str(name) for name in runs])
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.set_ylim(len(runs) - 0.5, -0.5)
    tidy(ax)


def check_frame(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Complain about a frame without rows or without these columns."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        known = ", ".join(map(str, frame.columns))
        raise DataError(f"The frame has no column {', '.join(missing)}; its columns are: {known}.")
    if not len(frame):
        raise DataError("The frame has no rows: expected one a run.")
