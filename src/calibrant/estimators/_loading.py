"""Load a model folder of any method."""

from __future__ import annotations

import os

from torch import nn

from calibrant.estimators._base import NetworkRegressor
from calibrant.persistence import load_any
from calibrant.recalibration import Recalibrator


def load_model(
    path: str | os.PathLike[str], *, network: nn.Module | None = None
) -> NetworkRegressor | Recalibrator:
    """Load whatever a model folder holds: any method, or a recalibrator and what it wraps.

    Parameters
    ----------
    path : path
        Folder that ``save`` wrote.
    network : nn.Module, optional
        The user's own module, where the model was fitted with one.
    """
    model: NetworkRegressor | Recalibrator = load_any(path, network=network)
    return model
