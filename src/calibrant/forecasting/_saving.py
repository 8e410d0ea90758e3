"""Saving a forecaster to a model folder, and loading it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from torch import nn

from calibrant.errors import ParameterError
from calibrant.estimators import NetworkRegressor
from calibrant.forecasting._calendar import Calendar
from calibrant.forecasting._clock import Clock
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._direct import DirectSteps
from calibrant.forecasting._direct_saving import direct_state, restore_direct
from calibrant.forecasting._report import SeriesReport
from calibrant.forecasting._separate import SeparateSteps
from calibrant.forecasting._step import StepModel
from calibrant.forecasting._windows import WindowDesign
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.persistence import load_any, restoring, write_model
from calibrant.recalibration import AdaptiveRecalibrator

if TYPE_CHECKING:
    from calibrant.forecasting.forecaster import Forecaster

Model = TypeVar("Model", bound="Forecaster")

_CUSTOM = "custom"  # stands for a recalibrator that the user has configured


def save_forecaster(model: Forecaster, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a fitted forecaster to a folder."""
    direct = isinstance(model.model_, DirectSteps)
    for step in [] if direct else model.steps_:
        if not isinstance(step.estimator, NetworkRegressor):
            raise ParameterError(
                f"A {type(step.estimator).__name__} can't be saved, only estimators of the library."
            )
    parameters = dict(model.get_params(deep=False))
    calendar, series = model.design_.calendar, model.series_
    parameters |= {"estimator": model.estimator is not None, "holidays": calendar.holidays}
    if isinstance(model.recalibrate, AdaptiveRecalibrator):
        parameters["recalibrate"] = _CUSTOM
    if not isinstance(model.random_state, int | None):
        parameters["random_state"] = None  # a generator has moved on since the fit
    manifest = {
        "class": "Forecaster",
        "parameters": parameters,
        "fh": model.fh_,
        "clock": asdict(series.clock),
        "ids": series.ids,
        "targets": list(series.targets.columns),
        "calendar": asdict(calendar),
        "covariates": asdict(model.design_.covariates),
        "report": asdict(model.report_),
    }
    tensors: dict[str, NDArray[Any]] = {
        "series.code": series.code,
        "series.tick": series.tick,
        "series.targets": series.targets.to_numpy(),
        "series.covariates": series.covariates.to_numpy(),
        "correlation": model.correlation_,
    }
    if model.series_correlation_ is not None:
        tensors["series_correlation"] = model.series_correlation_
    for step in model.steps_:
        if step.recalibrator is not None:
            for name, array in step.recalibrator.state().items():
                tensors[f"recalibrator.{step.step}.{name}"] = array
    parts = {} if direct else {f"step_{step.step}": step.estimator.save for step in model.steps_}
    if isinstance(model.model_, DirectSteps):
        manifest["direct"] = direct_state(model.model_, tensors)
    write_model(path, manifest, tensors, parts=parts, overwrite=overwrite)


def restore_forecaster(
    cls: type[Model],
    path: Path,
    manifest: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    *,
    network: nn.Module | None = None,
) -> Model:
    """Rebuild the forecaster from the content of its folder."""
    with restoring(path, manifest, cls):
        return _restored(cls, manifest, tensors, path, network)


def _restored(
    cls: type[Model],
    manifest: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    path: Path,
    network: nn.Module | None,
) -> Model:
    parameters = manifest["parameters"]
    model = cls(**parameters)
    covariates = Covariates(**manifest["covariates"])
    cycles, holidays = manifest["calendar"]["cycles"], manifest["calendar"]["holidays"]
    calendar = Calendar(tuple(cycles), None if holidays is None else tuple(holidays))
    model.design_ = WindowDesign(model.window, covariates, calendar)
    model.report_ = SeriesReport(**manifest["report"])
    model.series_ = SeriesFrame(
        Clock(**manifest["clock"]),
        tuple(manifest["ids"]),
        tensors["series.code"].astype(np.intp),
        tensors["series.tick"],
        pd.DataFrame(tensors["series.targets"], columns=manifest["targets"]),
        pd.DataFrame(tensors["series.covariates"], columns=covariates.columns(covariates.names)),
    )
    model.correlation_, model.fh_ = tensors["correlation"], list(manifest["fh"])
    model.series_correlation_ = tensors.get("series_correlation")
    recalibrators = [_recalibrator(tensors, step) for step in range(1, model.horizon + 1)]
    first = recalibrators[0]
    if "direct" in manifest:
        model.model_ = restore_direct(
            manifest["direct"], tensors, model.design_, model.horizon, recalibrators
        )
        made = clone(model.model_.ensemble.settings)
        copies = model.model_.n_trained
    else:
        loaded = [
            load_any(path / f"step_{step}", network=network) for step in range(1, model.horizon + 1)
        ]
        model.model_ = SeparateSteps(
            [
                StepModel(step, model.design_, estimator, recalibrator)
                for step, (estimator, recalibrator) in enumerate(
                    zip(loaded, recalibrators, strict=True), start=1
                )
            ]
        )
        # All steps are clones of one estimator, except for their seeds.
        made, copies = clone(loaded[0]), 1
    model.estimator = made if parameters["estimator"] else None
    if model.recalibrate == _CUSTOM and first is not None:
        model.recalibrate = AdaptiveRecalibrator(
            [rows / copies for rows in first.memory],
            symmetric=first.symmetric,
            overlap=first.overlap,
        )
    return model


def _recalibrator(tensors: dict[str, NDArray[Any]], step: int) -> AdaptiveRecalibrator | None:
    prefix = f"recalibrator.{step}."
    state = {
        name.removeprefix(prefix): array
        for name, array in tensors.items()
        if name.startswith(prefix)
    }
    return AdaptiveRecalibrator.from_state(state) if state else None
