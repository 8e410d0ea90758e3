"""Predictions of rows that a model was not fitted on, for every kind of model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from torch import Tensor, nn

from calibrant.calibration.answers import as_distribution
from calibrant.calibration.calibrated_model import GivenPredictions, Source
from calibrant.calibration.networks import NetworkSource
from calibrant.calibration.quantile_models import how_to_ask
from calibrant.calibration.refine import refine_network
from calibrant.calibration.regressors import ModelSource, is_fitted
from calibrant.checks import Array, Index, finite_numbers, take_rows
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError
from calibrant.recalibration.models import Prediction, as_rows, check_model, out_of_fold

_REFINED = 0.6  # share of the rows that refine a network


@dataclass(frozen=True)
class HowToRead:
    """How to get predictions from a model: the arguments of `calibrate` that say so."""

    output: str | None = None
    levels: ArrayLike | None = None
    collate: Callable[[Any], Any] | None = None
    refine: Literal["head", "all"] | None = None
    cv: Any = 10
    random_state: int = 0


class Predicted(NamedTuple):
    """Predictions of some rows.

    Parameters
    ----------
    source : Source
        What predicts new rows.
    prediction : Distribution or array of m rows
        From models that were not fitted on these rows.
    rows : array of shape (m,)
        Their positions in X.
    """

    source: Source
    prediction: Prediction
    rows: Index


def is_given(model: Any) -> bool:
    """Whether predictions were passed in place of a model."""
    return isinstance(
        model, Distribution | np.ndarray | pd.DataFrame | Tensor | Mapping | list | tuple
    )


def predict_held_out(
    model: Any, X: Any, y: Array, rows: Index, groups: NDArray[Any] | None, how: HowToRead
) -> Predicted:
    """Predict rows, (k,) positions in X, with models that were not fitted on them."""
    if how.refine is not None and not isinstance(model, nn.Module):
        raise ParameterError(f"refine trains networks (nn.Module), got {type(model).__name__}.")
    if isinstance(model, nn.Module):
        return _of_network(model, X, y, rows, how)
    if is_given(model):
        prediction = given_predictions(model, how.levels)
        if len(prediction) != len(y):
            raise DataError(f"Expected predictions of {len(y)} rows, got {len(prediction)}.")
        return Predicted(GivenPredictions(), prediction[rows], rows)
    if isinstance(model, type) or not (
        callable(model) or hasattr(model, "predict") or hasattr(model, "predict_dist")
    ):
        shown = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ParameterError(
            "Expected a network, a model with predict or predict_dist, a function of X, or "
            f"predictions as the first argument, got {shown}."
        )
    if getattr(model, "_estimator_type", None) == "classifier" or isinstance(
        model, ClassifierMixin
    ):
        raise ParameterError(
            f"{type(model).__name__} is a classifier: it predicts labels, which have no intervals. "
            "Pass a regressor."
        )
    ask = how_to_ask(model, how.levels)
    own = X if len(rows) == len(y) else take_rows(X, rows)
    if is_fitted(model):
        source = ModelSource(model, ask)
        prediction = source.predict(own)
        return Predicted(source.with_probe(own, prediction), prediction, rows)
    check_model(model, fitted=False)
    table = as_rows(own)
    labels = None if groups is None else groups[rows]
    prediction, held_out, whole = out_of_fold(
        model, table, y[rows], None, cv=how.cv, groups=labels, predict=ask
    )
    source = ModelSource(whole, ask)
    first = take_rows(table, np.arange(1))
    return Predicted(source.with_probe(first, source.predict(first)), prediction, rows[held_out])


def given_predictions(predictions: Any, levels: ArrayLike | None) -> Prediction:
    """Return points, (n,), as they are, and everything else as distributions."""
    if getattr(predictions, "ndim", None) == 1:
        return finite_numbers(predictions, "predictions")
    return as_distribution(predictions, levels)


def _of_network(module: nn.Module, X: Any, y: Array, rows: Index, how: HowToRead) -> Predicted:
    source = NetworkSource.of(
        module,
        take_rows(X, rows),
        y[rows],
        output=how.output,
        levels=how.levels,
        collate=how.collate,
    )
    if how.refine is not None:
        order = np.random.default_rng(how.random_state).permutation(rows)
        used, rows = np.split(order, [round(_REFINED * len(order))])
        source = refine_network(source, X, y, used, how.refine, how.random_state)
    return Predicted(source, source.predict(take_rows(X, rows)), rows)
