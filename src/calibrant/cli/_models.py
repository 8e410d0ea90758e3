"""A saved model and the rows of a file that it is asked about."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli._columns import select_inputs
from calibrant.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.estimators import NetworkRegressor
    from calibrant.recalibration import Recalibrator


def load_rows_model(path: Path) -> NetworkRegressor | Recalibrator:
    """Load a model that predicts rows of a table; a forecaster is not one."""
    from calibrant.forecasting import Forecaster
    from calibrant.models import load_model

    model = load_model(path)
    if isinstance(model, Forecaster):
        raise DataError(
            f"{path} holds a Forecaster, which goes on with its own series and takes no other "
            f"rows. In Python, calibrant.load_model({str(path)!r}) forecasts with it."
        )
    found: NetworkRegressor | Recalibrator = model
    return found


def innermost(model: NetworkRegressor | Recalibrator) -> NetworkRegressor:
    """The network that a model is, or that it wraps: it knows the columns."""
    inner: Any = model
    while hasattr(inner, "model_"):
        inner = inner.model_
    network: NetworkRegressor = inner
    return network


def categorical_columns(model: NetworkRegressor | Recalibrator) -> list[str]:
    """Columns that were categorical when the model was fitted."""
    model = innermost(model)
    return [] if model.encoder_ is None else list(model.encoder_.categories_)


def model_inputs(
    model: NetworkRegressor | Recalibrator,
    frame: pd.DataFrame,
    path: Path,
    *,
    without: Collection[str] = (),
) -> Any:
    """Columns that the model was fitted on; others are ignored.

    Parameters
    ----------
    without : collection of str
        Columns that are no inputs, for a model that was fitted on columns without names.
    """
    model = innermost(model)
    if hasattr(model, "feature_names_in_"):
        names = [str(name) for name in model.feature_names_in_]
        return select_inputs(frame, names, categorical_columns(model), path)
    inputs = frame.drop(columns=list(without))
    if len(inputs.columns) != model.n_features_in_:
        raise DataError(
            f"The model was fitted on {model.n_features_in_} columns without names, but {path} "
            f"has {len(inputs.columns)} columns of inputs."
        )
    return inputs.to_numpy()
