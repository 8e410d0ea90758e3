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
    """Whether there is a Triton that carries tuples through loops, as 3.3 is the first to do."""
    if importlib.util.find_spec("triton") is None:
        return False
    from triton import __version__

    return tuple(map(int, __version__.split(".")[:2])) >= (3, 3)
