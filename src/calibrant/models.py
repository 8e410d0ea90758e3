"""Load a model folder of any kind."""

from __future__ import annotations

import os
from typing import Any

from torch import nn

# Importing these registers every class that a model folder may hold: they import estimators and
# recalibration, too.
import calibrant.calibration
import calibrant.forecasting  # noqa: F401
from calibrant.persistence import load_any


def load_model(
    path: str | os.PathLike[str], *, network: nn.Module | None = None, **given: Any
) -> Any:
    """Load whatever a model folder holds.

    Parameters
    ----------
    path : path
        Folder that ``save`` wrote.
    network : nn.Module, optional
        The user's own module, where the model was fitted with one.
    **given
        For a model that `calibrate` made: ``model=``, the model inside, unless it is one of
        calibrant's own, and ``collate=`` and ``features=`` if it was made with them.

    Returns
    -------
    estimator of any method, recalibrator or calibrated model with what it wraps, or Forecaster
    """
    return load_any(path, network=network, **given)
