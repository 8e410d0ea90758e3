"""An MLflow flavour (extra `mlflow`): model folders, loaded as pyfunc models.

Nothing is pickled: MLflow stores the folder that ``model.save`` writes, and loads it by this
module.

With a fitted `model` and a `frame` of new rows::

    from calibrant.adapters.mlflow import log_model

    info = log_model(model, name="model")
    served = mlflow.pyfunc.load_model(info.model_uri)
    served.predict(frame, params={"coverage": [0.5, 0.9], "alpha": [0.05]})
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from calibrant.errors import MissingDependencyError, ParameterError
from calibrant.models import load_model as load_folder

try:
    from mlflow import pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import DataType, ParamSchema, ParamSpec
except ImportError as cause:
    raise MissingDependencyError(
        "calibrant.adapters.mlflow needs MLflow: pip install 'calibrant[mlflow]'."
    ) from cause

__all__ = ["load_model", "log_model", "save_model"]

_COVERAGE = [0.9]
_SIGNATURE = ModelSignature(
    params=ParamSchema(
        [
            ParamSpec("coverage", DataType.double, _COVERAGE, shape=(-1,)),
            ParamSpec("alpha", DataType.double, [], shape=(-1,)),
        ]
    )
)


class TablePredictor:
    """What MLflow calls: a fitted model that answers with a table.

    Parameters
    ----------
    model : fitted model with ``predict_table``
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Table of pandas with mean, stddev, intervals and quantiles.

        Parameters
        ----------
        model_input : frame or array of n rows
        params : mapping, optional
            ``coverage`` and ``alpha``, lists of levels, as of ``model.predict_table``.
        """
        given = dict(params or {})
        coverage, alpha = given.pop("coverage", _COVERAGE), given.pop("alpha", ())
        if given:
            raise ParameterError(f"params may have coverage and alpha, got {sorted(given)}.")
        return self.model.predict_table(model_input, coverage, alpha, container="pandas")

    def get_raw_model(self) -> Any:
        """Return the fitted model, as MLflow asks for it."""
        return self.model


def save_model(model: Any, path: str | os.PathLike[str], **options: Any) -> None:
    """Save a fitted model in the format of MLflow.

    Parameters
    ----------
    model : fitted estimator, recalibrator or calibrated model
    path : path
        Folder to create.
    **options
        Of ``mlflow.pyfunc.save_model``, such as ``pip_requirements`` and ``input_example``.
    """
    with _folder_of(model) as folder:
        pyfunc.save_model(path=os.fspath(path), **_stored(folder, options))


def log_model(model: Any, **options: Any) -> Any:
    """Log a fitted model to the active run.

    Parameters
    ----------
    model : fitted estimator, recalibrator or calibrated model
    **options
        Of ``mlflow.pyfunc.log_model``, such as ``name`` and ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    with _folder_of(model) as folder:
        return pyfunc.log_model(**_stored(folder, options))


def load_model(uri: str) -> Any:
    """Load a logged or saved model as the object that was saved.

    Parameters
    ----------
    uri : str
        As ``mlflow.pyfunc.load_model`` takes it, which returns the model behind ``predict``.
    """
    return pyfunc.load_model(uri).get_raw_model()


def _stored(folder: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of MLflow for a model folder."""
    defaults = {"signature": _SIGNATURE, "pip_requirements": ["calibrant[mlflow]"]}
    return {**defaults, **options, "loader_module": __name__, "data_path": folder}


@contextmanager
def _folder_of(model: Any) -> Iterator[str]:
    """Temporary model folder."""
    if not hasattr(model, "predict_table") or not hasattr(model, "save"):
        raise ParameterError(
            "Expected a fitted model of calibrant that predicts rows of a table, got a "
            f"{type(model).__name__}."
        )
    with tempfile.TemporaryDirectory(prefix="calibrant.") as folder:
        path = os.path.join(folder, "calibrant_model")
        model.save(path)
        yield path


def _load_pyfunc(path: str) -> TablePredictor:
    """Load the model folder; called by MLflow."""
    return TablePredictor(load_folder(path))
