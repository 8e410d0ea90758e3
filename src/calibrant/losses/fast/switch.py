"""The switch between the reference and its fast twins, the only place that chooses.

| path | computes | cost | where |
|---|---|---|---|
| `pairwise` | anything, the reference | n^2 time and memory | any device |
| `fused` | any kernel and condition | n^2 time, n memory | any device |
| `fused_triton` | Gaussian kernels, any condition | as `fused` | CUDA, not float64 |
| `linear` | marginal matching, Gaussian kernels | n | any device |
| `linear_triton` | marginal matching, Gaussian kernels | n | CUDA, not float64 |
| `features` | Gaussian kernels given a condition, approximately | n | any device, on request |
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from calibrant.errors import ParameterError
from calibrant.kernels import GaussianKernel, Kernel
from calibrant.losses.condition import Match

Method = Literal["auto", "pairwise", "fused", "linear"]
Name = Literal["pairwise", "fused", "fused_triton", "linear", "linear_triton", "features"]


class Path(NamedTuple):
    """How a matching loss is computed."""

    name: Name
    dtype: torch.dtype  # of the arithmetic; sums over rows are in float64


def choose_path(
    method: Method, match: Match, kernel: Kernel, y: Tensor, *, needs_grad: bool
) -> Path:
    """Path of a method for the data at hand; "auto" takes the fastest exact one.

    Parameters
    ----------
    needs_grad : bool
        Whether targets or sample weights require a gradient, which only the reference has.
    """
    gaussian, marginal = isinstance(kernel, GaussianKernel), match == "marginal"
    if method == "auto":
        method = "pairwise" if needs_grad else "linear" if marginal and gaussian else "fused"
    if method == "pairwise":
        return Path("pairwise", torch.float64)
    in_triton = gaussian and triton_applies(y)
    own_dtype = torch.promote_types(y.dtype, torch.float32)
    if method == "fused":
        return Path("fused_triton" if in_triton else "fused", own_dtype)
    if not gaussian:
        raise ParameterError(
            f'method="linear" needs Gaussian kernels, got {type(kernel).__name__}. '
            'Use method="fused".'
        )
    if not marginal:
        return Path("features", torch.float64)
    return Path("linear_triton", own_dtype) if in_triton else Path("linear", torch.float64)


def triton_applies(values: Tensor) -> bool:
    """Whether the Triton kernels apply: on a CUDA device, not in float64, Triton installed."""
    return values.device.type == "cuda" and values.dtype != torch.float64 and _has_triton()


@cache
def _has_triton() -> bool:
    """Whether Triton is installed; 3.3 is the first version with tuples in loops."""
    if importlib.util.find_spec("triton") is None:
        return False
    from triton import __version__

    return tuple(map(int, __version__.split(".")[:2])) >= (3, 3)
