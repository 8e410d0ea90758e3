"""Recalibrators around an estimator as torch modules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from calibrant.distributions import MonotoneMap
from calibrant.errors import ParameterError
from calibrant.estimators.atoms import Atoms
from calibrant.estimators.base import NetworkRegressor
from calibrant.estimators.bounds import Bounds
from calibrant.estimators.torch_predictor import TorchPredictor, register_constants
from calibrant.estimators.torch_summary import MappedMixture, Steps, one_normal, steps_of
from calibrant.recalibration import (
    ConformalRecalibrator,
    GroupRecalibrator,
    IsotonicRecalibrator,
)

_MOST_KNOTS = 5_000  # every row finds a quantile at each


def torch_model(model: Any, *, bounded: bool = True) -> nn.Module:
    """Return a module from encoded rows to the `MappedMixture` that a fitted model predicts.

    Parameters
    ----------
    model : fitted NetworkRegressor, or recalibrator around one
    bounded : bool
        Whether the mass outside the bounds of the target is moved onto them.
    """
    if isinstance(model, NetworkRegressor):
        predictor = model.predictor_
        return TorchPredictor(predictor if bounded else replace(predictor, bounds=None))
    _check_recalibrator(model)
    if not isinstance(model, ConformalRecalibrator):
        return TorchRecalibrator(torch_model(model.model_, bounded=bounded), model.monotone_)
    return TorchConformal(model, _bounds_of(model.model_) if bounded else None)


class TorchRecalibrator(nn.Module):
    """One monotone map for all rows, after what a module predicts."""

    x: Tensor
    y: Tensor

    def __init__(self, inside: nn.Module, monotone: MonotoneMap) -> None:
        super().__init__()
        self.inside = inside
        register_constants(self, x=monotone.x, y=monotone.y)

    def forward(self, rows: Tensor) -> MappedMixture:
        """Predictive distribution of every encoded row."""
        dist: MappedMixture = self.inside(rows)
        return dist.recalibrated(self.x, self.y)


class TorchConformal(nn.Module):
    """The distribution of `ConformalRecalibrator`: residuals around the mean of a model."""

    x: Tensor
    y: Tensor
    centre: Tensor
    width: Tensor
    middle: Tensor
    edges: Tensor
    values: Tensor
    constant: Tensor

    def __init__(self, model: ConformalRecalibrator, bounds: Bounds | None) -> None:
        super().__init__()
        # As in Python: mass on a bound would make the spread vanish there.
        free = _bounds_of(model.model_) is not None
        self.inside = torch_model(model.model_, bounded=not free)
        self.normalize = model.normalize
        register_constants(
            self,
            x=model.monotone_.x[None],
            y=model.monotone_.y[None],
            centre=model.residual_scale_.centre,
            width=model.residual_scale_.width,
            middle=[0.5],
            **steps_of(Atoms(), bounds),
        )

    def forward(self, rows: Tensor) -> MappedMixture:
        """Predictive distribution of every encoded row."""
        location, stddev, _ = self.inside(rows).summary(self.middle)
        scale = stddev if self.normalize else torch.ones_like(stddev)
        base = one_normal(location + scale * self.centre, scale * self.width)
        return MappedMixture(base, self.x, self.y, Steps(self.edges, self.values, self.constant))


def _bounds_of(model: Any) -> Bounds | None:
    """Bounds that clip the distributions of a model."""
    if isinstance(model, NetworkRegressor):
        return model.predictor_.bounds
    return _bounds_of(model.model_) if isinstance(model, ConformalRecalibrator) else None


def _check_recalibrator(model: Any) -> None:
    """Raise an error for recalibrators that the graph can't hold, and name what it can."""
    name = type(model).__name__
    known = isinstance(model, IsotonicRecalibrator | ConformalRecalibrator | GroupRecalibrator)
    if not known:
        raise ParameterError(
            f"A {name} can't be exported. Export an estimator of calibrant, or an "
            "IsotonicRecalibrator or ConformalRecalibrator around one."
        )
    if isinstance(model, GroupRecalibrator) and model.steps_:
        raise ParameterError(
            "Maps of groups can't be exported: the graph reads no labels. Recalibrate by "
            "IsotonicRecalibrator or GroupRecalibrator() without groups, or fit and export one "
            "model per group."
        )
    if isinstance(model, ConformalRecalibrator) and model.guarantee:
        raise ParameterError(
            "Guaranteed bounds can't be exported: they are order statistics, not quantiles. Fit "
            "ConformalRecalibrator(guarantee=False), or predict with calibrant."
        )
    if len(model.monotone_.x) > _MOST_KNOTS:
        raise ParameterError(
            f"The map of this {name} has {len(model.monotone_.x):,} knots, at each of which the "
            f"graph would find a quantile for every row; at most {_MOST_KNOTS:,} can be exported. "
            "GroupRecalibrator() without groups learns a smooth map with few knots."
        )
