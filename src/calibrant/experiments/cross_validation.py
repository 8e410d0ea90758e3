"""Compare methods on a user's own table."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from numpy.typing import ArrayLike

from calibrant.engines import default_workers
from calibrant.errors import CalibrantError
from calibrant.experiments.candidates import BASELINE, chosen_methods
from calibrant.experiments.leaderboard import Leaderboard, rank
from calibrant.experiments.own_table import OwnTable, own_table
from calibrant.experiments.runner import Outcome, missing, run_cells
from calibrant.experiments.store import Record, Store
from calibrant.experiments.time_plan import Schedule, TimePlan, plan_time

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
    **options: Any,
) -> Leaderboard:
    """Cross-validate methods on the same folds and recommend one.

    Every method runs with its defaults; text is one-hot encoded and gaps are filled. Rows with
    equal inputs are in the same fold. Not for time series: random folds leak the future.

    Parameters
    ----------
    X : array or frame of shape (n, d)
    y : array of shape (n,)
    methods : sequence of str, optional
        Names as on the command line, such as "mmd --quality best", or keys of `CANDIDATES`; by
        default all whose packages are installed. The baseline always takes part.
    folds, seed : int
        Number of folds; seed of the folds and of the training.
    groups : array of shape (n,), optional
        Rows with the same label stay in one fold.
    name : str
        Name of the table in the store.
    store : path, optional
        Folder of the results, from which an interrupted comparison resumes. Temporary if not given.
    **options
        Of `run_comparison`: minutes, on_plan, device, engine, workers, address, on_outcome. In a
        script, processes need the guard ``if __name__ == "__main__"``.

    Returns
    -------
    Leaderboard

    Examples
    --------
    >>> from calibrant.datasets import load
    >>> from calibrant.experiments import compare
    >>> data = load("diabetes")
    >>> print(compare(data.X, data.y, methods=["heteroscedastic", "mmd"]))  # doctest: +SKIP
    """
    experiment = own_table(X, y, folds=folds, groups=groups, name=name, seed=seed)
    names = chosen_methods(methods)
    with nullcontext(store) if store is not None else tempfile.TemporaryDirectory() as folder:
        results = Store(folder)
        names, failed = run_comparison(experiment, names, results, **options)
        return stored_leaderboard(experiment, names, results, failed)


def run_comparison(
    experiment: OwnTable,
    names: Sequence[str],
    store: Store,
    *,
    minutes: float | None = None,
    on_plan: Callable[[TimePlan], None] = lambda plan: None,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    device: str = "auto",
    engine: str = "serial",
    workers: int | None = None,
    address: str | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Run what has no result yet, within a budget of time, cheap methods first.

    Parameters
    ----------
    minutes : float, optional
        Methods that would take longer are left out; without it all run, in the given order.
    on_plan : callable
        Called with the plan before anything runs, if there is a budget.
    device, engine, workers, address, on_outcome
        As in `run_cells`.

    Returns
    -------
    names, failed
        The methods, with those that the plan added, and messages of those that failed.
    """
    start, listed = time.monotonic(), list(names)
    options: dict[str, Any] = {"device": device, "engine": engine, "address": address}
    observers = [on_outcome]
    if minutes is not None:
        side_by_side = 1 if engine == "serial" else workers or default_workers(device)
        plan = plan_time(experiment, listed, store, minutes=minutes, workers=side_by_side)
        on_plan(plan)
        listed = plan.names
        schedule = Schedule(plan, start + 60 * minutes)
        options |= {"fits": schedule.fits}
        observers.append(schedule.observe)

    def observe(outcome: Outcome) -> None:
        for observer in observers:
            observer(outcome)

    todo = missing(experiment.cells(listed), store, experiment)
    outcomes = run_cells(todo, store, experiment, workers=workers, on_outcome=observe, **options)
    failed = {
        outcome.cell.method: outcome.message or "another process is running it"
        for outcome in outcomes
        if outcome.status != "done"
    }
    return listed, failed


def stored_leaderboard(
    experiment: OwnTable, names: Sequence[str], store: Store, failed: dict[str, str]
) -> Leaderboard:
    """Rank the methods whose folds all have results; name the others."""
    failed, unfinished = dict(failed), dict[str, int]()
    records: dict[str, list[Record]] = {}
    for name in names:
        cells = experiment.cells([name])
        todo = missing(cells, store, experiment)
        if name in failed:
            continue
        if todo:
            unfinished[name] = len(cells) - len(todo)
            continue
        found = [record for cell in cells if (record := store.read(cell)) is not None]
        if any(score not in record["scores"] for record in found for score in _NEEDED):
            failed[name] = "its forecasts have no finite scores"
        else:
            records[name] = found
    if not set(records) - {BASELINE}:
        for name, message in failed.items():
            raise CalibrantError(f"No method could be compared. {name}: {message}")
        raise CalibrantError(
            "No method was finished in time. Allow more minutes, or name a cheap method; what is "
            "done is kept."
        )
    return rank(records, failed, unfinished)
