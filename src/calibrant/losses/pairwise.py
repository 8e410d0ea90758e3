"""The readable reference: all pairs of rows as a matrix, in float64.

Every fast path in `losses/fast` is tested against it, values and gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant.kernels import Kernel, condition_kernel
from calibrant.losses.prediction import Prediction


def pairwise_mmd(
    prediction: Prediction,
    y: Tensor,
    kernel: Kernel,
    row_weights: Tensor,
    condition: Tensor | None,
    *,
    diagonal: bool,
) -> Tensor:
    """Squared MMD, a weighted mean of `pair_terms`, (...); quadratic in time and memory.

    Parameters
    ----------
    prediction : Prediction of shape (..., n, K)
    y, row_weights : tensors of shape (..., n)
    condition : tensor of shape (..., n, d), in units of the root of its bandwidth
    diagonal : bool
        With the terms i = j (V-statistic) or without them (U-statistic).
    """
    terms = pair_terms(prediction, y, kernel)  # (..., n, n)
    weights = row_weights[..., :, None] * row_weights[..., None, :]
    if not diagonal:
        weights = weights - torch.diag_embed(weights.diagonal(dim1=-2, dim2=-1))
    total = weights.sum(dim=(-2, -1))
    if condition is not None:
        weights = weights * condition_kernel(condition)
    # A batch of one row has no pairs: its U-statistic is 0.
    positive = total.clamp_min(torch.finfo(torch.float64).tiny)
    return (weights * terms).sum(dim=(-2, -1)) / positive


def pair_terms(prediction: Prediction, y: Tensor, kernel: Kernel) -> Tensor:
    """``k(y_i, y_j) - E k(Y_i, y_j) - E k(y_i, Y_j) + E k(Y_i, Y_j)`` of all pairs, (..., n, n)."""
    w, m, v = prediction
    target = y.double()
    zero = torch.zeros((), dtype=torch.float64, device=y.device)
    targets = kernel.expectation(target[..., :, None] - target[..., None, :], zero)
    mixed = kernel.expectation(m[..., None] - target[..., None, None, :], v[..., None])
    mixed = torch.einsum("...ia,...iaj->...ij", w, mixed)
    # (n, K, 1, 1) against (n, K): all pairs of components of all pairs of rows
    predicted = kernel.expectation(
        m[..., None, None] - m[..., None, None, :, :], v[..., None, None] + v[..., None, None, :, :]
    )
    predicted = torch.einsum("...ia,...iajb,...jb->...ij", w, predicted, w)
    return targets - mixed - mixed.mT + predicted


def row_scores(prediction: Prediction, y: Tensor, kernel: Kernel) -> Tensor:
    """``k(y, y) - 2 E k(Y, y) + E k(Y, Y')`` per row, (..., n): the diagonal of `pair_terms`."""
    w, m, v = prediction
    target = y.to(m.dtype)[..., None]
    zero = torch.zeros((), dtype=m.dtype, device=y.device)
    to_target = (w * kernel.expectation(m - target, v)).sum(dim=-1)
    among = kernel.expectation(m[..., :, None] - m[..., None, :], v[..., :, None] + v[..., None, :])
    within = torch.einsum("...a,...ab,...b->...", w, among, w)
    return kernel.expectation(zero, zero) - 2.0 * to_target + within
