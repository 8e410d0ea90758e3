"""Compare methods on a user's own table."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from numpy.typing import ArrayLike

from calibrant.errors import CalibrantError
from calibrant.experiments.leaderboard import Leaderboard, rank
from calibrant.experiments.own_table import OwnTable, chosen_methods, own_table
from calibrant.experiments.runner import Outcome, missing, run_cells
from calibrant.experiments.store import Record, Store

_NEEDED = ("crps", "epiw", "rmse")


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    groups: ArrayLike | None = None,
    name: str = "table",
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    device: str = "auto",
    engine: str = "serial",
    workers: int | None = None,
    address: str | None = None,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> Leaderboard:
    """Cross-validate methods on the same folds and recommend one.

    Every method runs with its defaults; text is one-hot encoded and gaps are filled. Rows with
    equal inputs are in the same fold. Not for time series: random folds leak the future.

    Parameters
    ----------
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    methods : sequence of str, optional
        Keys of `METHODS`; by default all methods of this library whose packages are installed.
    folds, seed : int
        Number of folds; seed of the folds and of the training.
    groups : array of shape (n,), optional
        Rows with the same label stay in one fold.
    name : str
        Name of the table in the store.
    store : path, optional
        Folder of the results, from which an interrupted comparison resumes. Temporary if not given.
    device, engine, workers, address, on_outcome
        As in `run_cells`. In a script, processes need the guard ``if __name__ == "__main__"``.

    Returns
    -------
    Leaderboard

    Examples
    --------
    >>> from calibrant.datasets import load
    >>> from calibrant.experiments import compare
    >>> data = load("diabetes")
    >>> print(compare(data.X, data.y, methods=["hnn", "mmd"]))  # doctest: +SKIP
    """
    experiment = own_table(X, y, folds=folds, groups=groups, name=name, seed=seed)
    keys = chosen_methods(methods)
    options: dict[str, Any] = {
        "device": device,
        "engine": engine,
        "workers": workers,
        "address": address,
    }
    with nullcontext(store) if store is not None else tempfile.TemporaryDirectory() as folder:
        results = Store(folder)
        todo = missing(experiment.cells(keys), results, experiment)
        outcomes = run_cells(todo, results, experiment, on_outcome=on_outcome, **options)
        return _ranked(experiment, keys, results, outcomes)


def _ranked(
    experiment: OwnTable, keys: Sequence[str], store: Store, outcomes: Sequence[Outcome]
) -> Leaderboard:
    failed = {
        outcome.cell.method: outcome.message or "another process is running it"
        for outcome in outcomes
        if outcome.status != "done"
    }
    records: dict[str, list[Record]] = {key: [] for key in keys if key not in failed}
    for cell in experiment.cells(list(records)):
        if (record := store.read(cell)) is not None:
            records[cell.method].append(record)
    for key in list(records):
        if any(name not in record["scores"] for record in records[key] for name in _NEEDED):
            failed[key] = "its forecasts have no finite scores"
            del records[key]
    if not records:
        method, message = next(iter(failed.items()))
        raise CalibrantError(f"No method could be compared. {method}: {message}")
    return rank(records, failed)
