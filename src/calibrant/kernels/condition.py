"""The kernel on the condition of a prediction, such as its input."""

from __future__ import annotations

import torch
from torch import Tensor


def condition_kernel(z: Tensor, rows: slice | None = None) -> Tensor:
    """``K(z, z') = exp(-|z - z'|^2 / 2)`` for all pairs.

    Parameters
    ----------
    z : tensor of shape (..., n, d)
        In units of the root of its bandwidth.
    rows : slice, optional
        The rows to compare with all rows; default all.

    Returns
    -------
    tensor of shape (..., rows, n)
    """
    left = z if rows is None else z[..., rows, :]
    return torch.exp(-0.5 * torch.cdist(left, z).square())
