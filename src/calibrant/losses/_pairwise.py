"""The readable reference: all pairs at once, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from calibrant.kernels import Kernel, condition_kernel
from calibrant.losses._prediction import Prediction, compare_rows


def pairwise(
    prediction: Prediction,
    y: Tensor,
    kernel: Kernel,
    counts: Tensor,
    condition: Tensor | None,
    *,
    diagonal: bool,
) -> Tensor:
    """Weighted mean over pairs of rows of the compared kernels, (...), quadratic in n.

    Parameters
    ----------
    prediction : Prediction of shape (..., n, K)
    y, counts : tensors of shape (..., n)
    condition : tensor of shape (..., n, d), in units of the root of its bandwidth
    diagonal : bool
        With the terms i = j (V-statistic) or without (U-statistic).
    """
    pairs = compare_rows(prediction, y, kernel)  # (..., n, n), float64
    weights = counts[..., :, None] * counts[..., None, :]
    if not diagonal:
        weights = weights - torch.diag_embed(weights.diagonal(dim1=-2, dim2=-1))
    total = weights.sum(dim=(-2, -1))
    if condition is not None:
        weights = weights * condition_kernel(condition)
    # A batch of one row has no pairs: its U-statistic is 0.
    some = total.clamp_min(torch.finfo(torch.float64).tiny)
    return (weights * pairs).sum(dim=(-2, -1)) / some
