"""Trained models of a back-test on disk: an interrupted one goes on where it was."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from torch import nn

from calibrant.forecasting.forecaster import Forecaster
from calibrant.recalibration import AdaptiveRecalibrator

_SAID = ("verbose", "repair")  # parameters that decide what is said, not what is learned


def train(model: Forecaster, folder: str | os.PathLike[str] | None) -> None:
    """Train on the rows that the model holds, or take what an earlier run trained on them.

    Parameters
    ----------
    model : Forecaster
    folder : path or None
        Where trained models are kept, each under a digest of its parameters and rows: another
        model or another series never finds them. None keeps nothing.
    """
    if folder is None:
        model._train()
        return
    kept = Path(folder) / _digest(model)
    if kept.exists():
        network = model.get_params().get("estimator__network")
        found = Forecaster.load(kept, network=network if isinstance(network, nn.Module) else None)
        model.steps_, model.correlation_ = found.steps_, found.correlation_
        return
    model._train()
    kept.parent.mkdir(parents=True, exist_ok=True)
    model.save(kept)


def _digest(model: Forecaster) -> str:
    table = model.series_
    parameters = sorted(
        (name, _described(value))
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] not in _SAID
    )
    digest = hashlib.sha256(repr((parameters, model.design_, table.clock, table.ids)).encode())
    for array in (table.code, table.tick, table.y, table.x):
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _described(value: Any) -> str:
    """A parameter in words that are the same in the next run: no address of an object."""
    if isinstance(value, AdaptiveRecalibrator):
        return f"{type(value).__name__}({value.memory})"
    if isinstance(value, BaseEstimator | np.random.RandomState):
        # The parameters of an estimator are listed beside it. A generator has another state in
        # every run, and any of its models will do.
        return type(value).__name__
    return repr(value)
