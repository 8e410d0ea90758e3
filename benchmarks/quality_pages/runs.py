"""Stored results by data set, method and trial, averaged and paired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from math import ceil
from typing import Any

from calibrant.errors import DataError
from calibrant.experiments.estimates import (
    Estimate,
    estimate,
    paired_difference,
    ratio_of_test_rows,
)
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

REPORTED = range(100)  # settings were chosen on trials from 100 on


class Runs:
    """The results of one protocol.

    Parameters
    ----------
    records : iterable of dict
        Records of a store or a packed file.
    protocol : str
    trials : container of int
        Trials to use.
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
        records = (record for found in self._found.values() for record in found.values())
        return Runs(records, self.protocol, trials)

    def of_nine(self, count: int) -> int:
        """Scale a number out of nine data sets to those of the protocol: "honest" has series only.

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
        """Methods that have results on a data set."""
        return [method for name, method in self._found if name == dataset]

    def values(self, dataset: str, method: str, *path: str) -> dict[int, float]:
        """The value at a path of the record, by trial."""
        found = {}
        for trial, record in self._found.get((dataset, method), {}).items():
            value: Any = record
            for name in path:
                value = None if value is None else value.get(name)
            if value is not None:
                found[trial] = float(value)
        return found

    def find(self, dataset: str, method: str, *path: str) -> Estimate | None:
        """Mean over trials, or None if there are none."""
        return estimate(self.values(dataset, method, *path).values())

    def mean(self, dataset: str, method: str, *path: str) -> Estimate:
        """Mean over trials, which must exist."""
        found = self.find(dataset, method, *path)
        if found is None:
            raise DataError(
                f"Results of {method} on {dataset} have no {'.'.join(path)}: run them again."
            )
        return found

    def difference(self, dataset: str, method: str, other: str, *path: str) -> Estimate | None:
        """Mean difference of two methods on shared trials, with its corrected standard error."""
        if (dataset, method) not in self._found:
            return None
        ratio = ratio_of_test_rows(list(self._found[dataset, method].values()))
        ours, theirs = (self.values(dataset, key, *path) for key in (method, other))
        return paired_difference(ours, theirs, ratio)

    def in_attainable_floors(self, dataset: str, method: str, metric: str) -> Estimate:
        """ECPE or MCPE as a multiple of its attainable floor."""
        return self.mean(dataset, method, "scores", metric).over(
            self.mean(dataset, method, "attainable_floor", metric).mean
        )

    def in_floors(self, dataset: str, method: str, kind: str) -> Estimate:
        """Mean ECPE within deciles of the predicted mean or spread, as a multiple of its floor."""
        return self.mean(dataset, method, "deciles", kind, "ecpe").over(
            self.mean(dataset, method, "deciles", kind, "floor").mean
        )
