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
    GaussianKernel,
    Kernel,
    condition_kernel,
    median_squared_distance,
)
from calibrant.losses._prediction import Prediction, compare_rows

Match = Literal["marginal", "joint", "distribution"]
Statistic = Literal["u", "v"]
Expectation = Literal["closed", "sampled"]
Method = Literal["auto", "pairwise"]


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
    condition_bandwidth : float or None
        Bandwidth of K in squared units of z; None takes a tenth of the median squared distance
        within the batch.
    kernel : Kernel or None
        Another kernel on y instead of the Gaussian sum, for example `EnergyKernel`.
    method : {"auto", "pairwise"}
        How it is computed; "pairwise" is the readable reference, quadratic in n, in float64.

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
        condition_bandwidth: float | None = None,
        kernel: Kernel | None = None,
        method: Method = "auto",
    ) -> None:
        super().__init__()
        _check("match", match, get_args(Match))
        _check("statistic", statistic, get_args(Statistic))
        _check("expectation", expectation, get_args(Expectation))
        _check("method", method, get_args(Method))
        if condition_bandwidth is not None and not condition_bandwidth > 0:
            raise ParameterError(f"condition_bandwidth must be > 0, got {condition_bandwidth}.")
        self.match = match
        self.statistic = statistic
        self.expectation = expectation
        self.condition_bandwidth = condition_bandwidth
        self.kernel: Kernel = GaussianKernel(bandwidths) if kernel is None else kernel
        self.method = method

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
        prediction = Prediction.of(dist, y)
        compared = prediction.draw(generator) if self.expectation == "sampled" else prediction
        pairs = compare_rows(compared, y, self.kernel)  # (n, n), float64
        counts = torch.ones_like(y, dtype=torch.float64)
        if sample_weight is not None:
            counts = sample_weight.double()
        weights = counts[..., :, None] * counts[..., None, :]
        if self.statistic == "u":
            weights = weights - torch.diag_embed(weights.diagonal(dim1=-2, dim2=-1))
        total = weights.sum(dim=(-2, -1))
        if self.match != "marginal":
            weights = weights * self._condition(prediction, x)
        # A batch of one row has no pairs: its U-statistic is 0.
        some = total.clamp_min(torch.finfo(torch.float64).tiny)
        return (weights * pairs).sum(dim=(-2, -1)) / some

    def _condition(self, prediction: Prediction, x: Tensor | None) -> Tensor:
        if self.match == "joint":
            if x is None:
                raise ParameterError('match="joint" compares given the input: pass x, (n, d).')
            z = x.detach().double()
        else:
            # No gradient through the condition: moving apart must not count as calibration.
            w, m, v = (part.detach() for part in prediction)
            mean = (w * m).sum(dim=-1)
            variance = (w * (v + m**2)).sum(dim=-1) - mean**2
            z = torch.stack([mean, 0.5 * variance.log()], dim=-1)
        bandwidth = self.condition_bandwidth
        if bandwidth is None:
            bandwidth = 0.1 * median_squared_distance(z.reshape(-1, z.shape[-1]))
        return condition_kernel(z, bandwidth)


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")
