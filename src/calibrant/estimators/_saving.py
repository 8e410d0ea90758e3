"""What of an estimator goes into a model folder, and back."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from calibrant.distributions import MonotoneMap
from calibrant.errors import CalibrantWarning, ModelFileError, ParameterError
from calibrant.estimators._neighbours import Neighbours
from calibrant.estimators._scaling import Scaler
from calibrant.persistence import check_class, write_model
from calibrant.tables import TableEncoder
from calibrant.training import resolve_device

if TYPE_CHECKING:
    from calibrant.estimators._base import NetworkRegressor

Model = TypeVar("Model", bound="NetworkRegressor")
_OWN_MODULE = "custom"  # stands for a module of the user's own, whose class is not stored


def save_estimator(
    model: NetworkRegressor, path: str | os.PathLike[str], *, overwrite: bool
) -> None:
    """Write a fitted estimator to a folder."""
    # As they were resolved: what a default stands for may change with the library.
    parameters = {name: model._setting(name) for name in model.get_params(deep=False)}
    if "cross_fit" in parameters:  # which depends on the number of rows as well
        parameters["cross_fit"] = model.get_params(deep=False)["cross_fit"]
    if isinstance(model.network, nn.Module):
        parameters["network"] = _OWN_MODULE
    if not isinstance(model.random_state, int | None):
        parameters["random_state"] = None  # a generator has moved on since the fit
    manifest = {
        "class": type(model).__name__,
        "parameters": parameters,
        "n_features": model.n_features_in_,
        "n_steps": model.n_steps_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "target_name": model.target_name_,
        "n_held_out": model.n_held_out_,
        "encoder": None if model.encoder_ is None else model.encoder_.to_manifest(),
        "history": model.history_,
    }
    tensors: dict[str, NDArray[Any]] = {
        f"network.{name}": value.cpu().numpy() for name, value in model.module_.by_name().items()
    }
    for name, scaler in (("input", model.input_scaler_), ("target", model.target_scaler_)):
        tensors[f"{name}.loc"] = np.asarray(scaler.loc)
        tensors[f"{name}.scale"] = np.asarray(scaler.scale)
    for name in model._numbers:
        tensors[name] = np.asarray(getattr(model, name), dtype=np.float64)
    if model.neighbours_ is not None:
        known = model.neighbours_.arrays()
        tensors |= {f"neighbours.{name}": value for name, value in known.items()}
    if model.monotone_ is not None:
        tensors["monotone.x"] = model.monotone_.x[1:-1]
        tensors["monotone.y"] = model.monotone_.y[1:-1]
    write_model(path, manifest, tensors, overwrite=overwrite)


def restore_estimator(
    cls: type[Model],
    path: Path,
    manifest: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    *,
    network: nn.Module | None,
) -> Model:
    """Rebuild the estimator of the given class from the content of its folder."""
    check_class(path, manifest, cls)
    _complete(manifest, tensors)
    parameters = manifest["parameters"]
    if parameters.get("network") == _OWN_MODULE:
        if network is None:
            raise ParameterError(
                f"{path} was fitted with a module of your own, and classes are not stored: pass an "
                "instance of it, load(path, network=MyModule(...))."
            )
        parameters["network"] = network
    try:
        model = cls(**{name: _from_json(value) for name, value in parameters.items()})
        _restore(model, manifest, tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} does not describe a whole {cls.__name__}: {error}") from error
    return model


def _complete(manifest: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Add what the first models did not know of: they were one network that saw plain numbers."""
    parameters = manifest["parameters"]
    if manifest["class"] == "MMDRegressor" and "quality" not in parameters:
        parameters |= {"periodic": 0.0, "members": 1, "cross_fit": 0, "average": 0.0}
        parameters["head"] = parameters.get("head") or "gaussian"
        tensors |= {"shares_": np.ones(1), "folds_": np.zeros(())}
    if manifest["class"] == "MMDRegressor" and "atoms" not in parameters:
        parameters["atoms"] = False
        tensors |= {name: np.empty((0, 3)) for name in ("atoms_", "spikes_")}
        tensors["maps_"] = np.empty((0, 1))


def _restore(
    model: NetworkRegressor, manifest: dict[str, Any], tensors: dict[str, NDArray[Any]]
) -> None:
    model.n_features_in_ = int(manifest["n_features"])
    steps = manifest.get("n_steps")  # unknown to the first version
    model.n_steps_ = None if steps is None else int(steps)
    if manifest["feature_names"] is not None:
        model.feature_names_in_ = np.array(manifest["feature_names"], dtype=object)
    model.target_name_ = manifest["target_name"]
    model.n_held_out_ = int(manifest["n_held_out"])
    encoder = manifest["encoder"]
    model.encoder_ = None if encoder is None else TableEncoder.from_manifest(encoder)
    model.history_ = manifest["history"]
    model.input_scaler_ = Scaler(tensors["input.loc"], tensors["input.scale"])
    model.target_scaler_ = Scaler(tensors["target.loc"], tensors["target.scale"])
    for name in model._numbers:
        setattr(model, name, tensors[name].item() if tensors[name].ndim == 0 else tensors[name])
    model.monotone_ = None
    if "monotone.x" in tensors:
        model.monotone_ = MonotoneMap(tensors["monotone.x"], tensors["monotone.y"])
    model.neighbours_ = None
    if "neighbours.x" in tensors:
        x, y, near, loc, scale, count = (
            tensors[f"neighbours.{name}"] for name in ("x", "y", "near", "loc", "scale", "count")
        )
        model.neighbours_ = Neighbours(x, y, float(near), loc, scale, int(count))
    with torch.random.fork_rng(devices=[]):  # the first weights are random, and replaced
        network = model._as_one(model._build(range(model._n_members())))
    network.load_by_name(
        {
            name.removeprefix("network."): torch.as_tensor(value)
            for name, value in tensors.items()
            if name.startswith("network.")
        }
    )
    model.module_ = network.to(_available(model.device)).eval()


def _available(device: str) -> torch.device:
    """Use the device that the model was fitted on, or the CPU where there is none like it."""
    try:
        return resolve_device(device)
    except ParameterError:
        warnings.warn(
            f"The model was fitted on {device!r}, which is not available here: it runs on the CPU.",
            CalibrantWarning,
            stacklevel=2,
        )
        return torch.device("cpu")


def _from_json(value: Any) -> Any:
    return tuple(_from_json(item) for item in value) if isinstance(value, list) else value
