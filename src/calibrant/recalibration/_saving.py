"""Saving recalibrators to model folders and loading them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from calibrant.errors import ParameterError
from calibrant.persistence import is_savable, load_any, pack, restoring, unpack, write_model

if TYPE_CHECKING:
    from calibrant.recalibration._recalibrator import Recalibrator

Model = TypeVar("Model", bound="Recalibrator")

_WRAPPED = "model"  # the folder of the model inside


def save_recalibrator(
    model: Recalibrator, path: str | os.PathLike[str], *, overwrite: bool
) -> None:
    """Write a fitted recalibrator to a folder, with the folder of its model inside."""
    wrapped = model.model_
    if not is_savable(wrapped):
        raise ParameterError(
            f"Only models of calibrant can be saved, and this one wraps a "
            f"{type(wrapped).__name__}: a model folder holds numbers and JSON, and to store any "
            "other model would take pickle, which runs code from the file when it is read."
        )
    tensors = model._to_tensors()
    manifest = {
        "class": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_calibration": model.n_calibration_,
        "fitted": pack(model._to_parts(), tensors, "fitted"),
    }
    parts = {_WRAPPED: wrapped.save}
    write_model(path, manifest, tensors, parts=parts, overwrite=overwrite)


def restore_recalibrator(
    cls: type[Model],
    path: Path,
    manifest: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    **options: Any,
) -> Model:
    """Rebuild a recalibrator from the content of its folder; options are its model's."""
    with restoring(path, manifest, cls):
        model = cls(**manifest["parameters"])
        model.n_calibration_ = int(manifest["n_calibration"])
        model._from_tensors(tensors)
        model._from_parts(unpack(manifest["fitted"], tensors))
    model.model_ = load_any(path / _WRAPPED, **options)
    return model
