"""Checks of the parameters that all network methods share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.errors import ParameterError

if TYPE_CHECKING:
    from calibrant.estimators._base import NetworkRegressor


def check_common(model: NetworkRegressor) -> None:
    """Complain about values that no network can be trained with."""
    if model._setting("epochs") < 1 or model.patience < 1:
        raise ParameterError(
            f"epochs and patience must be at least 1, got {model.epochs} and {model.patience}."
        )
    if model.periodic != "auto" and (
        isinstance(model.periodic, str) or not (model.periodic or 0.0) >= 0
    ):
        raise ParameterError(f'periodic must be at least 0 or "auto", got {model.periodic!r}.')
    if not 0 < model.validation_fraction < 1:
        raise ParameterError(
            f"validation_fraction must lie in (0, 1), got {model.validation_fraction}."
        )
    if model.batch_size != "auto" and not (
        isinstance(model.batch_size, int | np.integer) and model.batch_size >= 1
    ):
        raise ParameterError(
            f'batch_size must be "auto" or a number of rows, got {model.batch_size!r}.'
        )
    if not model.lr > 0 or model.weight_decay < 0:
        raise ParameterError(
            f"lr must be > 0 and weight_decay >= 0, got {model.lr} and {model.weight_decay}."
        )
    if model.scaling not in ("standard", "minmax"):
        raise ParameterError(f'scaling must be "standard" or "minmax", got {model.scaling!r}.')
    if not 0 <= model._dropout() < 1:
        raise ParameterError(f"dropout must lie in [0, 1), got {model.dropout}.")
    if model.bounds is not None:
        low, high = model.bounds
        if low is not None and high is not None and not low < high:
            raise ParameterError(f"bounds must be (low, high) with low < high, got {model.bounds}.")
    if model.missing not in ("error", "impute"):
        raise ParameterError(f'missing must be "error" or "impute", got {model.missing!r}.')
