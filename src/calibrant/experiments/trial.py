"""One cell: split, fit, predict, score."""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.experiments.methods import build, method_of, settings_of
from calibrant.experiments.store import Cell, Record
from calibrant.experiments.tasks import PROTOCOLS, TASKS, Protocol, Split, make_split

if TYPE_CHECKING:
    from calibrant.distributions import Distribution
    from calibrant.estimators import NetworkRegressor
    from calibrant.experiments.tasks import Folder

QUICK = "-quick"
_QUICK_ROWS = 300
_DRAWN_ROWS = 150
_METRICS = (
    *("ecpe", "mcpe", "epiw", "mpiw", "rmse", "mae", "r2", "smape", "rse"),
    *("crps", "nll", "coverage"),
)
_PACKAGES = ("calibrant", "numpy", "scipy", "scikit-learn", "torch")
LEVELS = np.arange(1, 100) / 100


def split_protocol(name: str) -> tuple[Protocol, bool]:
    """The protocol that a cell's name means, and whether it is a quick run."""
    quick = name.endswith(QUICK)
    for protocol in PROTOCOLS:
        if name.removesuffix(QUICK) == protocol:
            return protocol, quick
    raise ValueError(f"no protocol is called {name!r}")


def settings_for(cell: Cell) -> dict[str, Any]:
    """What decides the result of a cell besides the data and the seed."""
    protocol, quick = split_protocol(cell.protocol)
    method = method_of(cell.method)
    estimator = build(cell.method, protocol, series=TASKS[cell.dataset].series, quick=quick)
    rows = {"rows": _QUICK_ROWS} if quick else {}
    recalibration = {"recalibration": "isotonic"} if method.recalibrated else {}
    return settings_of(estimator) | rows | recalibration


def run_trial(cell: Cell, data_dir: Folder = None, device: str = "auto") -> Record:
    """Fit and score a cell.

    Parameters
    ----------
    cell : Cell
    data_dir : path, optional
        Folder of the data sets.
    device : str
        As estimators take it.

    Returns
    -------
    dict
        Scores on the test rows, coverage at the levels 0.01 to 0.99, the noise floor, the 95%
        intervals of some rows to draw (of the first trial), and what is needed to judge and to
        repeat it: seed, settings, versions, machine, date, seconds.
    """
    from calibrant.metrics import coverage, evaluate, noise_floor

    protocol, quick = split_protocol(cell.protocol)
    task = TASKS[cell.dataset]
    split = make_split(task, protocol, cell.trial, data_dir, _QUICK_ROWS if quick else None)
    estimator = build(cell.method, protocol, series=task.series, quick=quick)
    estimator.set_params(random_state=cell.trial, device=device)
    start = time.perf_counter()
    fit = _fit_recalibrated if method_of(cell.method).recalibrated else _fit
    model = fit(estimator, split)
    fitted = time.perf_counter()
    dist: Distribution = model.predict_dist(split.X_test)
    predicted = time.perf_counter()
    result = evaluate(dist, split.y_test)
    n, m = len(split.y_test), len(split.y_train)
    # A method that recalibrates on m rows can reach 1/n + 1/m in place of 1/n.
    limit = noise_floor(round(1.0 / (1.0 / n + 1.0 / m)))
    return {
        "seed": cell.trial,
        "settings": settings_for(cell),
        "rows": {"train": m, "test": n},
        "scores": {name: _finite(getattr(result, name)) for name in _METRICS},
        "floor": {"ecpe": result.floor.ecpe, "mcpe": result.floor.mcpe},
        "limit": {"ecpe": limit.ecpe, "mcpe": limit.mcpe},
        "covered": [round(float(c), 5) for c in coverage(dist, split.y_test, level=LEVELS)],
        "intervals": _intervals(dist, split) if cell.trial == 0 else {},
        "seconds": {"fit": fitted - start, "predict": predicted - fitted},
        "versions": {name: _version(name) for name in _PACKAGES},
        "machine": _machine(device),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _fit(estimator: NetworkRegressor, split: Split) -> Any:
    return estimator.fit(split.X_train, split.y_train, **split.hold_out)


def _fit_recalibrated(estimator: NetworkRegressor, split: Split) -> Any:
    """Fit on four fifths of the training rows, recalibrate on the others."""
    from calibrant.recalibration import IsotonicRecalibrator

    train, held_out = _calibration_rows(split)
    hold_out = dict(split.hold_out)
    if "groups" in hold_out:
        hold_out["groups"] = hold_out["groups"][train]
    if "cv" in hold_out:  # stop early on the newest of the rows that are left
        cut = int(0.8 * len(train))
        hold_out["cv"] = [(np.arange(cut), np.arange(cut, len(train)))]
    estimator.fit(split.X_train[train], split.y_train[train], **hold_out)
    return IsotonicRecalibrator().fit(estimator, split.X_train[held_out], split.y_train[held_out])


def _calibration_rows(split: Split) -> tuple[Any, Any]:
    if "cv" in split.hold_out:
        ((train, held_out),) = split.hold_out["cv"]
        return train, held_out
    n = len(split.y_train)
    # Training rows come in random order, rows of one group beside each other.
    cut = int(0.8 * n)
    groups = split.hold_out.get("groups", np.arange(n))
    while groups[cut] == groups[cut - 1]:
        cut += 1
    return np.arange(cut), np.arange(cut, n)


def _intervals(dist: Distribution, split: Split) -> dict[str, Any]:
    """The first test rows, in time where there is one, with their 95% intervals."""
    position = getattr(split.X_test, "ends", np.arange(len(split.y_test)))
    rows = np.argsort(position, kind="stable")[:_DRAWN_ROWS]
    lower, upper = dist[rows].interval(0.95).T
    drawn = {"y": split.y_test[rows], "mean": dist[rows].mean, "lower": lower, "upper": upper}
    return {"position": [int(p) for p in position[rows]]} | {
        name: [float(f"{value:.5g}") for value in values] for name, values in drawn.items()
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError

    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"


def _machine(device: str) -> dict[str, Any]:
    import torch

    from calibrant.training import resolve_device

    on = resolve_device(device)
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "device": torch.cuda.get_device_name(on) if on.type == "cuda" else on.type,
    }
