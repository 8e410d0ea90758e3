"""Several models fitted at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.estimators._base import NetworkRegressor


def fit_together(models: Sequence[NetworkRegressor], fits: Sequence[Mapping[str, Any]]) -> None:
    """Fit models of one class and the same settings, each to its own rows and with its own seed.

    Parameters
    ----------
    models : sequence of NetworkRegressor
        They may differ in `random_state` only.
    fits : sequence of dict
        Arguments of ``fit`` for each: ``X``, ``y`` and perhaps ``groups`` or ``cv``.
    """
    for model, fit in zip(models, fits, strict=True):
        model.fit(**fit)
