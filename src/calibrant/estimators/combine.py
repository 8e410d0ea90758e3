"""Combine the outputs of a model's networks into one distribution per row.

Each class is a step of a predictor: called with the networks and scaled inputs, it returns
distributions in units of the scaled target.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor

from calibrant.checks import Array
from calibrant.distributions import Distribution, Mixture, Normal
from calibrant.networks import Head, MixtureHead, Networks, only_kind, to_numpy
from calibrant.persistence import savable_part

PASS_SEED = 0  # seed of the dropout passes; fixed, so that predictions are reproducible
_LEAST_VARIANCE = 1e-8  # of the scaled target, where all predictions agree


class Combine(Protocol):
    """Combines the outputs of members, dropout passes or samples."""

    def n_answers(self, networks: Networks) -> int:
        """Number of outputs per row that are in memory at once."""
        ...

    def __call__(self, networks: Networks, x: Tensor) -> Distribution:
        """Distributions of n rows from scaled inputs (n, d) or (n, steps, d)."""
        ...


@savable_part
@dataclass(frozen=True)
class SingleNetwork:
    """The distribution of one network."""

    def n_answers(self, networks: Networks) -> int:
        """One."""
        return 1

    def __call__(self, networks: Networks, x: Tensor) -> Distribution:
        """Distribution of the head."""
        return networks.head.distribution(networks.outputs(x)[0])


@savable_part
@dataclass(frozen=True)
class MatchedMoments:
    """Normal with the moments of the mixture of all members, or of the dropout passes of one.

    Parameters
    ----------
    passes : int
        Monte-Carlo passes; 0 uses the members instead.
    """

    passes: int = 0

    def n_answers(self, networks: Networks) -> int:
        """Passes or members."""
        return self.passes or networks.size

    def __call__(self, networks: Networks, x: Tensor) -> Distribution:
        """Normal distributions with their epistemic part."""
        if self.passes:
            passes = only_kind(networks).passes(x, self.passes, PASS_SEED)
            return matched_moments(networks.head, passes)
        return matched_moments(networks.head, networks.outputs(x))


@savable_part
@dataclass(frozen=True, eq=False)
class WeightedMixture:
    """Mixture of all members.

    Parameters
    ----------
    shares : array of shape (kinds,)
        Total weight of each kind of network, divided equally among its members; they add up to 1.
        Members of one kind are consecutive.
    stretch : float
        Factor of the distances of a network's components from its mean, and of their scales.
    """

    shares: Array = field(default_factory=lambda: np.ones(1))
    stretch: float = 1.0

    def n_answers(self, networks: Networks) -> int:
        """Members."""
        return networks.size

    def __call__(self, networks: Networks, x: Tensor) -> Distribution:
        """Mixtures with their epistemic part, or the distribution of a single network."""
        return self.of_outputs(networks.head, networks.outputs(x).double())

    def of_outputs(self, head: Head, outputs: Tensor) -> Distribution:
        """Mixtures of outputs (M, n, n_outputs)."""
        if len(outputs) == 1:
            return stretched(head, outputs[0], self.stretch)
        weights = np.repeat(self.shares, len(outputs) // len(self.shares))
        return weighted_mixture(head, outputs, weights / weights.sum(), self.stretch)


@savable_part
@dataclass(frozen=True)
class PointSpread:
    """Normal with the mean and variance of point predictions, plus the variance of the noise.

    Parameters
    ----------
    passes : int
        Monte-Carlo passes; 0 uses the members instead.
    noise : float or None
        Variance added to that of the points, in units of the scaled target. None where the points
        were trained to have the spread of the target, so that it is not all epistemic.
    """

    passes: int = 0
    noise: float | None = None

    def n_answers(self, networks: Networks) -> int:
        """Passes or members."""
        return self.passes or networks.size

    def __call__(self, networks: Networks, x: Tensor) -> Distribution:
        """Normal distributions."""
        passes = self.passes
        points = only_kind(networks).passes(x, passes, PASS_SEED) if passes else networks.outputs(x)
        dist = normal_of_points(points)
        spread = Normal(to_numpy(dist.loc), to_numpy(dist.scale))
        if self.noise is None:
            return spread
        total = Normal(spread.loc, np.sqrt(spread.variance + self.noise))
        return total.with_epistemic(spread.variance)


def normal_of_points(points: Tensor) -> torch.distributions.Normal:
    """Normal of shape (..., n) from outputs of shape (..., k, n, 1): mean and variance over k."""
    values = points[..., 0]
    variance = values.var(dim=-2, correction=0) + _LEAST_VARIANCE
    return torch.distributions.Normal(values.mean(dim=-2), variance.sqrt(), validate_args=False)


def matched_moments(head: Head, outputs: Tensor) -> Normal:
    """Normal with the mean and the variance of the mixture of all outputs.

    ``Var Y = E Var(Y | m) + Var E(Y | m)``: the mean of the variances is the aleatoric part, the
    variance of the means over members or passes m the epistemic one.

    Parameters
    ----------
    outputs : tensor of shape (M, n, n_outputs)
    """
    dist = head.torch_distribution(outputs)
    means, variances = dist.mean, dist.variance  # (M, n)
    epistemic = means.var(dim=0, correction=0)
    total = variances.mean(dim=0) + epistemic
    normal = Normal(to_numpy(means.mean(dim=0)), to_numpy(total.sqrt()))
    return normal.with_epistemic(to_numpy(epistemic))


def equal_mixture(head: Head, outputs: Tensor) -> Distribution:
    """Mixture with equal weights of all outputs, each a normal or a mixture itself."""
    return weighted_mixture(head, outputs, np.full(len(outputs), 1.0 / len(outputs)))


def stretched(head: Head, outputs: Tensor, factor: float) -> Normal | Mixture:
    """Distribution of a network, from outputs (n, n_outputs), stretched about its mean.

    The mean and spikes, whose places are fixed, stay where they are.
    """
    dist = cast(Normal | Mixture, head.distribution(outputs))
    if factor == 1.0:
        return dist
    if not isinstance(head, MixtureHead) or isinstance(dist, Normal):
        return Normal(dist.mean, factor * dist.stddev)
    free = np.tile(np.arange(head.components + head.spikes) < head.components, head.submodels)
    weights = np.where(free, dist.weights, 0.0)
    total = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    centre = (weights * dist.locs).sum(axis=1, keepdims=True) / total
    locs = np.where(free, centre + factor * (dist.locs - centre), dist.locs)
    return Mixture(dist.weights, locs, np.where(free, factor * dist.scales, dist.scales))


def weighted_mixture(
    head: Head, outputs: Tensor, weights: Array, stretch: float = 1.0
) -> Distribution:
    """Mixture of all outputs with these weights, (M,), which add up to 1."""
    members, n_rows = outputs.shape[:2]
    # All members as rows of one distribution: a small batch costs per operation.
    each = stretched(head, outputs.flatten(0, 1), stretch)
    means = each.mean.reshape(members, n_rows)
    if isinstance(each, Normal):
        parts = np.ones((len(each), 1)), each.loc, each.scale
    else:
        parts = each.weights, each.locs, each.scales
    per_row = [
        part.reshape(members, n_rows, -1).swapaxes(0, 1).reshape(n_rows, -1) for part in parts
    ]
    per_row[0] *= np.repeat(weights, per_row[0].shape[1] // members)
    spread = weights @ (means - weights @ means) ** 2
    return Mixture(*per_row).reduced().with_epistemic(spread)
