"""One trial of any experiment: fit, predict, score."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.experiments.methods import METHODS, build
from calibrant.experiments.provenance import provenance
from calibrant.experiments.store import Record

if TYPE_CHECKING:
    from calibrant.distributions import Distribution
    from calibrant.experiments.methods import Method
    from calibrant.experiments.tasks import Split


def fit_and_predict(
    method: Method, estimators: Sequence[Any], splits: Sequence[Split]
) -> Iterator[tuple[Distribution, dict[str, float]]]:
    """Fit a method to all splits, as one batch if there are several, then predict one by one.

    Parameters
    ----------
    method : Method
    estimators : sequence of estimator
        One estimator per split; they differ in their seed.
    splits : sequence of Split

    Yields
    ------
    dist, seconds : pair
        Predictive distribution of the test rows of a split, and the seconds to fit and to
        predict. The fitting time of a batch is divided equally among its trials.
    """
    _warm_up(estimators[0].device, method.requires)
    start = time.perf_counter()
    with tensor_cores(estimators[0].device):
        if method.recalibrated:
            models = _fit_recalibrated(estimators, splits, method.recalibrated)
        else:
            models = _fit(estimators, splits)
    share = (time.perf_counter() - start) / len(models)
    for model, split in zip(models, splits, strict=True):
        start = time.perf_counter()
        dist: Distribution = model.predict_dist(split.X_test)
        yield dist, {"fit": share, "predict": time.perf_counter() - start}


@contextmanager
def tensor_cores(device: str) -> Iterator[None]:
    """Train with TF32 matrix products on a GPU: factors of 11 significant bits, float32 sums.

    Matrix products dominate the time of many networks trained at once. Predictions use float32.
    """
    import torch

    from calibrant.training import resolve_device

    if resolve_device(device).type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@cache
def _warm_up(device: str, packages: tuple[str, ...]) -> None:
    """Load what the first fit of a process loads, which must not count as training time."""
    for package in packages:
        import_module(package.replace("-", "_"))
    x = np.linspace(0.0, 1.0, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build(METHODS["hnn"], "honest", series=False, quick=True)
        model.set_params(device=device).fit(x[:, None], x)


def scored(
    dist: Distribution,
    split: Split,
    seconds: dict[str, float],
    device: str,
    *,
    packages: Sequence[str] = (),
) -> Record:
    """Record of one trial: scores, coverage at every level, noise floor and provenance.

    Scores that are not finite are left out.

    Parameters
    ----------
    packages : sequence of str
        Packages whose versions are recorded in addition to the core ones.
    """
    from calibrant.metrics import evaluate

    result = evaluate(dist, split.y_test)
    return {
        "rows": {"train": len(split.y_train), "test": len(split.y_test)},
        "scores": {
            name: float(value) for name, value in result.metrics.items() if np.isfinite(value)
        },
        "floor": {name: floor.expected for name, floor in result.floors.items()},
        "deciles": {  # mean ECPE within them, and the score of a perfect forecaster there
            "mean": {"ecpe": result.by_mean.mean_ecpe, "floor": result.by_mean.mean_floor},
            "spread": {"ecpe": result.by_stddev.mean_ecpe, "floor": result.by_stddev.mean_floor},
        },
        "covered": [round(float(c), 5) for c in result.test.coverage],
        "seconds": seconds,
    } | provenance(device, packages)


def _fit(estimators: Sequence[Any], splits: Sequence[Split]) -> Sequence[Any]:
    fits = [{"X": part.X_train, "y": part.y_train, **part.hold_out} for part in splits]
    if len(estimators) == 1:  # a single model need not be a network
        return [estimators[0].fit(**fits[0])]
    from calibrant.estimators import fit_batched

    fit_batched(estimators, fits)
    return estimators


def _fit_recalibrated(
    estimators: Sequence[Any], splits: Sequence[Split], kind: str
) -> Sequence[Any]:
    """Fit on four fifths of the training rows, recalibrate on the rest."""
    from calibrant.checks import take_rows

    sides = [calibration_rows(len(part.y_train), **part.hold_out) for part in splits]
    _fit(
        estimators,
        [_with_training_rows(part, rows) for part, (rows, _) in zip(splits, sides, strict=True)],
    )
    return [
        _recalibrator(kind).fit(model, take_rows(part.X_train, rows), part.y_train[rows])
        for model, part, (_, rows) in zip(estimators, splits, sides, strict=True)
    ]


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


def _with_training_rows(split: Split, rows: Any) -> Split:
    """A split with only these of its training rows."""
    from calibrant.checks import take_rows

    hold_out = dict(split.hold_out)
    if "groups" in hold_out:
        hold_out["groups"] = hold_out["groups"][rows]
    if "cv" in hold_out:  # early stopping uses the newest of the remaining rows
        cut = int(0.8 * len(rows))
        hold_out["cv"] = [(np.arange(cut), np.arange(cut, len(rows)))]
    return replace(
        split,
        X_train=take_rows(split.X_train, rows),
        y_train=split.y_train[rows],
        hold_out=hold_out,
    )


def calibration_rows(n: int, *, cv: Any = None, groups: Any = None) -> tuple[Any, Any]:
    """Positions of the training rows and of the fifth for calibration, given `Split.hold_out`."""
    from calibrant.estimators import inner_split

    return inner_split(np.ones(n), fraction=0.2, groups=groups, cv=cv, random_state=0)
