"""Which methods a budget of time allows: estimates before, decisions while it runs."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from calibrant.errors import CalibrantError, ParameterError
from calibrant.experiments.candidates import BASELINE, candidate
from calibrant.experiments.layout import Table
from calibrant.experiments.own_table import OwnTable
from calibrant.experiments.runner import Outcome, missing
from calibrant.experiments.store import Cell, Store

_TRAINED = 0.6  # usual share of the steps that early stopping leaves, with scoring
_MOST_ROWS = 10_000  # to estimate from; larger tables are extrapolated
_SHARE_OF_TREES = 10  # a tenth of them is timed
_CHEAP = 1 / 8  # share of the budget up to which a method comes before `mmd` with a time budget
_SHARE_OF_MMD = 0.4
_BUDGETS = (300, 120, 60, 30, 15, 10, 5)  # seconds of a fit that `mmd` may have to keep to


@dataclass(frozen=True)
class PlannedMethod:
    """A method of the plan.

    Attributes
    ----------
    name : str
    fold_seconds : float
        Estimate for one fold.
    folds : int
        Folds that have no result yet.
    seconds : float
        Estimate for all of them, side by side.
    in_time : bool
        Whether the budget is expected to suffice.
    """

    name: str
    fold_seconds: float
    folds: int
    seconds: float
    in_time: bool


@dataclass(frozen=True)
class TimePlan:
    """Methods in the order in which they run, cheapest first; ``print`` shows it."""

    methods: tuple[PlannedMethod, ...]
    minutes: float
    rows: int
    folds: int
    workers: int

    @property
    def names(self) -> list[str]:
        """Methods in order, those included that run only if time is left."""
        return [method.name for method in self.methods]

    def __str__(self) -> str:
        total = sum(method.seconds for method in self.methods if method.in_time)
        side = "" if self.workers == 1 else f", {self.workers} at a time"
        lines = [
            [method.name, duration(method.seconds), _remark(method)] for method in self.methods
        ]
        return (
            f"Plan: {self.folds} folds of {self.rows:,} rows{side}, about {duration(total)} of "
            f"{duration(60 * self.minutes)}\n\n"
            + Table(("method", "estimate", ""), lines, right=(1,)).render("text")
        )


def _remark(method: PlannedMethod) -> str:
    if not method.folds:
        return "done before"
    return "" if method.in_time else "if time is left"


def duration(seconds: float) -> str:
    """Seconds in words, to the precision of an estimate.

    Examples
    --------
    >>> duration(0.4), duration(34.2), duration(200.0), duration(9000.0)
    ('1 s', '34 s', '3.3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.2g} min" if seconds < 5400 else f"{seconds / 3600:.2g} h"


def plan_time(
    experiment: OwnTable, names: Sequence[str], store: Store, *, minutes: float, workers: int
) -> TimePlan:
    """Estimate every method, sort them by their price and say which fit the budget.

    `mmd` comes after the cheap methods. If it needs more than two fifths of the budget, ``mmd
    --minutes`` takes its place, which gets as much.
    """
    if not minutes > 0:
        raise ParameterError(f"minutes must be above 0, got {minutes:g}.")
    methods = [_priced(experiment, name, store, workers) for name in dict.fromkeys(names)]
    planned = _in_order(methods, minutes)
    if any(method.name == "mmd" and not _is_early(method, minutes) for method in planned):
        rounds = math.ceil(len(experiment.folds) / workers)
        allowed = [budget for budget in _BUDGETS if budget * rounds <= 60 * minutes * _SHARE_OF_MMD]
        more = [f"mmd --minutes {budget / 60:g}" for budget in allowed[:1]]
        methods += [_priced(experiment, name, store, workers) for name in more]
        planned = _in_order(methods, minutes)
    folds = len(experiment.folds)
    return TimePlan(tuple(planned), minutes, len(experiment.y), folds, workers)


def _priced(experiment: OwnTable, name: str, store: Store, workers: int) -> PlannedMethod:
    folds = len(missing(experiment.cells([name]), store, experiment))
    each = fold_seconds(experiment, name) if folds else 0.0
    return PlannedMethod(name, each, folds, each * math.ceil(folds / workers), in_time=True)


def _in_order(methods: Sequence[PlannedMethod], minutes: float) -> list[PlannedMethod]:
    """Cheapest first, but for the baseline and `mmd`; whether each still fits."""
    left, planned = 60.0 * minutes, []

    def order(method: PlannedMethod) -> tuple[int, float]:
        if method.name == BASELINE:
            return 0, 0.0
        if _is_early(method, minutes):
            return 2, 0.0
        return (1 if method.seconds <= 60 * minutes * _CHEAP else 3), method.seconds

    for method in sorted(methods, key=order):
        in_time = method.seconds <= left
        left -= method.seconds if in_time else 0.0
        planned.append(replace(method, in_time=in_time))
    return planned


def _is_early(method: PlannedMethod, minutes: float) -> bool:
    """Whether a method is `mmd`, as it is or within a budget, and leaves time for others."""
    affordable = method.seconds <= 60 * minutes * _SHARE_OF_MMD
    return method.name.startswith("mmd --minutes") or (method.name == "mmd" and affordable)


def fold_seconds(experiment: OwnTable, name: str) -> float:
    """Estimate how long one fold of a method takes, by training a little of it."""
    split, model = experiment.split(0), experiment.estimator(name)
    rows = min(len(split.y_train), _MOST_ROWS)
    X, y = split.X_train.iloc[:rows], split.y_train[:rows]
    groups = split.hold_out["groups"][:rows]
    scale = len(split.y_train) / rows
    try:
        if candidate(name).role == "library":
            return scale * network_seconds(model, X, y, groups)
        return scale * _tree_seconds(model, X, y, groups)
    except CalibrantError:  # what is wrong is told where the method runs
        return 0.0


def network_seconds(model: Any, X: Any, y: Any, groups: Any) -> float:
    """Estimate how long a network method takes to fit, by timing some of its steps."""
    from calibrant.estimators import training_seconds

    budget = getattr(model, "time_budget", None)
    if budget is not None:
        return float(budget)
    model.set_params(random_state=0, device="cpu")
    return _TRAINED * training_seconds(model.plan(X, y, groups=groups))


def _tree_seconds(model: Any, X: Any, y: Any, groups: Any) -> float:
    some = max(1, model.n_estimators // _SHARE_OF_TREES)
    share: float = model.n_estimators / some
    start = time.perf_counter()
    model.set_params(n_estimators=some, random_state=0).fit(X, y, groups=groups)
    return share * (time.perf_counter() - start)


class Schedule:
    """Decides which cells still fit into the budget, from estimates and from what was observed.

    Parameters
    ----------
    plan : TimePlan
    deadline : float
        In seconds of `time.monotonic`.
    """

    def __init__(self, plan: TimePlan, deadline: float) -> None:
        self._plan = {method.name: method for method in plan.methods}
        self._workers, self._deadline = plan.workers, deadline
        self._started: set[str] = set()
        self._observed: dict[str, list[float]] = {}

    def observe(self, outcome: Outcome) -> None:
        """Learn how long a cell took."""
        if outcome.seconds:
            self._observed.setdefault(outcome.cell.method, []).append(outcome.seconds)

    def fits(self, cell: Cell) -> bool:
        """Whether a cell should be started: a new method only if all its folds fit."""
        name = cell.method
        is_new = name not in self._started
        rounds = math.ceil(self._plan[name].folds / self._workers) if is_new else 1
        left = self._deadline - time.monotonic()
        if name != BASELINE and rounds * self._seconds(name) > left:
            return False
        self._started.add(name)
        return True

    def _seconds(self, name: str) -> float:
        if name in self._observed:
            return statistics.mean(self._observed[name])
        ratios = [
            statistics.mean(seconds) / self._plan[other].fold_seconds
            for other, seconds in self._observed.items()
            if candidate(other).role == "library" and self._plan[other].fold_seconds > 0
        ]
        budgeted = "--minutes" in name
        factor = statistics.median(ratios) if ratios and not budgeted else 1.0
        return factor * self._plan[name].fold_seconds
