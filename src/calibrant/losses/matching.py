"""Distribution matching: squared MMD between targets and predictive distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.distributions import Distribution as TorchDistribution

from calibrant.errors import ParameterError
from calibrant.kernels import PUBLISHED_BANDWIDTHS, GaussianKernel, Kernel
from calibrant.losses.condition import Match, condition_of, scaled_condition
from calibrant.losses.fast import Method, choose_path, fast_mmd, reduced_mmd
from calibrant.losses.pairwise import pairwise_mmd
from calibrant.losses.prediction import Prediction, normals_of
from calibrant.losses.processes import gather_rows
from calibrant.threads import on_one_thread

Statistic = Literal["u", "v"]
Expectation = Literal["closed", "sampled"]


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
        Exact Gaussian expectations, or one draw per row as in the paper's Algorithm 1.
    condition_bandwidth : float, tensor of shape (M,) or None
        Bandwidth of K in squared units of z, one for all or one for each of M batches; None takes
        a tenth of the median squared distance within each batch.
    kernel : Kernel or None
        Another kernel on y instead of the Gaussian sum, for example `EnergyKernel`.
    method : {"auto", "pairwise", "fused", "linear"}
        How it is computed. "pairwise" is the readable reference, quadratic in time and memory,
        in float64. "fused" visits the same pairs without a matrix of pairs, in one pass for
        value and gradient: in blocks on a CPU, in one Triton kernel on a CUDA device. "linear",
        for Gaussian kernels, takes time linear in n: exact (1e-12 of a kernel value) for marginal
        matching, and approximate for the other two, through `features` random features of the
        condition. "auto" takes "linear" where that is exact and "fused" elsewhere.
    features : int
        Random features of ``method="linear"`` given a condition; the relative standard error
        of the value is at most ``sqrt(2 / features)``.
    process_group : torch ProcessGroup or None
        Processes of a data-parallel training, for example ``torch.distributed.group.WORLD``. The
        loss is that of the rows of all of them, and its gradients, averaged over the processes,
        are those of one process with all rows. Marginal matching under Gaussian kernels sends
        dozens to thousands of numbers, however many rows there are; every other form its rows.

    Notes
    -----
    "fused" and "linear" treat targets and sample weights as constants and can be differentiated
    once; "auto" takes "pairwise" where one of them requires a gradient. "fused" works in the
    precision of its input and sums in float64. So does marginal matching of float32 input under
    Gaussian kernels on a CUDA device: it keeps about five digits, and rows further apart than
    1,700 roots of the narrowest bandwidth appear nearer than they are. Other devices and float64
    have no such limit.

    On a CUDA device, with input in float32, a Gaussian kernel and a given `condition_bandwidth`,
    "fused" and marginal "linear" never wait for the device, and can be captured in a CUDA graph.

    On a CPU the loops use torch's threads and give them up while other programs keep the cores
    busy, where threads would wait for each other.

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
        process_group: ProcessGroup | None = None,
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
        self.process_group = process_group

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
        path = choose_path(
            self.method,
            self.match,
            self.kernel,
            y,
            needs_grad=any(each is not None and each.requires_grad for each in (y, sample_weight)),
        )

        def mmd(weights: Tensor, means: Tensor, scales: Tensor) -> Tensor:
            prediction = Prediction.of(weights, means, scales, path.dtype)
            z = condition_of(self.match, prediction, x)
            if self.expectation == "sampled":
                prediction = prediction.draw(generator)
            rows = prediction.means.shape[:-1]
            targets = y.to(path.dtype).expand(rows)
            row_weights = y.new_ones(()) if sample_weight is None else sample_weight
            row_weights = row_weights.double().expand(rows)
            diagonal, group = self.statistic == "v", self.process_group
            if group is not None and path.name in ("linear", "linear_triton"):
                value = reduced_mmd(
                    prediction, targets, self.kernel, row_weights, group, diagonal=diagonal
                )
                if value is not None:
                    return value
            if group is not None:
                prediction, targets, row_weights, z = _gathered(
                    prediction, targets, row_weights, z, group
                )
            if z is not None:
                z = scaled_condition(z, self.condition_bandwidth, rows[:-1])
            data = prediction, targets, self.kernel, row_weights, z
            if path.name == "pairwise":
                return pairwise_mmd(*data, diagonal=diagonal)
            return fast_mmd(*data, diagonal=diagonal, path=path, features=self.features)

        normals = normals_of(dist, y)
        return mmd(*normals) if path.name == "pairwise" else on_one_thread(mmd, *normals)


def _gathered(
    prediction: Prediction,
    y: Tensor,
    row_weights: Tensor,
    condition: Tensor | None,
    group: ProcessGroup,
) -> tuple[Prediction, Tensor, Tensor, Tensor | None]:
    """The same of the rows of all processes."""
    dtype, rows = y.dtype, prediction.means.shape[:-1]
    columns = [*prediction, y[..., None], row_weights.to(dtype)[..., None]]
    if condition is not None:
        columns.append(condition.to(dtype).expand(*rows, condition.shape[-1]))
    weights, means, variances, targets, counts, *z = gather_rows(columns, group)
    return (
        Prediction(weights, means, variances),
        targets[..., 0],
        counts[..., 0].double(),
        z[0].double() if z else None,
    )


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")
