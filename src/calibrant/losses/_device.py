"""Which numbers are the business of the kernels written for GPUs."""

from __future__ import annotations

import importlib.util
from functools import cache

import torch
from torch import Tensor


def in_triton(values: Tensor) -> bool:
    """Whether Triton takes numbers like these: on a CUDA device and not in float64."""
    return values.device.type == "cuda" and values.dtype != torch.float64 and _has_triton()


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None
