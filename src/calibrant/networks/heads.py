"""Heads: from the outputs of a network to distributions, for training and for users."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.distributions import Categorical, MixtureSameFamily
from torch.distributions import Distribution as TorchDistribution

from calibrant.distributions import Distribution, Mixture, Normal
from calibrant.networks.fast.switch import triton_applies
from calibrant.persistence import savable_part

# Bounds of the log-variance in units of the scaled target: a standard deviation of 1e-5 to 150.
# They are approached smoothly, so that the gradient never vanishes at a bound.
_LOWEST, _HIGHEST = -23.0, 10.0


class Head(Protocol):
    """How the `n_outputs` outputs of a network become a distribution.

    Outputs have the shape (..., n, n_outputs); members and Monte-Carlo passes come first.
    """

    @property
    def n_outputs(self) -> int:
        """Number of outputs per row."""
        ...

    def initial_bias(self, mean: float, spread: float) -> Tensor:
        """Initial outputs, (n_outputs,), for a scaled target of this mean and spread."""
        ...

    def torch_distribution(self, outputs: Tensor) -> TorchDistribution:
        """Distribution of batch shape (..., n) for the loss, with gradients."""
        ...

    def distribution(self, outputs: Tensor) -> Distribution:
        """Distribution of n rows for the user, from outputs (n, n_outputs), in float64."""
        ...


@savable_part
@dataclass(frozen=True)
class GaussianHead:
    """Mean and log-variance, ``s = log sigma^2``, as in the paper."""

    n_outputs: ClassVar[int] = 2

    def initial_bias(self, mean: float, spread: float) -> Tensor:
        """Mean of the target, variance 1."""
        return torch.tensor([mean, 0.0])

    def torch_distribution(self, outputs: Tensor) -> torch.distributions.Normal:
        """Normal of batch shape (..., n)."""
        mean, log_variance = outputs.unbind(dim=-1)
        return torch.distributions.Normal(mean, bounded_scale(log_variance), validate_args=False)

    def distribution(self, outputs: Tensor) -> Normal:
        """Normal distribution of n rows."""
        dist = self.torch_distribution(outputs)
        return Normal(to_numpy(dist.loc), to_numpy(dist.scale))


@savable_part
@dataclass(frozen=True)
class MixtureHead:
    """Mixture of C Gaussians per row: logits of the weights, means, log-variances.

    It starts with equal weights, means at quantiles of a normal target and half its spread, so
    that every component has rows to explain and none dies.

    Parameters
    ----------
    components : int
        Number of Gaussians C.
    spikes : int, default 0
        Further components whose means and log-variances are fixed; they are the last outputs
        (`DistributionNetwork`).
    submodels : int, default 1
        Submodels of a `BatchEnsembleMLP`, with C Gaussians each. Their outputs follow each other;
        the distribution of a row is the equally weighted mixture of all.
    """

    components: int
    spikes: int = 0
    submodels: int = 1

    @property
    def n_outputs(self) -> int:
        """Logits, means and log-variances of all components."""
        return self.submodels * self._own + 2 * self.spikes

    @property
    def _own(self) -> int:
        """Learned outputs of a submodel."""
        return 3 * self.components + self.spikes

    def initial_bias(self, mean: float, spread: float) -> Tensor:
        """Equal weights, spread-out means, a quarter of the variance of the target."""
        levels = (np.arange(self.components) + 0.5) / self.components
        means = mean + spread * torch.as_tensor(ndtri(levels), dtype=torch.float32)
        log_variances = torch.full((self.components,), 2.0 * float(np.log(0.5 * spread)))
        own = torch.cat([torch.zeros(self.components + self.spikes), means, log_variances])
        return own.repeat(self.submodels)

    def torch_distribution(self, outputs: Tensor) -> MixtureSameFamily:
        """Mixture of batch shape (..., n); its log_prob is a logsumexp over the components."""
        if self.submodels == 1:
            return self._mixture(outputs)
        each = self.submodel_distribution(outputs)
        normals = cast(torch.distributions.Normal, each.component_distribution)
        parts = each.mixture_distribution.logits, normals.loc, normals.scale
        return _mixture_of(*(part.transpose(-3, -2).flatten(-2) for part in parts))

    def submodel_distribution(self, outputs: Tensor) -> MixtureSameFamily:
        """Mixture of every submodel, of batch shape (..., K, n)."""
        own, fixed = outputs.split([self.submodels * self._own, 2 * self.spikes], dim=-1)
        own = own.unflatten(-1, (self.submodels, self._own)).transpose(-3, -2)
        return self._mixture(torch.cat([own, fixed.unsqueeze(-3).expand(*own.shape[:-1], -1)], -1))

    def _mixture(self, outputs: Tensor) -> MixtureSameFamily:
        """Mixture of batch shape (..., n) from the outputs of one submodel."""
        own, fixed = self.components, self.spikes
        logits, means, log_variances, spike_means, spike_log_variances = outputs.split(
            [own + fixed, own, own, fixed, fixed], dim=-1
        )
        scales = bounded_scale(log_variances)
        if fixed:
            means = torch.cat([means, spike_means], dim=-1)
            scales = torch.cat([scales, torch.exp(0.5 * spike_log_variances)], dim=-1)
        return _mixture_of(logits, means, scales)

    def distribution(self, outputs: Tensor) -> Mixture:
        """Mixture of n rows."""
        dist = self.torch_distribution(outputs)
        normals = dist.component_distribution
        return Mixture(
            to_numpy(dist.mixture_distribution.probs),
            to_numpy(normals.mean),
            to_numpy(normals.stddev),
        )


def gaussian_head(components: int, submodels: int = 1) -> GaussianHead | MixtureHead:
    """Return the head of one Gaussian per row, or of a mixture of several."""
    if components == submodels == 1:
        return GaussianHead()
    return MixtureHead(components, submodels=submodels)


@savable_part
@dataclass(frozen=True)
class PointHead:
    """Mean only; with its normal of variance 1 the likelihood is half the squared error."""

    n_outputs: ClassVar[int] = 1

    def initial_bias(self, mean: float, spread: float) -> Tensor:
        """Mean of the target."""
        return torch.tensor([mean])

    def torch_distribution(self, outputs: Tensor) -> torch.distributions.Normal:
        """Normal of variance 1 and batch shape (..., n)."""
        mean = outputs[..., 0]
        return torch.distributions.Normal(mean, torch.ones_like(mean), validate_args=False)

    def distribution(self, outputs: Tensor) -> Normal:
        """Normal of variance 1, in units of the scaled target."""
        mean = to_numpy(outputs[..., 0])
        return Normal(mean, np.ones_like(mean))


def _mixture_of(logits: Tensor, means: Tensor, scales: Tensor) -> MixtureSameFamily:
    normals = torch.distributions.Normal(means, scales, validate_args=False)
    return MixtureSameFamily(_Weights(logits), normals, validate_args=False)


class _Weights(Categorical):
    """Categorical with normalised logits in one operation; torch's class takes a dozen."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = self._param = logits.log_softmax(dim=-1)
        self._num_events = logits.shape[-1]
        TorchDistribution.__init__(self, logits.shape[:-1], validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> _Weights:
        """Return the same for more rows, as torch's class does."""
        return _Weights(self.logits.expand(*batch_shape, self._num_events))


def bounded_scale(log_variance: Tensor) -> Tensor:
    """Standard deviation of a log-variance s that is kept within its bounds.

    ``sqrt(e^lowest + e^highest / (1 + e^(highest - s)))`` is the exponential of half of ``s``,
    bounded on both sides by a softplus.
    """
    return cast(Tensor, _BoundedScale.apply(log_variance))  # type: ignore[no-untyped-call]


class _BoundedScale(Function):
    """`bounded_scale` as one node of the graph, as small batches cost per operation."""

    @staticmethod
    def forward(ctx: Any, log_variance: Tensor) -> Tensor:
        if triton_applies(log_variance):
            from calibrant.networks.fast.triton_scale import bound_scale

            scale, grad = bound_scale(log_variance, _LOWEST, _HIGHEST)
        else:
            above = log_variance - _HIGHEST
            free = math.exp(_HIGHEST) * torch.sigmoid(above)  # the variance without its lower bound
            scale = torch.sqrt(free + math.exp(_LOWEST))
            grad = 0.5 * free * torch.sigmoid(-above) / scale
        ctx.save_for_backward(grad)
        return scale

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (own,) = ctx.saved_tensors
        return cast(Tensor, grad * own)


def to_numpy(values: Tensor) -> NDArray[np.float64]:
    """Float64 array of a tensor on any device."""
    return np.asarray(values.detach().cpu(), dtype=np.float64)
