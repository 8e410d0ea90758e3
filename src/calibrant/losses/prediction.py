"""Predictions for distribution matching: weighted normals per row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.distributions import Distribution as TorchDistribution

from calibrant.errors import ParameterError


class Prediction(NamedTuple):
    """Weights, means and variances of K normals in each of n rows, all (..., n, K).

    Leading dimensions are batches of their own, such as the members of an ensemble: rows of
    different batches are never compared. A single normal has K = 1, a draw is a normal of variance
    0, so that normals and mixtures, closed form and sampled, share all code.
    """

    weights: Tensor
    means: Tensor
    variances: Tensor

    @classmethod
    def of(cls, weights: Tensor, means: Tensor, scales: Tensor, dtype: torch.dtype) -> Prediction:
        """Prediction of weights, means and standard deviations (see `normals_of`)."""
        return cls(weights.to(dtype), means.to(dtype), scales.to(dtype).square())

    def draw(self, generator: torch.Generator | None) -> Prediction:
        """One draw per row, ``m + s e``; the choice of a component has no gradient."""
        mean, variance = self.means, self.variances
        if mean.shape[-1] > 1:
            flat = self.weights.reshape(-1, self.weights.shape[-1])
            chosen = torch.multinomial(flat, 1, generator=generator).view(*mean.shape[:-1], 1)
            mean, variance = mean.gather(-1, chosen), variance.gather(-1, chosen)
        noise = torch.randn(mean.shape, generator=generator, dtype=mean.dtype, device=mean.device)
        value = mean + variance.sqrt() * noise
        return Prediction(torch.ones_like(mean), value, torch.zeros_like(mean))


def normals_of(dist: TorchDistribution, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, means and standard deviations of predictions for y, each (..., n, K).

    Of a Normal of shape (..., n), K = 1, or of a MixtureSameFamily of normals.
    """
    weights, means, scales = _components(dist)
    shape = means.shape[:-1]
    if y.shape not in (shape, shape[-1:]):
        raise ParameterError(
            f"y must have shape {tuple(shape)} to match the predictions, got {tuple(y.shape)}."
            " An (n, 1) output needs .squeeze(-1)."
        )
    return weights, means, scales


def _components(dist: TorchDistribution) -> tuple[Tensor, Tensor, Tensor]:
    if isinstance(dist, Normal):
        return torch.ones_like(dist.loc)[..., None], dist.loc[..., None], dist.scale[..., None]
    if isinstance(dist, MixtureSameFamily):
        mixing, parts = dist.mixture_distribution, dist.component_distribution
        if isinstance(mixing, Categorical) and isinstance(parts, Normal) and parts.loc.ndim >= 2:
            return mixing.probs, parts.loc, parts.scale
    raise ParameterError(
        "Expected a torch.distributions.Normal of shape (n,) or a MixtureSameFamily of normals "
        f"with K components of shape (n, K), got {dist!r}."
    )
