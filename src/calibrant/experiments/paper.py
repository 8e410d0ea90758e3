"""The paper's tables as an experiment: its cells, and how to run one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant.errors import ParameterError
from calibrant.experiments.methods import (
    PAPER_METHODS,
    Method,
    build,
    get_method,
    settings_of,
)
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
    known: Mapping[str, Method] = PAPER_METHODS,
) -> list[Cell]:
    """List the cells of a run, trial by trial.

    Trials are numbered from `first_trial` on. Reported results have trials below 100; settings
    are chosen on the others. `known` holds the methods that `methods` may name.

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
        get_method(key, known)
    label = f"{protocol}{_QUICK}" if quick else protocol
    return [
        Cell(label, dataset, method, trial)
        for trial in range(first_trial, first_trial + trials)
        for dataset in chosen
        for method in keys
    ]


@dataclass(frozen=True)
class PaperExperiment:
    """The experiment whose cells `plan` lists.

    Parameters
    ----------
    data_dir : path, optional
        Folder of the data sets.
    methods : mapping of str to Method
        The methods that cells may name.
    """

    data_dir: str | os.PathLike[str] | None = None
    methods: Mapping[str, Method] = field(default_factory=lambda: PAPER_METHODS)

    def batched(self, cell: Cell) -> bool:
        """Whether trials of this method can train as one batch."""
        return get_method(cell.method, self.methods).batched

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Everything that determines the result of a cell, apart from the data and the seed."""
        protocol, quick = _split_protocol(cell.protocol)
        method = get_method(cell.method, self.methods)
        estimator = build(method, protocol, series=TASKS[cell.dataset].series, quick=quick)
        settings = settings_of(estimator)
        if quick:
            settings["rows"] = _QUICK_ROWS
        if method.recalibrated:
            settings["recalibration"] = method.recalibrated
        return settings

    def run(self, cells: Sequence[Cell], device: str = "auto") -> list[Record]:
        """Fit and score trials of one method on one data set, as one batch if there are several.

        Returns
        -------
        list of dict
            For every cell: scores on the test rows, coverage at the levels 0.01 to 0.99, noise
            floor, attainable floor, seed, settings, provenance, seconds, and the number of
            trials in the batch. The first trial also has the 95% intervals of some rows, for
            figures.
        """
        first = cells[0]
        protocol, quick = _split_protocol(first.protocol)
        task, method = TASKS[first.dataset], get_method(first.method, self.methods)
        settings = self.settings(first)
        rows = _QUICK_ROWS if quick else None
        splits = [make_split(task, protocol, cell.trial, self.data_dir, rows) for cell in cells]
        estimators = [
            build(method, protocol, series=task.series, quick=quick).set_params(
                random_state=cell.trial, device=device
            )
            for cell in cells
        ]
        forecasts = fit_and_predict(method, estimators, splits)
        records = []
        for cell, split, (dist, seconds) in zip(cells, splits, forecasts, strict=True):
            record = scored(dist, split, seconds, device, packages=method.requires) | {
                "seed": cell.trial,
                "settings": settings,
                "attainable_floor": _attainable_floor(split),
                "together": len(cells),
            }
            if cell.trial == 0:
                record["intervals"] = _intervals(dist, split)
            records.append(record)
        return records


def _split_protocol(name: str) -> tuple[Protocol, bool]:
    """The protocol of a cell, and whether it is a quick run."""
    for protocol in PROTOCOLS:
        if name.removesuffix(_QUICK) == protocol:
            return protocol, name.endswith(_QUICK)
    raise ParameterError(f"protocol must be one of {', '.join(PROTOCOLS)}; got {name!r}.")


def _attainable_floor(split: Split) -> dict[str, float]:
    """Expected errors of a perfect forecaster recalibrated on the m training rows.

    The map adds the noise of m rows to that of the n test rows: 1/n + 1/m in place of 1/n.
    """
    from calibrant.metrics import noise_floor

    n, m = len(split.y_test), len(split.y_train)
    floor = noise_floor(round(1.0 / (1.0 / n + 1.0 / m)))
    return {"ecpe": floor.ecpe, "mcpe": floor.mcpe}


def _intervals(dist: Any, split: Split) -> dict[str, Any]:
    """The 95% intervals of the first test rows, in order of time for a series."""
    position = getattr(split.X_test, "ends", np.arange(len(split.y_test)))
    rows = np.argsort(position, kind="stable")[:_DRAWN_ROWS]
    lower, upper = dist[rows].interval(0.95).T
    drawn = {"y": split.y_test[rows], "mean": dist[rows].mean, "lower": lower, "upper": upper}
    return {"position": [int(p) for p in position[rows]]} | {
        name: [float(f"{value:.5g}") for value in values] for name, values in drawn.items()
    }
