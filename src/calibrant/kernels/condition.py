"""Kernels on what the prediction is conditioned on."""

from __future__ import annotations

import torch
from torch import Tensor


def condition_kernel(z: Tensor, bandwidth: float) -> Tensor:
    """``K(z, z') = exp(-|z - z'|^2 / (2 bandwidth))`` for all pairs.

    Parameters
    ----------
    z : tensor of shape (..., n, d)
    bandwidth : float
        In squared units of z.

    Returns
    -------
    tensor of shape (..., n, n)
    """
    return torch.exp(-0.5 * torch.cdist(z, z).square() / bandwidth)
