"""A saved model and the rows of a file that it predicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from calibrant.calibration import CalibratedModel
from calibrant.cli._data import check_columns, group_labels, rows_with_targets, select_inputs
from calibrant.cli._output import Messages
from calibrant.errors import DataError, ParameterError
from calibrant.estimators import MultiOutput, NetworkRegressor
from calibrant.forecasting import Forecaster
from calibrant.models import load_model
from calibrant.recalibration import Recalibrator
from calibrant.tables import read_table

TableModel = NetworkRegressor | Recalibrator | CalibratedModel | MultiOutput
OneOutput = NetworkRegressor | Recalibrator | CalibratedModel


def load_table_model(path: Path) -> TableModel:
    """Load a model that predicts rows of a table; a forecaster is not one."""
    model: TableModel | Forecaster = load_model(path)
    if isinstance(model, Forecaster):
        raise DataError(
            f"{path} holds a Forecaster, which goes on with its own series and takes no other "
            f"rows. In Python, calibrant.load_model({str(path)!r}) forecasts with it."
        )
    if not isinstance(innermost(model), NetworkRegressor):
        raise DataError(
            f"{path} corrects predictions that are made elsewhere, and predicts no rows itself. In "
            f"Python: calibrant.load_model({str(path)!r}).recalibrate(predictions, X)."
        )
    return model


def load_one_output(path: Path) -> OneOutput:
    """Load a model of one target."""
    model = load_table_model(path)
    if isinstance(model, MultiOutput):
        raise DataError(
            f"{path} predicts several outputs. Recalibrate them one by one: calibrant fit with one "
            "--target each."
        )
    return model


def innermost(model: TableModel) -> NetworkRegressor:
    """Return the network that a model is or wraps, or that of its first output.

    It knows the columns.
    """
    *_, network = _layers(model)
    found: NetworkRegressor = network
    return found


def _layers(model: TableModel) -> Iterator[Any]:
    """The model and those inside it, outermost first."""
    inner: Any = model
    while inner is not None:
        yield inner
        if isinstance(inner, CalibratedModel):
            inner = getattr(inner.source, "model", None)
        elif isinstance(inner, MultiOutput):
            inner = next(iter(inner.models_.values()))
        else:
            inner = getattr(inner, "model_", None)


def categorical_columns(model: TableModel) -> list[str]:
    """Columns that were categorical when the model was fitted."""
    encoder = innermost(model).encoder_
    return [] if encoder is None else list(encoder.categories_)


def fitted_target(model: OneOutput, path: Path) -> str:
    """Return the name of the target that a model was fitted to."""
    names = (getattr(layer, "target_name_", None) for layer in _layers(model))
    name: str | None = next(filter(None, names), None)
    if name is None:
        raise ParameterError(f"{path} was fitted to a target without a name: pass --target.")
    return name


def read_observed(
    models: Iterable[TableModel],
    path: Path,
    targets: list[str],
    others: list[str],
    messages: Messages,
) -> pd.DataFrame:
    """Read the rows whose targets are known, for these models.

    Parameters
    ----------
    models : iterable of fitted models
    path : Path
    targets : list of str
    others : list of str
        Columns that must be there as well.
    messages : Messages
    """
    text = {name for model in models for name in categorical_columns(model)}
    with messages.warnings_as_notes():
        frame = read_table(path, text=text)
    check_columns(frame, [*targets, *others], path)
    return rows_with_targets(frame, targets, path, messages)


def _group_columns(model: TableModel) -> list[str]:
    """Columns that a model, or one inside it, was recalibrated by."""
    return [name for layer in _layers(model) for name in getattr(layer, "group_columns_", [])]


def model_inputs(
    model: TableModel,
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
        assert network.encoder_ is not None  # of a table with names
        inputs = select_inputs(frame, network.encoder_, path)
        labels = [name for name in [*_group_columns(model), *also] if name not in inputs]
        check_columns(frame, labels, path)
        return inputs.assign(**{name: group_labels(frame, name) for name in labels})
    inputs = frame.drop(columns=list(without))
    if len(inputs.columns) != network.n_features_in_:
        raise DataError(
            f"The model was fitted on {network.n_features_in_} columns without names, but {path} "
            f"has {len(inputs.columns)} columns of inputs."
        )
    return inputs.to_numpy()
