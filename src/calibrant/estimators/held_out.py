"""What a trained ensemble predicts for rows that its networks did not see."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.distributions.pit import randomized_pit
from calibrant.estimators.plan import Plan
from calibrant.estimators.predictor import Predictor, in_float64


@torch.no_grad()
def held_out_pit(plan: Plan, predictor: Predictor, random_state: int) -> Array:
    """PIT values of the held-out rows, or of all rows out of fold, (n,), before any map.

    Parameters
    ----------
    plan : Plan
    predictor : Predictor
        With all networks of the plan.
    random_state : int
        For targets on atoms, as in `randomized_pit`.
    """
    if plan.held_out is not None:
        dist, y = predictor.uncalibrated(plan.held_out.x), plan.held_out.y
        return randomized_pit(*cdf_ends(plan, dist, y), random_state)
    outputs, y = out_of_fold_outputs(plan, predictor), plan.sample.y
    loc, scale = plan.target.loc + plan.sample.trend, float(plan.target.scale)
    dists = (plan.head.distribution(part).affine(loc, scale) for part in outputs)
    low, high = np.mean([cdf_ends(plan, dist, y) for dist in dists], axis=0)
    return randomized_pit(low, high, random_state)


def out_of_fold_outputs(plan: Plan, predictor: Predictor) -> Tensor:
    """Out-of-fold outputs for every row, (kinds * repeats, n, n_outputs)."""
    kinds, repeats, per_kind = len(plan.groups), plan.recipe.members, len(plan.folds)
    shape = (kinds, repeats, len(plan.sample.y), plan.head.n_outputs)
    outputs = torch.zeros(shape, dtype=torch.float64)
    for kind, group in enumerate(plan.groups):
        for i, (_, held_out) in enumerate(plan.folds):
            one = kind * per_kind + i
            network = in_float64(predictor.networks.part(slice(one, one + 1)))
            like = next(network.parameters())
            for part in torch.as_tensor(held_out).split(predictor.rows_at_once(1)):
                # The features that were trained on: a row is not among its own neighbours.
                inputs = group.rows.take(part.to(like.device)).x.to(like)
                result = network.outputs(inputs)[0].cpu().double()
                outputs[kind, i * repeats // per_kind, part] = result
    return outputs.flatten(0, 1)


def cdf_ends(plan: Plan, dist: Distribution, y: Array) -> tuple[Array, Array]:
    """Distribution function at both ends of the atoms of targets; equal for other targets."""
    low, high = plan.atoms.cdf_ends(dist, y)
    least, most = plan.bounds or (None, None)
    if least is not None:  # mass beyond a bound is moved to the bound
        low = np.where(y <= least, 0.0, low)
    if most is not None:
        high = np.where(y >= most, 1.0, high)
    return low, high
