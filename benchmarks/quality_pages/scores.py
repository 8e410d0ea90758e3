"""A score of every method on every data set."""

from __future__ import annotations

from calibrant.experiments.layout import Label, Table, pivot
from calibrant.experiments.methods import METHODS
from calibrant.experiments.tasks import TASKS

from .runs import Runs

_FLOORS = {"floor": "floor", "attainable floor": "attainable_floor"}  # of calibration errors


def scores_table(runs: Runs, metric: str) -> Table:
    """One line per method, below the floors where the score has any."""
    sets = [name for name in TASKS if runs.methods(name)]
    keys = [key for key in METHODS if any(key in runs.methods(name) for name in sets)]
    rows = [*(_FLOORS if metric in ("ecpe", "mcpe") else ()), *keys]

    def cell(label: Label, name: str) -> str:
        (row,) = label
        if row in _FLOORS:  # equal for all methods: it depends on the numbers of rows alone
            floor = runs.find(name, runs.methods(name)[0], _FLOORS[row], metric)
            return "" if floor is None else f"{floor.mean:.4f}"
        found = runs.find(name, row, "scores", metric)
        return "" if found is None else str(found)

    return pivot([metric.upper()], [(row,) for row in rows], sets, cell)
