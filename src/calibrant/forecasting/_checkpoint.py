"""Trained models of a back-test on disk: an interrupted one goes on where it was."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from calibrant.forecasting.forecaster import Forecaster


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
        found = Forecaster.load(kept)
        model.steps_, model.correlation_ = found.steps_, found.correlation_
        return
    model._train()
    kept.parent.mkdir(parents=True, exist_ok=True)
    model.save(kept)


def _digest(model: Forecaster) -> str:
    table = model.series_
    parameters = sorted((name, repr(value)) for name, value in model.get_params().items())
    digest = hashlib.sha256(repr((parameters, model.design_, table.clock, table.ids)).encode())
    for array in (table.code, table.tick, table.y, table.x):
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
