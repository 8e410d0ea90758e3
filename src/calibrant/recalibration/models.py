"""Models to recalibrate and their calibration rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import f_oneway
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import has_fit_parameter

from calibrant import errors
from calibrant.checks import Array, Index, count_rows, finite_numbers, take_rows
from calibrant.checks.folds import make_folds
from calibrant.distributions import Distribution, concatenate
from calibrant.errors import DataError, ParameterError

_CHANCE = 1e-4  # that folds of a calibrated model differ as much
Prediction = Distribution | Array  # distributions where the model has them, else points (n,)


def check_model(model: Any, *, fitted: bool) -> None:
    """Check that a model has the methods that recalibration calls."""
    predicts = hasattr(model, "predict_dist") or hasattr(model, "predict")
    if isinstance(model, type) or not predicts:
        shown = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ParameterError(
            f"Expected a model with predict_dist or predict as the first argument, got {shown}."
        )
    if not fitted and not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise ParameterError(
            f"cross_fit clones and fits its model, but {type(model).__name__} has no fit or no "
            "get_params. Fit it yourself and use fit(model, X_cal, y_cal) with other rows."
        )


def check_rows(X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Any, Array, Array]:
    """Return inputs that rows can be taken from, targets (n,) and weights (n,)."""
    table = as_rows(X)
    target = finite_numbers(y, "y")
    if (n_rows := count_rows(table)) != len(target):
        raise DataError(
            f"X and y must have as many rows, got {n_rows} rows of X and {len(target)} of y."
        )
    if sample_weight is None:
        return table, target, np.ones(len(target))
    weight = finite_numbers(sample_weight, "sample_weight")
    if len(weight) != len(target):
        raise DataError(f"Expected {len(target)} sample weights, got {len(weight)}.")
    if np.any(weight < 0):
        raise DataError(f"sample_weight must not be negative, got {weight.min():g}.")
    return table, target, weight


def as_rows(X: Any) -> Any:
    """Return inputs as they are if rows can be taken from them, otherwise as an array."""
    return X if hasattr(X, "shape") or isinstance(X, Mapping) else np.asarray(X)


def predicted(model: Any, X: Any) -> Prediction:
    """Return what a fitted model predicts for every row of X, checked."""
    try:
        made = model.predict_dist(X) if hasattr(model, "predict_dist") else model.predict(X)
    except SklearnNotFittedError as cause:
        raise errors.NotFittedError(
            f"The {type(model).__name__} is not fitted. Fit it first, on other rows than the "
            "calibration rows, or hand it to cross_fit."
        ) from cause
    if hasattr(model, "predict_dist") and not isinstance(made, Distribution):
        raise ParameterError(
            f"predict_dist of {type(model).__name__} must return a distribution of "
            f"calibrant.distributions, such as Normal(mean, stddev), got {type(made).__name__}."
        )
    prediction: Prediction = (
        made if isinstance(made, Distribution) else finite_numbers(made, "The model's predictions")
    )
    return check_length(prediction, X)


def check_length(prediction: Prediction, X: Any) -> Prediction:
    """Return predictions if there is one for every row of X."""
    if len(prediction) != (n_rows := count_rows(X)):
        raise DataError(
            f"The model predicts {len(prediction)} values for {n_rows} rows. It must return one "
            "prediction per row of X."
        )
    return prediction


def out_of_fold(
    model: Any,
    X: Any,
    y: Array,
    weight: Array | None,
    *,
    cv: Any,
    groups: ArrayLike | None,
    predict: Callable[[Any, Any], Prediction] = predicted,
) -> tuple[Prediction, Index, Any]:
    """Predict every fold with a clone fitted on the others, then fit one clone on all rows.

    `predict` says what a fitted clone predicts for inputs.

    Returns
    -------
    prediction : Distribution or array of m rows
    rows : array of shape (m,)
        Position in X of every predicted row.
    fitted : the model fitted on all rows
    """
    labels = None if groups is None else np.asarray(groups)
    if labels is not None and labels.shape != y.shape:
        raise DataError(f"groups must have one label per row, {y.shape}, got {labels.shape}.")
    parts: list[Prediction] = []
    held_out: list[Index] = []
    for train, test in make_folds(cv, X, y, labels):
        fitted = _fit_clone(model, X, y, weight, labels, train)
        parts.append(predict(fitted, take_rows(X, test)))
        held_out.append(test)
    _warn_if_folds_differ(type(model).__name__, parts, [y[test] for test in held_out])
    whole = _fit_clone(model, X, y, weight, labels, np.arange(len(y)))
    return _joined(parts), np.concatenate(held_out), whole


def _fit_clone(
    model: Any,
    X: Any,
    y: Array,
    weight: Array | None,
    groups: NDArray[Any] | None,
    rows: Index,
) -> Any:
    options = {}
    if weight is not None:
        if not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(f"fit of {type(model).__name__} takes no sample_weight.")
        options["sample_weight"] = weight[rows]
    # A model that holds out rows of its own must not split a group either.
    if groups is not None and has_fit_parameter(model, "groups"):
        options["groups"] = groups[rows]
    return clone(model).fit(take_rows(X, rows), y[rows], **options)


def _warn_if_folds_differ(name: str, parts: Sequence[Prediction], targets: Sequence[Array]) -> None:
    """Warn if clones differ in how wide they predict: then so may the one fitted on all rows.

    ``|F(y) - 1/2|`` of held-out rows is compared between folds by an analysis of variance.
    """
    away = [
        np.abs(dist.cdf(y) - 0.5)
        for dist, y in zip(parts, targets, strict=True)
        if isinstance(dist, Distribution) and len(y) >= 2
    ]
    if len(away) < 2 or np.ptp(np.concatenate(away)) == 0:
        return
    chance = f_oneway(*away).pvalue
    if chance < _CHANCE:
        covered = [float(np.mean(own < 0.25)) for own in away]
        warnings.warn(
            f"The calibration of {name} differs from fit to fit: 50% intervals cover "
            f"{min(covered):.0%} to {max(covered):.0%} of the rows of a fold. What all folds show "
            "may not hold for the model fitted on all rows. Fit it once, or average several fits, "
            "and calibrate that on other rows.",
            errors.CalibrantWarning,
            stacklevel=5,
        )


def _joined(parts: list[Prediction]) -> Prediction:
    distributions = [part for part in parts if isinstance(part, Distribution)]
    return concatenate(distributions) if distributions else np.concatenate(cast(list[Array], parts))
