"""Figures of studies: the depth of the network, and ablations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.errors import DataError, ParameterError
from calibrant.plots.repeated_runs import check_frame, draw_runs
from calibrant.plots.style import GREY, axes_or_new, legend_above, line_style, tidy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MARKERS = "osD^vPX"


def depth_study(
    frame: pd.DataFrame,
    *,
    value: str,
    layers: str = "layers",
    method: str = "method",
    floor: float | None = None,
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw a score or the training time against the number of layers, one line per method.

    The point is the mean of the runs, its bar their standard error. One figure per quantity:
    two scales on one pair of axes invite comparisons that mean nothing.

    Parameters
    ----------
    frame : DataFrame, one row per run
    value : str
        Column to draw, such as ``"ecpe"`` or ``"seconds"``; it names the axis.
    layers, method : str
        Columns of the number of layers and of the method.
    floor : float, optional
        What a perfect forecaster scores, drawn as a line.
    log : bool
        Logarithmic axis, for times that differ by orders of magnitude.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from calibrant.experiments.study_plots import depth_study
    >>> runs = pd.DataFrame({"method": "MMD", "layers": [1, 2, 4], "seconds": [2.0, 3.0, 5.0]})
    >>> ax = depth_study(runs, value="seconds")
    """
    check_frame(frame, [method, layers, value])
    ax = axes_or_new(ax, (5.2, 3.6))
    if floor is not None:
        ax.axhline(floor, color=GREY, linestyle="--", linewidth=1.2, label="perfect forecaster")
    for index, name in enumerate(dict.fromkeys(frame[method])):
        runs = frame[frame[method] == name].groupby(layers)[value]
        mean, error = runs.mean(), runs.sem().fillna(0.0)  # of a single run it is unknown
        colour, style = line_style(index)
        ax.errorbar(
            mean.index.to_numpy(),
            mean.to_numpy(),
            yerr=error.to_numpy(),
            color=colour,
            linestyle=style,
            marker=_MARKERS[index % len(_MARKERS)],
            markersize=5,
            linewidth=1.8,
            capsize=3,
            label=str(name),
        )
    ax.set(xlabel="hidden layers", ylabel=value, xticks=sorted(frame[layers].unique()))
    if log:
        from matplotlib.ticker import LogLocator, NullFormatter

        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(lambda at, _: f"{at:g}")  # 50, not 5 x 10^1
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_ylim(bottom=0)
    legend_above(ax, ncols=3)
    tidy(ax)
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
    """Draw the score of each variant minus that of the baseline on the same run.

    Differences within a run remove how hard its data or seed were, so the standard error is that
    of the comparison.

    Parameters
    ----------
    frame : DataFrame, one row per variant and run
    value, variant : str
        Columns of the score, lower is better, and of the variant.
    baseline : str
        The variant that the others are compared with.
    run : str or sequence of str
        Columns that together identify a run, such as the data set and the seed.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from calibrant.experiments.study_plots import ablation
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
    draw_runs(ax, changes)
    ax.set_xlabel(f"change in {value} (left is better than the baseline)")
    legend_above(ax, ncols=3)
    return ax
