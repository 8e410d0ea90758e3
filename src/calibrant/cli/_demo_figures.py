"""The figures of the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant.plots import intervals, pit_histogram, reliability, training_history

if TYPE_CHECKING:
    from pathlib import Path

    from calibrant.cli._demo_run import Run


def draw_figures(run: Run, folder: Path) -> None:
    """Write reliability.png, pit.png, intervals.png and history.png."""
    figures = {
        "reliability": _reliability(run),
        "pit": _pit(run),
        "intervals": _intervals(run),
        "history": _history(run),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)


# Figure rather than pyplot: needs no display, and no figure stays in memory.
def _reliability(run: Run) -> Figure:
    figure = Figure(figsize=(5.4, 5.4), layout="constrained")
    reliability(run.forecasts, run.y, ax=figure.subplots())
    return figure


def _pit(run: Run) -> Figure:
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    panels = figure.subplots(1, len(run.forecasts))
    for ax, (name, dist) in zip(panels, run.forecasts.items(), strict=True):
        pit_histogram(dist, run.y, ax=ax).set_title(name)
    figure.supxlabel(panels[0].get_xlabel(), fontsize="medium")
    top = max(ax.get_ylim()[1] for ax in panels)
    for ax in panels:
        ax.set(xlabel="", ylim=(0, top))
    for ax in panels[1:]:  # the legend of the first panel is enough
        ax.set_ylabel("")
        ax.get_legend().remove()
    return figure


def _intervals(run: Run) -> Figure:
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    panels = figure.subplots(1, len(run.models), sharey=True)
    along = _along_x(run.X)
    for ax, (name, model) in zip(panels, run.models.items(), strict=True):
        intervals(model.predict_dist(along), x=along["x"], ax=ax)
        lower, upper = run.forecasts[name].interval(0.9).T  # of the test rows
        below, above = run.y < lower, run.y > upper
        some = np.arange(len(run.y)) < _POINTS
        inside, outside = some & ~(below | above), some & (below | above)
        ax.plot(run.X["x"][inside], run.y[inside], ".", **_INSIDE)
        ax.plot(run.X["x"][outside], run.y[outside], "x", **_OUTSIDE)
        ax.set_title(
            f"{name}\n{above.mean():.1%} of targets above the 90% interval, "
            f"{below.mean():.1%} below",
            fontsize="medium",
        )
        ax.set_xlabel("x (other inputs at their median)")
    figure.legend(
        *panels[0].get_legend_handles_labels(), ncols=5, loc="outside upper center", frameon=False
    )
    for ax in panels:
        ax.get_legend().remove()
    panels[1].set_ylabel("")
    return figure


_POINTS = 300  # more would hide the bands
_INSIDE: dict[str, Any] = {"color": "black", "markersize": 2.5, "label": "test target"}
_OUTSIDE: dict[str, Any] = {
    "color": "#D55E00",
    "markersize": 5,
    "label": "outside its 90% interval",
}


def _along_x(X: pd.DataFrame) -> pd.DataFrame:
    """Return rows that differ in x only: over the test rows themselves bands would be ragged."""
    grid = np.linspace(X["x"].min(), X["x"].max(), 300)
    return pd.DataFrame({name: grid if name == "x" else X[name].median() for name in X.columns})


def _history(run: Run) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    training_history(run.models["MMDRegressor"].history_, ax=figure.subplots())
    return figure
