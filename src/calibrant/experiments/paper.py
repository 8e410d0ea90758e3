"""The paper's tables as an experiment: which cells there are, and how one is run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.errors import ParameterError
from calibrant.experiments.methods import build, method_of, settings_of
from calibrant.experiments.store import Cell, Record
from calibrant.experiments.tasks import PROTOCOLS, TASKS, Protocol, Split, make_split
from calibrant.experiments.trial import fit_and_predict, scored

_QUICK = "-quick"
_QUICK_ROWS = 300
_DRAWN_ROWS = 150


def plan(
    datasets: Iterable[str],
    methods: Iterable[str],
    trials: int,
    protocol: str,
    *,
    first_trial: int = 0,
    quick: bool = False,
) -> list[Cell]:
    """List the cells of a run, all methods of a trial beside each other.

    Trials count from `first_trial` on; reported figures are of those below 100.

    Examples
    --------
    >>> [str(cell) for cell in plan(["wine"], ["hnn", "mmd"], 1, "honest")]
    ['honest/wine/hnn/0', 'honest/wine/mmd/0']
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(f"protocol must be one of {', '.join(PROTOCOLS)}; got {protocol!r}.")
    if trials < 1:
        raise ParameterError(f"trials must be at least 1; got {trials}.")
    if first_trial < 0:
        raise ParameterError(f"first_trial must be at least 0; got {first_trial}.")
    chosen, keys = list(datasets), list(methods)
    for name in chosen:
        if name not in TASKS:
            raise ParameterError(f"Unknown task {name!r}. The known ones are: {', '.join(TASKS)}.")
    for key in keys:
        method_of(key)
    label = f"{protocol}{_QUICK}" if quick else protocol
    return [
        Cell(label, dataset, method, trial)
        for trial in range(first_trial, first_trial + trials)
        for dataset in chosen
        for method in keys
    ]


@dataclass(frozen=True)
class PaperExperiment:
    """The cells of `plan`.

    Parameters
    ----------
    data_dir : path, optional
        Folder of the data sets.
    """

    data_dir: str | os.PathLike[str] | None = None

    def settings(self, cell: Cell) -> dict[str, Any]:
        """What decides the result of a cell besides the data and the seed."""
        protocol, quick = _split_protocol(cell.protocol)
        estimator = build(cell.method, protocol, series=TASKS[cell.dataset].series, quick=quick)
        rows = {"rows": _QUICK_ROWS} if quick else {}
        kind = method_of(cell.method).recalibrated
        return settings_of(estimator) | rows | ({"recalibration": kind} if kind else {})

    def run(self, cells: Sequence[Cell], device: str = "auto") -> list[Record]:
        """Fit and score trials of one method on one data set, several of them as one batch.

        Returns
        -------
        list of dict
            For every cell its scores on the test rows, coverage at the levels 0.01 to 0.99, the
            noise floor, the 95% intervals of some rows to draw (of the first trial), and what is
            needed to judge and to repeat it: seed, settings, versions, machine, date, seconds,
            and how many trials trained together.
        """
        first = cells[0]
        protocol, quick = _split_protocol(first.protocol)
        task, method, settings = TASKS[first.dataset], method_of(first.method), self.settings(first)
        rows = _QUICK_ROWS if quick else None
        splits = [make_split(task, protocol, cell.trial, self.data_dir, rows) for cell in cells]
        estimators = [
            build(first.method, protocol, series=task.series, quick=quick).set_params(
                random_state=cell.trial, device=device
            )
            for cell in cells
        ]
        forecasts = fit_and_predict(method, estimators, splits)
        return [
            scored(dist, split, seconds, device, packages=method.requires)
            | {
                "seed": cell.trial,
                "settings": settings,
                "limit": _limit(split),
                "intervals": _intervals(dist, split) if cell.trial == 0 else {},
                "together": len(cells),
            }
            for cell, split, (dist, seconds) in zip(cells, splits, forecasts, strict=True)
        ]


def _split_protocol(name: str) -> tuple[Protocol, bool]:
    """The protocol that a cell's name means, and whether it is a quick run."""
    for protocol in PROTOCOLS:
        if name.removesuffix(_QUICK) == protocol:
            return protocol, name.endswith(_QUICK)
    raise ValueError(f"no protocol is called {name!r}")


def _limit(split: Split) -> dict[str, float]:
    """What a method that recalibrates on m rows can reach: 1/n + 1/m in place of 1/n."""
    from calibrant.metrics import noise_floor

    n, m = len(split.y_test), len(split.y_train)
    limit = noise_floor(round(1.0 / (1.0 / n + 1.0 / m)))
    return {"ecpe": limit.ecpe, "mcpe": limit.mcpe}


def _intervals(dist: Any, split: Split) -> dict[str, Any]:
    """The first test rows, in time where there is one, with their 95% intervals."""
    position = getattr(split.X_test, "ends", np.arange(len(split.y_test)))
    rows = np.argsort(position, kind="stable")[:_DRAWN_ROWS]
    lower, upper = dist[rows].interval(0.95).T
    drawn = {"y": split.y_test[rows], "mean": dist[rows].mean, "lower": lower, "upper": upper}
    return {"position": [int(p) for p in position[rows]]} | {
        name: [float(f"{value:.5g}") for value in values] for name, values in drawn.items()
    }
