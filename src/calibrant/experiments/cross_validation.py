"""Compare all methods on one's own table."""

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
    engine: str = "here",
    workers: int | None = None,
    address: str | None = None,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> Leaderboard:
    """Cross-validate methods on the same folds and recommend one.

    Every method has its defaults; categories are one-hot and gaps filled. Rows with equal inputs
    are in the same fold. Not for a series: folds at random let a method see the future.

    Parameters
    ----------
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    methods : sequence of str, optional
        Keys of `METHODS`, those of rivals too; all of this library that can run here if not given.
    folds : int
    groups : array of shape (n,), optional
        Rows with the same label stay in one fold.
    name : str
        Of the table, in the store.
    seed : int
        Of the folds and of the training.
    store : path, optional
        Folder of the results: what is there is not computed again. Forgotten if not given.
    device : str
    engine, workers, address
        Where cells run; see `run_cells`. Processes need the guard ``if __name__ == "__main__"``
        in a script.
    on_outcome : callable
        Is told of every method and fold that ends.

    Returns
    -------
    Leaderboard
        ``print`` shows it.

    Examples
    --------
    >>> from calibrant.datasets import load
    >>> from calibrant.experiments import compare
    >>> data = load("diabetes")
    >>> print(compare(data.X, data.y, methods=["hnn", "mmd"]))  # doctest: +SKIP
    """
    experiment = own_table(X, y, folds=folds, groups=groups, name=name, seed=seed)
    keys = chosen_methods(methods)
    with nullcontext(store) if store is not None else tempfile.TemporaryDirectory() as folder:
        results = Store(folder)
        outcomes = run_cells(
            missing(experiment.cells(keys), results, experiment),
            results,
            experiment,
            device=device,
            engine=engine,
            workers=workers,
            address=address,
            on_outcome=on_outcome,
        )
        return _ranked(experiment, keys, results, outcomes)


def _ranked(
    experiment: OwnTable, keys: Sequence[str], store: Store, outcomes: Sequence[Outcome]
) -> Leaderboard:
    failed = {
        outcome.cell.method: outcome.message or "in work in another run"
        for outcome in outcomes
        if outcome.status != "done"
    }
    records: dict[str, list[Record]] = {key: [] for key in keys if key not in failed}
    for cell in experiment.cells(list(records)):
        if (record := store.read(cell)) is not None:
            records[cell.method].append(record)
    for key in list(records):
        scores = [record["scores"][name] for record in records[key] for name in _NEEDED]
        if None in scores:
            failed[key] = "its forecasts have no finite scores"
            del records[key]
    if not records:
        method, message = next(iter(failed.items()))
        raise CalibrantError(f"No method could be compared. {method}: {message}")
    return rank(records, failed)
