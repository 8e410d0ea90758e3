"""Load a model folder of any kind."""

from __future__ import annotations

import os
from typing import Any

from torch import nn

# Importing forecasting registers every class that a model folder may hold: it imports estimators
# and recalibration, too.
import calibrant.forecasting  # noqa: F401
from calibrant.persistence import load_any


def load_model(path: str | os.PathLike[str], *, network: nn.Module | None = None) -> Any:
    """Load whatever a model folder holds.

    Parameters
    ----------
    path : path
        Folder that ``save`` wrote.
    network : nn.Module, optional
        The user's own module, where the model was fitted with one.

    Returns
    -------
    estimator of any method, recalibrator with what it wraps, or Forecaster
    """
    return load_any(path, network=network)
