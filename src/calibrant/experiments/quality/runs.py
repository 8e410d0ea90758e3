"""Stored results by data set, method and trial, averaged and paired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import DataError
from calibrant.experiments.comparison import margin, standard_error
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

REPORTED = range(100)  # trials from 100 on are those that settings were chosen on


class Figure(NamedTuple):
    """A mean over trials, its standard error (None for fewer than two) and their number."""

    mean: float
    error: float | None
    trials: int

    def __str__(self) -> str:
        return f"{self.mean:.4g}" + ("" if self.error is None else f" ± {self.error:.2g}")

    def over(self, unit: float) -> Figure:
        """The same in another unit."""
        return Figure(self.mean / unit, self.error and self.error / unit, self.trials)

    @property
    def noise(self) -> float:
        """How far from zero a mean must be to be no chance; infinite where nobody can tell."""
        return float("inf") if self.error is None else margin((self.error, self.trials - 1))


class Runs:
    """The results of one protocol.

    Parameters
    ----------
    records : iterable of dict
        As a `Store` or an archive holds them.
    protocol : str
    trials : container of int
        Those that count.
    """

    def __init__(
        self, records: Iterable[Record], protocol: str, trials: Container[int] = REPORTED
    ) -> None:
        self.protocol = protocol
        self._found: dict[tuple[str, str], dict[int, Record]] = defaultdict(dict)
        for record in records:
            cell = record["cell"]
            if cell["protocol"] == protocol and cell["trial"] in trials:
                self._found[cell["dataset"], cell["method"]][cell["trial"]] = record

    def within(self, trials: Container[int]) -> Runs:
        """The results of these trials alone."""
        records = (each for found in self._found.values() for each in found.values())
        return Runs(records, self.protocol, trials)

    def of_nine(self, count: int) -> int:
        """As large a part of the protocol's data sets as `count` is of nine; time has series only.

        Examples
        --------
        >>> Runs([], "shuffled").of_nine(7), Runs([], "honest").of_nine(7)
        (7, 4)
        """
        series = sum(task.series for task in TASKS.values())
        return ceil(count * (series if self.protocol == "honest" else len(TASKS)) / 9)

    def datasets(self, method: str) -> list[str]:
        """Data sets on which a method has results, in the order of the tasks."""
        return [name for name in TASKS if (name, method) in self._found]

    def methods(self, dataset: str) -> list[str]:
        """Methods with results on a data set."""
        return [method for name, method in self._found if name == dataset]

    def values(self, dataset: str, method: str, *path: str) -> dict[int, float]:
        """A number of each trial, found in its record under these names."""
        found = {}
        for trial, record in self._found.get((dataset, method), {}).items():
            value: Any = record
            for name in path:
                value = None if value is None else value.get(name)
            if value is not None:
                found[trial] = float(value)
        return found

    def find(self, dataset: str, method: str, *path: str) -> Figure | None:
        """Mean over trials, or None where there are none."""
        return figure(self.values(dataset, method, *path).values())

    def figure(self, dataset: str, method: str, *path: str) -> Figure:
        """Mean over the trials that must be there."""
        found = self.find(dataset, method, *path)
        if found is None:
            raise DataError(
                f"Results of {method} on {dataset} have no {'.'.join(path)}: run them again."
            )
        return found

    def gap(self, dataset: str, method: str, other: str, *path: str) -> Figure | None:
        """Mean difference of two methods, paired by trial: splits are the same."""
        ours, theirs = (self.values(dataset, key, *path) for key in (method, other))
        return figure(ours[trial] - theirs[trial] for trial in sorted(ours.keys() & theirs.keys()))

    def in_limits(self, dataset: str, method: str, metric: str) -> Figure:
        """Mean of ECPE or MCPE over its limit, which is no chance."""
        return self.figure(dataset, method, "scores", metric).over(
            self.figure(dataset, method, "limit", metric).mean
        )

    def in_floors(self, dataset: str, method: str, kind: str) -> Figure:
        """Mean of ECPE within deciles of the predicted mean or spread over its floor."""
        return self.figure(dataset, method, "deciles", kind, "ecpe").over(
            self.figure(dataset, method, "deciles", kind, "floor").mean
        )


def figure(values: Iterable[float]) -> Figure | None:
    """Mean and standard error of some values, None of none."""
    numbers = np.array(list(values))
    if not len(numbers):
        return None
    return Figure(float(numbers.mean()), standard_error(numbers), len(numbers))
