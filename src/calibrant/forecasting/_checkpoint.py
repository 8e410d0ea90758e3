"""Trained models of a back-test on disk, so that an interrupted one can be resumed."""

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

_MESSAGES = ("verbose", "repair")  # parameters of messages, which change nothing that is learned


def train(model: Forecaster, folder: str | os.PathLike[str] | None) -> None:
    """Train on the rows that the model holds, or load what an earlier run trained on them.

    Parameters
    ----------
    model : Forecaster
    folder : path or None
        Where trained models are stored, each named by a digest of its parameters and rows. None
        stores nothing.
    """
    if folder is None:
        model._train()
        return
    stored = Path(folder) / _digest(model)
    if stored.exists():
        network = model.get_params().get("estimator__network")
        found = Forecaster.load(stored, network=network if isinstance(network, nn.Module) else None)
        model.model_, model.correlation_ = found.model_, found.correlation_
        model.series_correlation_ = found.series_correlation_
        return
    model._train()
    stored.parent.mkdir(parents=True, exist_ok=True)
    model.save(stored)


def _digest(model: Forecaster) -> str:
    series = model.series_
    parameters = sorted(
        (name, _described(value))
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] not in _MESSAGES
    )
    digest = hashlib.sha256(repr((parameters, model.design_, series.clock, series.ids)).encode())
    for array in (
        series.code,
        series.tick,
        series.targets.to_numpy(),
        series.covariates.to_numpy(),
    ):
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _described(value: Any) -> str:
    """Text of a parameter that is the same in the next run, without the address of an object."""
    if isinstance(value, AdaptiveRecalibrator):
        return f"{type(value).__name__}({value.memory}, {value.symmetric}, {value.overlap})"
    if isinstance(value, BaseEstimator | np.random.RandomState):
        # The parameters of an estimator are listed beside it. The state of a generator differs
        # from run to run, and a model of any of them is as good.
        return type(value).__name__
    return repr(value)
