"""One cell of any experiment: fit, predict, score, and say where and with what."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.experiments.methods import build
from calibrant.experiments.store import Record

if TYPE_CHECKING:
    from calibrant.distributions import Distribution
    from calibrant.experiments.tasks import Split

_METRICS = (
    *("ecpe", "mcpe", "epiw", "mpiw", "rmse", "mae", "r2", "smape", "rse"),
    *("crps", "nll", "coverage"),
)
_PACKAGES = ("calibrant", "numpy", "scipy", "scikit-learn", "torch")
LEVELS = np.arange(1, 100) / 100


def fit_and_predict(
    estimator: Any, split: Split, *, recalibrated: str, packages: tuple[str, ...] = ()
) -> tuple[Distribution, dict[str, float]]:
    """Forecast of the test rows, and the seconds it took to fit and to predict.

    Parameters
    ----------
    recalibrated : str
        What follows on held-out training rows, as in `Method`.
    packages : tuple of str
        Optional ones that the estimator uses.
    """
    _warm_up(estimator.device, packages)
    start = time.perf_counter()
    if recalibrated:
        model = _fit_recalibrated(estimator, split, _recalibrator(recalibrated))
    else:
        model = estimator.fit(split.X_train, split.y_train, **split.hold_out)
    fitted = time.perf_counter()
    dist: Distribution = model.predict_dist(split.X_test)
    return dist, {"fit": fitted - start, "predict": time.perf_counter() - fitted}


@cache
def _warm_up(device: str, packages: tuple[str, ...]) -> None:
    """Load what the first fit of a process loads: it must not count as training time."""
    for package in packages:
        import_module(package.replace("-", "_"))
    x = np.linspace(0.0, 1.0, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build("hnn", "honest", series=False, quick=True).set_params(device=device).fit(
            x[:, None], x
        )


def scored(
    dist: Distribution,
    split: Split,
    seconds: dict[str, float],
    device: str,
    *,
    packages: Sequence[str] = (),
) -> Record:
    """Scores, coverage at every level, the floor, and what a reader must know to trust them.

    Parameters
    ----------
    packages : sequence of str
        Whose versions count, besides those that always do.
    """
    from calibrant.metrics import coverage, evaluate

    result = evaluate(dist, split.y_test)
    return {
        "rows": {"train": len(split.y_train), "test": len(split.y_test)},
        "scores": {name: _finite(getattr(result, name)) for name in _METRICS},
        "floor": {"ecpe": result.floor.ecpe, "mcpe": result.floor.mcpe},
        "deciles": {  # mean ECPE within them, and what a perfect forecaster scores there
            "mean": {"ecpe": result.by_mean.mean_ecpe, "floor": result.by_mean.mean_floor},
            "spread": {"ecpe": result.by_stddev.mean_ecpe, "floor": result.by_stddev.mean_floor},
        },
        "covered": [round(float(c), 5) for c in coverage(dist, split.y_test, level=LEVELS)],
        "seconds": seconds,
        "versions": {name: _version(name) for name in (*_PACKAGES, *packages)},
        "machine": _machine(device),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _recalibrator(kind: str) -> Any:
    from calibrant import recalibration

    if kind == "crepes":
        from calibrant.experiments.rivals import CrepesRecalibrator

        return CrepesRecalibrator()
    kinds: dict[str, Any] = {
        "isotonic": recalibration.IsotonicRecalibrator,
        "conformal": recalibration.ConformalRecalibrator,
    }
    return kinds[kind]()


def _fit_recalibrated(estimator: Any, split: Split, recalibrator: Any) -> Any:
    """Fit on four fifths of the training rows, recalibrate on the others."""
    from calibrant.recalibration._models import take

    train, held_out = calibration_rows(len(split.y_train), **split.hold_out)
    hold_out = dict(split.hold_out)
    if "groups" in hold_out:
        hold_out["groups"] = hold_out["groups"][train]
    if "cv" in hold_out:  # stop early on the newest of the rows that are left
        cut = int(0.8 * len(train))
        hold_out["cv"] = [(np.arange(cut), np.arange(cut, len(train)))]
    estimator.fit(take(split.X_train, train), split.y_train[train], **hold_out)
    rows = take(split.X_train, held_out)
    return recalibrator.fit(estimator, rows, split.y_train[held_out])


def calibration_rows(n: int, *, cv: Any = None, groups: Any = None) -> tuple[Any, Any]:
    """Positions of the rows to learn from and of a fifth to calibrate on, as a split asks for."""
    from calibrant.estimators._splits import inner_split

    return inner_split(np.ones(n), fraction=0.2, groups=groups, cv=cv, random_state=0)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _version(package: str) -> str:
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
