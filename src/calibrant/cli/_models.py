"""A saved model and the rows of a file that it predicts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from calibrant.cli._data import check_columns, group_labels, select_inputs
from calibrant.errors import DataError, ParameterError
from calibrant.estimators import NetworkRegressor
from calibrant.forecasting import Forecaster
from calibrant.models import load_model
from calibrant.recalibration import Recalibrator


def load_table_model(path: Path) -> NetworkRegressor | Recalibrator:
    """Load a model that predicts rows of a table; a forecaster is not one."""
    model: NetworkRegressor | Recalibrator | Forecaster = load_model(path)
    if isinstance(model, Forecaster):
        raise DataError(
            f"{path} holds a Forecaster, which goes on with its own series and takes no other "
            f"rows. In Python, calibrant.load_model({str(path)!r}) forecasts with it."
        )
    return model


def innermost(model: NetworkRegressor | Recalibrator) -> NetworkRegressor:
    """Return the network that a model is or wraps: it knows the columns."""
    inner: Any = model
    while hasattr(inner, "model_"):
        inner = inner.model_
    network: NetworkRegressor = inner
    return network


def categorical_columns(model: NetworkRegressor | Recalibrator) -> list[str]:
    """Columns that were categorical when the model was fitted."""
    encoder = innermost(model).encoder_
    return [] if encoder is None else list(encoder.categories_)


def target_name(model: NetworkRegressor | Recalibrator, path: Path) -> str:
    """Name of the target that a model was fitted to."""
    column = innermost(model).target_name_
    if column is None:
        raise ParameterError(f"{path} was fitted to a target without a name: pass --target.")
    return column


def _group_columns(model: NetworkRegressor | Recalibrator) -> list[str]:
    """Columns that a model, or one inside it, was recalibrated by."""
    inner: Any = model
    names: list[str] = []
    while hasattr(inner, "model_"):
        names += getattr(inner, "group_columns_", [])
        inner = inner.model_
    return names


def model_inputs(
    model: NetworkRegressor | Recalibrator,
    frame: pd.DataFrame,
    path: Path,
    *,
    without: Collection[str] = (),
    also: Collection[str] = (),
) -> Any:
    """Select the columns that the model was fitted on.

    Parameters
    ----------
    model : fitted model
    frame : DataFrame of n rows
    path : Path
        File that errors name.
    without : collection of str
        Columns that are not inputs, for a model that was fitted on columns without names.
    also : collection of str
        Columns to group by, besides those that the model was recalibrated by.
    """
    network = innermost(model)
    if hasattr(network, "feature_names_in_"):
        names = [str(name) for name in network.feature_names_in_]
        inputs = select_inputs(frame, names, categorical_columns(model), path)
        labels = [name for name in [*_group_columns(model), *also] if name not in names]
        check_columns(frame, labels, path)
        return inputs.assign(**{name: group_labels(frame, name) for name in labels})
    inputs = frame.drop(columns=list(without))
    if len(inputs.columns) != network.n_features_in_:
        raise DataError(
            f"The model was fitted on {network.n_features_in_} columns without names, but {path} "
            f"has {len(inputs.columns)} columns of inputs."
        )
    return inputs.to_numpy()
