"""Every method on every data set, the losses as plain as the wins."""

from __future__ import annotations

from calibrant.experiments.methods import METHODS
from calibrant.experiments.quality.runs import Runs
from calibrant.experiments.quality.verdicts import Table
from calibrant.experiments.tasks import TASKS

_BOUNDS = ("floor", "limit")  # of calibration errors


def scores_table(runs: Runs, metric: str) -> Table:
    """A line per method, floor and limit above them where the score has such."""
    sets = [name for name in TASKS if runs.methods(name)]
    keys = [key for key in METHODS if any(key in runs.methods(name) for name in sets)]
    lines = []
    for bound in _BOUNDS:
        known = [_bound(runs, name, bound, metric) for name in sets]
        if any(known):
            lines.append([bound, *known])
    for key in keys:
        figures = [runs.find(name, key, "scores", metric) for name in sets]
        lines.append([key, *("" if found is None else f"{found}" for found in figures)])
    return Table([metric.upper(), *sets], lines)


def _bound(runs: Runs, name: str, bound: str, metric: str) -> str:
    """The same for all methods: it depends on the numbers of rows alone."""
    found = runs.find(name, runs.methods(name)[0], bound, metric)
    return "" if found is None else f"{found.mean:.4f}"
