"""Saving a forecaster to a model folder, and loading it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray
from sklearn.base import clone
from torch import nn

from calibrant.errors import ParameterError
from calibrant.estimators import NetworkRegressor
from calibrant.forecasting._direct import DirectSteps
from calibrant.forecasting._direct_saving import direct_state, restore_direct
from calibrant.forecasting._separate import SeparateSteps
from calibrant.forecasting._step import StepModel
from calibrant.persistence import load_any, pack, restoring, unpack, write_model
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
    parameters |= {
        "estimator": model.estimator is not None,
        "holidays": model.design_.calendar.holidays,
    }
    if isinstance(model.recalibrate, AdaptiveRecalibrator):
        parameters["recalibrate"] = _CUSTOM
    if not isinstance(model.random_state, int | None):
        parameters["random_state"] = None  # a generator has moved on since the fit
    recalibrators = [step.recalibrator for step in model.steps_]
    state = {
        "design": model.design_,
        "series": model.series_,
        "report": model.report_,
        "correlation": model.correlation_,
        "series_correlation": model.series_correlation_,
        "recalibrators": [None if each is None else each.state() for each in recalibrators],
    }
    tensors: dict[str, NDArray[Any]] = {}
    manifest = {
        "class": "Forecaster",
        "parameters": parameters,
        "fh": model.fh_,
        "state": pack(state, tensors, "state"),
    }
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
    state = unpack(manifest["state"], tensors)
    model.design_, model.series_, model.report_ = state["design"], state["series"], state["report"]
    model.correlation_, model.fh_ = state["correlation"], list(manifest["fh"])
    model.series_correlation_ = state["series_correlation"]
    recalibrators = [
        None if each is None else AdaptiveRecalibrator.from_state(each)
        for each in state["recalibrators"]
    ]
    first = recalibrators[0]
    if "direct" in manifest:
        model.model_ = restore_direct(
            manifest["direct"], tensors, model.design_, model.horizon, recalibrators
        )
        made = clone(model.model_.ensemble.settings)
        copies = model.model_.n_trained
    else:
        steps = [
            StepModel(step, model.design_, load_any(path / f"step_{step}", network=network), each)
            for step, each in enumerate(recalibrators, start=1)
        ]
        model.model_ = SeparateSteps(steps)
        # All steps are clones of one estimator, except for their seeds.
        made, copies = clone(steps[0].estimator), 1
    model.estimator = made if parameters["estimator"] else None
    if model.recalibrate == _CUSTOM and first is not None:
        model.recalibrate = AdaptiveRecalibrator(
            [rows / copies for rows in first.memory],
            symmetric=first.symmetric,
            overlap=first.overlap,
        )
    return model
