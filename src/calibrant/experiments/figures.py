"""Figures of the paper from stored results: reliability, intervals, depth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.experiments.methods import DEPTH_STUDY, METHODS
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("reliability", "intervals", "depth")
_COLUMNS = 3
_MARKERS = "osD^vPX"
Group = dict[str, list[Record]]  # the trials of each method


def figures(
    records: Iterable[Record], kinds: Collection[str] = KINDS
) -> Iterator[tuple[str, Figure]]:
    """Draw every figure that the results allow; each is closed when the next is requested.

    Parameters
    ----------
    records : iterable of dict
        Records of a `Store`.
    kinds : collection of {"reliability", "intervals", "depth"}
        Kinds of figures to draw.

    Yields
    ------
    name, figure : pair
        Per protocol: ``{protocol}-reliability`` with all methods on every data set,
        ``{protocol}-{dataset}-intervals`` with the 95% intervals of every method in the first
        trial, and ``{protocol}-depth``.
    """
    import matplotlib.pyplot as plt

    for name, figure in _figures(list(records), kinds):
        try:
            yield name, figure
        finally:
            plt.close(figure)


def _figures(records: Sequence[Record], kinds: Collection[str]) -> Iterator[tuple[str, Figure]]:
    protocols: dict[str, dict[str, Group]] = defaultdict(lambda: defaultdict(dict))
    deep: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        cell = record["cell"]
        if cell["method"] in DEPTH_STUDY:
            deep[cell["protocol"]].append(record)
        elif cell["method"] in METHODS and cell["dataset"] in TASKS:
            group = protocols[cell["protocol"]][cell["dataset"]]
            group.setdefault(cell["method"], []).append(record)
    for protocol, found in sorted(protocols.items()):
        sets = {
            name: {key: found[name][key] for key in METHODS if key in found[name]}
            for name in TASKS
            if name in found
        }
        if "reliability" in kinds:
            yield f"{protocol}-reliability", _reliability(sets)
        for name, group in sets.items() if "intervals" in kinds else ():
            drawn = {key: trials[0] for key, trials in group.items() if trials[0].get("intervals")}
            if drawn:
                yield f"{protocol}-{name}-intervals", _intervals(name, drawn)
    for protocol, runs in sorted(deep.items()) if "depth" in kinds else ():
        yield f"{protocol}-depth", _depth(runs)


def _reliability(sets: dict[str, Group]) -> Figure:
    import matplotlib.pyplot as plt

    from calibrant.plots import draw_coverage

    rows, columns = -(-len(sets) // _COLUMNS), min(_COLUMNS, len(sets))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(3.4 * columns + 2.4, max(3.4 * rows, 4.8)),
        layout="constrained",
        squeeze=False,
    )
    handles: dict[str, Artist] = {}
    for ax, (name, group) in zip(axes.flat, sets.items(), strict=False):
        draw_coverage(
            {
                key: np.mean([record["covered"] for record in trials], axis=0)
                for key, trials in group.items()
            },
            {
                key: float(np.mean([record["scores"]["ecpe"] for record in trials]))
                for key, trials in group.items()
            },
            round(np.mean([r["rows"]["test"] for trials in group.values() for r in trials])),
            styles=[list(METHODS).index(key) for key in group],
            ax=ax,
        )
        handles |= {
            label.partition(" (")[0]: handle
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        ax.get_legend().remove()
        ax.set_title(name)
        ax.set(xlabel="", ylabel="")
    for ax in axes.flat[len(sets) :]:
        ax.remove()
    # One legend for all panels: in a panel it would be as tall as the panel itself.
    figure.legend(handles.values(), handles, frameon=False, loc="outside right upper")
    figure.supxlabel("nominal coverage of the central interval", fontsize="medium")
    figure.supylabel("share of targets inside it", fontsize="medium")
    return figure


def _intervals(dataset: str, drawn: dict[str, Record]) -> Figure:
    import matplotlib.pyplot as plt

    from calibrant.plots import draw_intervals
    from calibrant.plots.style import legend_above

    figure, axes = plt.subplots(
        len(drawn), figsize=(9.0, 2.9 * len(drawn)), layout="constrained", squeeze=False
    )
    x_label = "row of the series" if TASKS[dataset].series else "test row"
    for ax, (key, record) in zip(axes.flat, drawn.items(), strict=True):
        at, y, mean, lower, upper = (
            np.asarray(record["intervals"][name])
            for name in ("position", "y", "mean", "lower", "upper")
        )
        bounds = {0.95: np.stack([lower, upper], axis=1)}
        draw_intervals(at, bounds, mean, y, centre_label="mean", x_label=x_label, ax=ax)
        legend_above(ax, ncols=4)
        ax.set_title(f"{dataset}, {key}", loc="left", pad=24)
    return figure


def _depth(runs: Sequence[Record]) -> Figure:
    import matplotlib.pyplot as plt
    import pandas as pd
    from matplotlib.ticker import LogLocator, NullFormatter

    from calibrant.plots.style import GREY

    parts = [run["cell"]["method"].split("-depth") for run in runs]
    frame = pd.DataFrame(
        {
            "method": [key for key, _ in parts],
            "layers": [int(layers) for _, layers in parts],
            "fit seconds": [run["seconds"]["fit"] for run in runs],
            "ECPE": [run["scores"]["ecpe"] for run in runs],
        }
    )
    # One panel per quantity: two scales on one pair of axes invite meaningless comparisons.
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
    _draw_depth(frame, "fit seconds", left)
    left.set_yscale("log")
    left.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    left.yaxis.set_major_formatter(lambda at, _: f"{at:g}")  # 50, not 5 x 10^1
    left.yaxis.set_minor_formatter(NullFormatter())
    floor = float(np.mean([run["floor"]["ecpe"] for run in runs]))
    right.axhline(floor, color=GREY, linestyle="--", linewidth=1.2, label="perfect forecaster")
    _draw_depth(frame, "ECPE", right)
    right.set_ylim(bottom=0)
    return figure


def _draw_depth(frame: pd.DataFrame, value: str, ax: Axes) -> None:
    """Draw one line per method: mean over runs, and its standard error as a bar."""
    from calibrant.plots.style import legend_above, line_style, tidy

    for index, (name, runs) in enumerate(frame.groupby("method")):
        by_depth = runs.groupby("layers")[value]
        mean, error = by_depth.mean(), by_depth.sem().fillna(0.0)  # of a single run it is unknown
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
    ax.set(xlabel="hidden layers", ylabel=value, xticks=sorted(frame["layers"].unique()))
    legend_above(ax, ncols=3)
    tidy(ax)
