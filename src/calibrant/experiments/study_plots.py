"""The depth study: what more layers cost in time and give in calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.plots._scores import check_frame
from calibrant.plots._style import GREY, axes_or_new, legend_above, line_look, tidy

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
    """Draw a score or the training time against the number of layers, a line a method.

    The point is the mean of the runs, its bar their standard error. One figure a quantity:
    two scales on one pair of axes invite comparisons that mean nothing.

    Parameters
    ----------
    frame : DataFrame, one row a run
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
    >>> from calibrant.plots import depth_study
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
        colour, style = line_look(index)
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
