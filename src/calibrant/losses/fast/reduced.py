"""Marginal matching over several processes: only the means of its features are communicated."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.distributed import ProcessGroup

from calibrant.kernels import GaussianKernel, Kernel
from calibrant.losses.fast.characteristic import characteristic_of_normals
from calibrant.losses.fast.frequencies import as_tensors, count_frequencies, gaussian_frequencies
from calibrant.losses.fast.signed_measure import Extent, u_statistic
from calibrant.losses.pairwise import row_scores
from calibrant.losses.prediction import Prediction
from calibrant.losses.processes import max_over_processes, sum_over_processes

_MOST_FREQUENCIES = 10_000  # of all kernels; with more, sending the rows is no worse


def reduced_mmd(
    prediction: Prediction,
    y: Tensor,
    kernel: Kernel,
    row_weights: Tensor,
    group: ProcessGroup,
    *,
    diagonal: bool,
) -> Tensor | None:
    """Squared MMD of the marginals of the rows of all processes, (...).

    The characteristic functions of targets and predictions are means over rows, so that processes
    add up theirs. None if the kernels are too narrow for their frequencies to be few.

    Parameters
    ----------
    prediction : Prediction of shape (..., n, K)
    y, row_weights : tensors of shape (..., n)
    kernel : GaussianKernel
    diagonal : bool
        V-statistic, or U-statistic without the pairs i = j.
    """
    bandwidths = cast(GaussianKernel, kernel).bandwidths
    *batches, n, k = prediction.means.shape
    prediction = Prediction(*(part.double().reshape(-1, n, k) for part in prediction))
    y, row_weights = (part.detach().double().reshape(-1, n) for part in (y, row_weights))
    low, extent = _extent(prediction, y, group)
    if sum(count_frequencies(h, extent) for h in bandwidths) > _MOST_FREQUENCIES:
        return None
    w, weights = as_tensors([gaussian_frequencies(h, extent) for h in bandwidths], y.device)
    sums = torch.stack([row_weights.sum(dim=1), row_weights.square().sum(dim=1)], dim=1)
    total, squares = sum_over_processes(sums, group).unbind(dim=1)  # (B,) each
    shares = row_weights / torch.where(total > 0, total, 1.0)[:, None]
    # Targets are normals of variance 0.
    positions = torch.cat([y, prediction.means.flatten(1)], dim=1) - low[:, None]
    variances = torch.cat([torch.zeros_like(y), prediction.variances.flatten(1)], dim=1)
    masses = torch.cat([shares, -(shares[..., None] * prediction.weights).flatten(1)], dim=1)
    features = list(characteristic_of_normals(positions, variances, masses, w))
    if not diagonal:
        scores = row_scores(prediction, y, kernel)
        features.append((shares.square() * scores).sum(dim=1, keepdim=True))
    means = sum_over_processes(torch.cat(features, dim=1), group)
    value = (weights.repeat(2) * means[:, : 2 * len(w)].square()).sum(dim=1)
    if not diagonal:
        value = u_statistic(value - means[:, -1], total, squares)
    return value.view(batches)


@torch.no_grad()
def _extent(prediction: Prediction, y: Tensor, group: ProcessGroup) -> tuple[Tensor, Extent]:
    """Lowest position of each batch, (B,), and the largest extent, over all processes."""
    means, variances = prediction.means.flatten(1), prediction.variances.flatten(1)
    low = torch.minimum(y.amin(dim=1), means.amin(dim=1))
    high = torch.maximum(y.amax(dim=1), means.amax(dim=1))
    largest = max_over_processes(torch.stack([-low, high, variances.amax(dim=1)]), group)
    finite = largest.isfinite().all(dim=0)
    low, high, variance = torch.where(finite, largest, 0.0).unbind()
    return -low, Extent(float((high + low).max()), float(variance.max()))
