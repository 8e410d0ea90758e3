"""Calibrate an ensemble: the weights of its kinds of networks, and the calibration map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.distributions.pit import randomized_pit
from calibrant.estimators.calibration_map import LEAST_HELD_OUT, CalibrationMap
from calibrant.estimators.combine import WeightedMixture, stretched
from calibrant.estimators.ensemble_extrapolation import (
    best_shares,
    ensemble_mean_square,
    extrapolate_pit,
    fit_stretch,
    mean_square,
    mixture_crps,
    pit_shrinkage,
)
from calibrant.estimators.held_out import cdf_ends, out_of_fold_outputs
from calibrant.estimators.plan import Plan
from calibrant.estimators.predictor import Predictor
from calibrant.estimators.scaling import scaled_target
from calibrant.networks import to_numpy
from calibrant.recalibration.pit_map import effective_rows

_FEW_NETWORKS = 4  # of a kind, enough to tell which kind is better


@dataclass(frozen=True)
class EnsembleCalibration:
    """The calibration step of `MMDRegressor`, learned from held-out rows after training.

    Parameters
    ----------
    recalibrate : bool or "common"
        Learn no map (False), one for all rows ("common"), or one that depends on the predicted
        mean where the rows show that it should (True).
    """

    recalibrate: bool | Literal["common"]

    @torch.no_grad()
    def __call__(self, plan: Plan, predictor: Predictor) -> Predictor:
        """Return the predictor with its map, and without kinds of networks of weight 0."""
        learn = self._out_of_fold if plan.held_out is None else self._on_hold_out
        combine, learned = learn(plan, predictor)
        used = np.flatnonzero(combine.shares)
        combine = replace(combine, shares=combine.shares[used])
        return replace(predictor.only_kinds(used.tolist()), combine=combine, map=learned)

    def _on_hold_out(
        self, plan: Plan, predictor: Predictor
    ) -> tuple[WeightedMixture, CalibrationMap | None]:
        """Learn from rows that all networks were stopped on and none was trained on."""
        held_out = plan.held_out
        assert held_out is not None
        batches = [predictor.precise.outputs(x) for _, x in predictor.batches(held_out.x)]
        outputs = torch.cat(batches, dim=1).cpu()
        per_kind = plan.n_networks // len(plan.groups)
        few = [i for i in range(plan.n_networks) if i % per_kind < _FEW_NETWORKS]
        y = scaled_target(plan.target, held_out.residual)
        combine = WeightedMixture(_learn_shares(plan, outputs[few], y, held_out.weight, per_kind))
        if not self.recalibrate or len(held_out.y) < LEAST_HELD_OUT:
            return combine, None

        def uncalibrated(stretch: float) -> Distribution:
            raw = replace(combine, stretch=stretch).of_outputs(plan.head, outputs)
            return raw.affine(plan.target.loc + held_out.trend, float(plan.target.scale))

        def square_of(stretch: float) -> float:
            ends = cdf_ends(plan, uncalibrated(stretch), held_out.y)
            return mean_square(randomized_pit(*ends), held_out.weight)

        n_rows = effective_rows(held_out.weight)
        combine = replace(combine, stretch=fit_stretch(square_of, n_rows))
        raw = uncalibrated(combine.stretch)
        left, right = cdf_ends(plan, raw, held_out.y)
        means = raw.mean if self.recalibrate != "common" else None
        return combine, CalibrationMap.fit(
            left, right, held_out.weight, predicted_mean=means, shrink="spread"
        )

    def _out_of_fold(
        self, plan: Plan, predictor: Predictor
    ) -> tuple[WeightedMixture, CalibrationMap | None]:
        """Learn from out-of-fold predictions.

        A row has those of `repeats` networks of each kind, while new rows are predicted by all
        networks: PIT values are extrapolated to the whole ensemble before the map is learned.
        """
        sample, kinds, per_kind = plan.sample, len(plan.groups), len(plan.folds)
        repeats, n_rows = plan.recipe.members, len(plan.sample.y)
        outputs = out_of_fold_outputs(plan, predictor)  # (kinds * repeats, n, n_outputs)
        y = scaled_target(plan.target, sample.residual)
        shares = _learn_shares(plan, outputs, y, sample.weight, per_kind)
        combine = WeightedMixture(shares)
        if not self.recalibrate:
            return combine, None
        loc, scale = plan.target.loc + sample.trend, float(plan.target.scale)

        def ends_of(stretch: float) -> tuple[Array, Array]:
            """Distribution function at both ends of the targets' atoms, (n, kinds, repeats)."""
            dists = (stretched(plan.head, part, stretch).affine(loc, scale) for part in outputs)
            ends = np.array([cdf_ends(plan, dist, sample.y) for dist in dists])
            low, high = ends.reshape(kinds, repeats, 2, n_rows).transpose(2, 3, 0, 1)
            return low, high

        def square_of(stretch: float) -> float:
            pit = randomized_pit(*ends_of(stretch))
            return ensemble_mean_square(pit, shares, per_kind, sample.weight)

        if repeats > 1:
            stretch = fit_stretch(square_of, effective_rows(sample.weight))
            combine = replace(combine, stretch=stretch)
        low, high = ends_of(combine.stretch)
        factor = pit_shrinkage(randomized_pit(low, high), shares, per_kind, sample.weight)
        left, right = (extrapolate_pit(end, shares, factor) for end in (low, high))
        means = None  # the mean of one network is too far from that of the ensemble
        if repeats > 1 and self.recalibrate != "common":
            members = to_numpy(plan.head.torch_distribution(outputs).mean)
            means = loc + scale * (np.repeat(shares, repeats) / repeats @ members)
        return combine, CalibrationMap.fit(
            left, right, sample.weight, predicted_mean=means, shrink="spread"
        )


def _learn_shares(plan: Plan, outputs: Tensor, y: Array, weight: Array, per_kind: int) -> Array:
    """Weight of each kind of network, from outputs for rows that they did not see.

    Parameters
    ----------
    outputs : tensor of shape (networks, n, n_outputs)
        As many of each kind, one kind after another.
    y : array of shape (n,)
        Scaled targets.
    per_kind : int
        Number of networks of each kind in the ensemble.
    """
    kinds = len(plan.groups)
    if kinds == 1:
        return np.ones(1)
    crps = mixture_crps(plan.head, outputs, y, weight)
    return best_shares(crps, kinds, len(outputs) // kinds, per_kind)
