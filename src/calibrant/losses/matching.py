"""Distribution matching: the kernel calibration family, stage 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.distributions import Distribution as TorchDistribution

from calibrant.errors import ParameterError
from calibrant.kernels import (
    PUBLISHED_BANDWIDTHS,
    EnergyKernel,
    GaussianKernel,
    Kernel,
)
from calibrant.losses._condition import Match, condition_of, in_one_row
from calibrant.losses._device import in_triton
from calibrant.losses._difference import Difference, over_pairs, without_diagonal
from calibrant.losses._features import random_features_v
from calibrant.losses._fused import fused_v
from calibrant.losses._linear import linear_v
from calibrant.losses._pairwise import pairwise
from calibrant.losses._prediction import Prediction

Statistic = Literal["u", "v"]
Expectation = Literal["closed", "sampled"]
Method = Literal["auto", "pairwise", "fused", "linear"]


class DistributionMatchingLoss(nn.Module):
    """Squared maximum mean discrepancy between targets and predictive distributions.

    For a kernel K on a condition z and k on y the loss is the mean over pairs of rows of::

        K(z_i, z_j) [ k(y_i, y_j) - E k(Y_i, y_j) - E k(y_i, Y_j) + E k(Y_i, Y_j) ]

    with ``k(a, b) = sum_h exp(-(a - b)^2 / (2 h))``. K = 1 is the marginal matching of the
    paper, which can't tell a collapsed mean with an inflated spread from the truth; a kernel
    on the inputs (joint) can.

    Parameters
    ----------
    match : {"marginal", "joint", "distribution"}
        What z is: nothing, the input x, or the predicted (mean, log spread).
    bandwidths : sequence of float
        The h, in squared units of y; default the paper's, which are for y in [0, 1].
    statistic : {"v", "u"}
        All pairs (biased upwards), or those with i != j (unbiased, can be negative).
    expectation : {"closed", "sampled"}
        Exact Gaussian expectations, or one draw a row as in the paper's Algorithm 1.
    condition_bandwidth : float, tensor of shape (M,) or None
        Bandwidth of K in squared units of z, one for all or one for each of M batches; None takes
        a tenth of the median squared distance within each batch.
    kernel : Kernel or None
        Another kernel on y instead of the Gaussian sum, for example `EnergyKernel`.
    method : {"auto", "pairwise", "fused", "linear"}
        How it is computed. "pairwise" is the readable reference, quadratic in time and memory,
        in float64. "fused" visits the same pairs without a matrix of pairs, in one pass for
        value and gradient, in blocks on a CPU and in one Triton kernel on a CUDA device. "linear"
        takes time linear in n: exact (1e-12 of a kernel value) for marginal matching; for the
        other two through `features` random features of the condition. "auto" takes "linear"
        where that is exact and "fused" elsewhere.
    features : int
        Random features of ``method="linear"`` given a condition; the relative standard error
        of the value is at most ``sqrt(2 / features)``.

    Notes
    -----
    "fused" and "linear" treat targets and sample weights as constants and can be differentiated
    once; "auto" takes "pairwise" where one of them requires a gradient. "fused" works in the
    precision of its input and adds up in float64. On a CUDA device marginal matching of float32
    input by Gaussian kernels does so as well, which keeps about five digits; rows further apart
    than 1,700 roots of the narrowest bandwidth look nearer than they are there. Other devices and
    float64 have no such bound.

    On a CUDA device, with input in float32, a Gaussian kernel and a given `condition_bandwidth`,
    "fused" and marginal "linear" never wait for the device, and can be captured in a CUDA graph.

    Examples
    --------
    >>> import torch
    >>> from calibrant import DistributionMatchingLoss
    >>> loss = DistributionMatchingLoss(bandwidths=[1.0, 4.0], statistic="v")
    >>> y = torch.tensor([0.0, 1.0])
    >>> value = loss(torch.distributions.Normal(y, torch.full((2,), 1e-6)), y)
    >>> round(float(value), 6)
    0.0
    """

    def __init__(
        self,
        match: Match = "marginal",
        bandwidths: Sequence[float] = PUBLISHED_BANDWIDTHS,
        statistic: Statistic = "v",
        expectation: Expectation = "closed",
        condition_bandwidth: float | Tensor | None = None,
        kernel: Kernel | None = None,
        method: Method = "auto",
        features: int = 256,
    ) -> None:
        super().__init__()
        _check("match", match, get_args(Match))
        _check("statistic", statistic, get_args(Statistic))
        _check("expectation", expectation, get_args(Expectation))
        _check("method", method, get_args(Method))
        if condition_bandwidth is not None and not bool(
            torch.as_tensor(condition_bandwidth > 0).all()
        ):
            raise ParameterError(f"condition_bandwidth must be > 0, got {condition_bandwidth}.")
        if features < 1:
            raise ParameterError(f"features must be at least 1, got {features}.")
        self.match = match
        self.statistic = statistic
        self.expectation = expectation
        self.condition_bandwidth: float | Tensor | None
        if isinstance(condition_bandwidth, Tensor):  # goes to a device with the module
            self.register_buffer("condition_bandwidth", condition_bandwidth, persistent=False)
        else:
            self.condition_bandwidth = condition_bandwidth
        self.kernel: Kernel = GaussianKernel(bandwidths) if kernel is None else kernel
        self.method = method
        self.features = features

    def forward(
        self,
        dist: TorchDistribution,
        y: Tensor,
        x: Tensor | None = None,
        sample_weight: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Loss of a batch, a scalar; of M batches at once, such as ensemble members, (M,).

        Parameters
        ----------
        dist : torch Normal of shape (n,) or (M, n), or MixtureSameFamily of normals
        y : tensor of shape (n,) or (M, n)
        x : tensor of shape (n, d) or (M, n, d), needed by ``match="joint"``
        sample_weight : tensor of shape (n,) or (M, n), optional
            A pair counts with the product of its weights.
        generator : torch.Generator, optional
            Source of the draws of ``expectation="sampled"``.
        """
        method = self._choose(y, sample_weight)
        dtype = self._precision(method, y)
        prediction = Prediction.of(dist, y, dtype)
        condition = condition_of(self.match, prediction, x, self.condition_bandwidth)
        if self.expectation == "sampled":
            prediction = prediction.draw(generator)
        shape = prediction.means.shape[:-1]
        counts = y.new_ones(()) if sample_weight is None else sample_weight
        y, counts = y.to(dtype).expand(shape), counts.double().expand(shape)
        all_pairs = self.statistic == "v"
        if method == "pairwise":
            return pairwise(prediction, y, self.kernel, counts, condition, diagonal=all_pairs)
        y, counts = y.detach(), counts.detach()
        difference = Difference.of(prediction, y, counts)
        condition = None if condition is None else in_one_row(condition, shape, dtype)
        if method == "fused":
            value = fused_v(difference, self.kernel, condition, diagonal=all_pairs)
            value = value.view(shape[:-1])
            return value if all_pairs else over_pairs(value, counts)
        if condition is None:
            value = linear_v(difference, self.kernel)
        else:
            value = random_features_v(difference, self.kernel, condition, self.features)
        value = value.view(shape[:-1])
        return value if all_pairs else without_diagonal(value, prediction, y, self.kernel, counts)

    def _precision(self, method: Method, y: Tensor) -> torch.dtype:
        """What the work is done in; sums are always added up in float64."""
        in_kernels = self.match == "marginal" and isinstance(self.kernel, GaussianKernel)
        if method == "fused" or (method == "linear" and in_kernels and in_triton(y)):
            return torch.promote_types(y.dtype, torch.float32)
        return torch.float64

    def _choose(self, y: Tensor, sample_weight: Tensor | None = None) -> Method:
        """Fastest exact method for the question asked."""
        if self.method != "auto":
            return self.method
        if y.requires_grad or (sample_weight is not None and sample_weight.requires_grad):
            return "pairwise"
        # On a GPU the range of the data is not to be waited for.
        sorts = self.expectation == "sampled" or y.device.type == "cpu"
        exact = isinstance(self.kernel, GaussianKernel) or (
            isinstance(self.kernel, EnergyKernel) and sorts
        )
        return "linear" if self.match == "marginal" and exact else "fused"


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")
