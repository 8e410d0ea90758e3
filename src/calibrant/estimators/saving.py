"""Save an estimator to a model folder, and restore it."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from calibrant.errors import CalibrantWarning, ParameterError
from calibrant.persistence import pack, restoring, unpack, write_model
from calibrant.training import resolve_device

if TYPE_CHECKING:
    from calibrant.estimators.base import NetworkRegressor

Model = TypeVar("Model", bound="NetworkRegressor")
_STATE = ("n_features_in_", "n_steps_", "target_name_", "n_held_out_", "plan_", "history_")


def save_estimator(
    model: NetworkRegressor, path: str | os.PathLike[str], *, overwrite: bool
) -> None:
    """Write a fitted estimator to a folder."""
    parameters = model.get_params(deep=False)
    if not isinstance(model.random_state, int | None):
        parameters["random_state"] = None  # a generator has moved on since the fit
    network = parameters.get("network")
    given = {"network": network} if isinstance(network, nn.Module) else {}
    arrays: dict[str, NDArray[Any]] = {}
    names = getattr(model, "feature_names_in_", None)
    manifest = {
        "class": type(model).__name__,
        "parameters": pack(parameters, arrays, "parameters", given=given),
        "predictor": pack(model.predictor_, arrays, "predictor", given=given),
        "needs": list(given),
        "state": {name: getattr(model, name) for name in _STATE},
        "input_shapes": model.input_shapes_,
        "feature_names": None if names is None else [str(name) for name in names],
        "encoder": pack(model.encoder_, arrays, "encoder"),
    }
    write_model(path, manifest, arrays, overwrite=overwrite)


def restore_estimator(
    cls: type[Model],
    path: Path,
    manifest: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    *,
    network: nn.Module | None = None,
) -> Model:
    """Rebuild the estimator of the given class from the content of its folder."""
    with restoring(path, manifest, cls):
        if manifest["needs"] and network is None:
            raise ParameterError(
                f"{path} was fitted with your own module, and classes are not stored: pass an "
                "instance of it, load(path, network=MyModule(...))."
            )
        given = {"network": network}
        model = cls(**unpack(manifest["parameters"], tensors, given=given))
        model.predictor_ = unpack(manifest["predictor"], tensors, given=given)
        model.predictor_.networks.to(_available(model.device))
        for name in _STATE:
            setattr(model, name, manifest["state"][name])
        shapes = manifest["input_shapes"]
        model.input_shapes_ = tuple((name, tuple(shape)) for name, shape in shapes)
        if manifest["feature_names"] is not None:
            model.feature_names_in_ = np.array(manifest["feature_names"], dtype=object)
        model.encoder_ = unpack(manifest["encoder"], tensors)
    return model


def _available(device: str) -> torch.device:
    """The device that the model was fitted on, or the CPU if it is not available here."""
    try:
        return resolve_device(device)
    except ParameterError:
        warnings.warn(
            f"The model was fitted on {device!r}, which is not available here: it runs on the CPU.",
            CalibrantWarning,
            stacklevel=2,
        )
        return torch.device("cpu")
