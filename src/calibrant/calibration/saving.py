"""Save a calibrated model to a folder, and restore it."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from calibrant.calibration.corrections import ConditionalShape
from calibrant.calibration.inputs import table_or_none
from calibrant.calibration.networks import NetworkSource
from calibrant.calibration.quantile_models import how_to_ask
from calibrant.calibration.regressors import ModelSource
from calibrant.errors import ModelFileError, ParameterError
from calibrant.persistence import is_savable, load_any, pack, restoring, unpack, write_model
from calibrant.recalibration.residual_scale import ResidualScale

if TYPE_CHECKING:
    from calibrant.calibration.calibrated_model import CalibratedModel

Model = TypeVar("Model", bound="CalibratedModel")
_MODEL, _SHAPE = "model", "shape"  # folders of the models inside
_REFINED = "refined."  # before the names of the weights that were trained further


def save_calibrated(
    model: CalibratedModel, path: str | os.PathLike[str], *, overwrite: bool
) -> None:
    """Write a calibrated model, and the models of calibrant inside it."""
    source, correction = model.source, model.correction
    parts: dict[str, Any] = {}
    needs = []
    if isinstance(source, NetworkSource | ModelSource):
        if isinstance(source, ModelSource) and is_savable(source.model):
            parts[_MODEL] = source.model.save
        else:
            needs.append("model")
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(source, NetworkSource):
        if source.collate is not None:
            needs.append("collate")
        arrays |= {f"{_REFINED}{name}": value for name, value in source.refined_weights().items()}
    if model.features is not table_or_none:
        needs.append("features")
    learned: Any = correction
    if isinstance(correction, ConditionalShape):
        if not is_savable(correction.network):
            raise ParameterError(
                f"Only models of calibrant can be saved, and the learner is a "
                f"{type(correction.network).__name__}. Leave learner out, or use an estimator of "
                "calibrant."
            )
        parts[_SHAPE] = correction.network.save
        learned = correction.finish
    scale = model.residual_scale
    manifest = {
        "class": type(model).__name__,
        "source": type(source).__name__,
        "needs": needs,
        "settings": pack(model.settings, arrays, "settings"),
        "residual_scale": None if scale is None else list(scale),
        "correction": model.chosen,
        "learned": pack(learned, arrays, "map"),
        "atoms": pack(model.atoms, arrays, "atoms"),
        "bounds": None if model.bounds is None else pack(model.bounds, arrays, "bounds"),
        "scores": list(model.scores.items()),  # JSON would sort a dict
        "n_calibration": model.n_calibration,
        "target_name": model.target_name_,
    }
    write_model(path, manifest, arrays, parts=parts, overwrite=overwrite)


def restore_calibrated(
    cls: type[Model],
    path: Path,
    manifest: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    *,
    model: Any = None,
    network: Any = None,
    collate: Any = None,
    features: Any = None,
) -> Model:
    """Rebuild a calibrated model; `network` is another word for `model`."""
    own = network if model is None else model
    with restoring(path, manifest, cls):
        given = {"model": own, "collate": collate, "features": features}
        missing = [name for name in manifest.get("needs", []) if given.get(name) is None]
        if missing:
            raise ParameterError(
                f"{path} was calibrated around objects of yours, which are not stored. Give them "
                f"again: load_model(path, {', '.join(f'{name}=...' for name in missing)})."
            )
        settings = unpack(manifest["settings"], tensors)
        saved = manifest["residual_scale"]
        bounds = manifest["bounds"]
        return cls(
            source=_source(path, manifest["source"], settings, own, collate, tensors),
            residual_scale=None if saved is None else ResidualScale(*saved),
            correction=_correction(path, manifest, tensors),
            atoms=unpack(manifest["atoms"], tensors),
            bounds=None if bounds is None else unpack(bounds, tensors),
            features=table_or_none if features is None else features,
            scores=dict(manifest["scores"]),
            n_calibration=int(manifest["n_calibration"]),
            settings=settings,
            target_name_=manifest["target_name"],
        )


def _source(
    path: Path,
    kind: str,
    settings: dict[str, Any],
    model: Any,
    collate: Any,
    tensors: dict[str, NDArray[Any]],
) -> Any:
    from calibrant.calibration.calibrated_model import GivenPredictions

    if kind == NetworkSource.__name__:
        source = NetworkSource(
            copy.deepcopy(model).eval(), settings["output"], settings["levels"], collate
        )
        weights = {
            name.removeprefix(_REFINED): value
            for name, value in tensors.items()
            if name.startswith(_REFINED)
        }
        return source.with_refined(weights) if weights else source
    if kind == ModelSource.__name__:
        inside = load_any(path / _MODEL, network=None) if model is None else model
        return ModelSource(inside, how_to_ask(inside, settings["levels"]))
    if kind == GivenPredictions.__name__:
        return GivenPredictions()
    raise ModelFileError(f"{path} holds predictions of a {kind!r}, which is not known.")


def _correction(path: Path, manifest: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Any:
    learned = unpack(manifest["learned"], tensors)
    if manifest["correction"] != ConditionalShape.name:
        return learned
    points = manifest["residual_scale"] is not None
    return ConditionalShape(load_any(path / _SHAPE, network=None), points, learned)
