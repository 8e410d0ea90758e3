"""Which numbers are the business of the networks' own kernels for GPUs."""

from __future__ import annotations

import importlib.util

import torch
from torch import Tensor

_HAS_TRITON = importlib.util.find_spec("triton") is not None


def in_triton(values: Tensor) -> bool:
    """Whether Triton takes numbers like these: float32 on a CUDA device."""
    return values.is_cuda and values.dtype == torch.float32 and _HAS_TRITON
