"""Whether the Triton kernels of the networks apply."""

from __future__ import annotations

import importlib.util

import torch
from torch import Tensor

_HAS_TRITON = importlib.util.find_spec("triton") is not None


def triton_applies(values: Tensor) -> bool:
    """Whether the Triton kernels apply to these values: float32 on a CUDA device."""
    return values.is_cuda and values.dtype == torch.float32 and _HAS_TRITON
