"""Bounded scale in Triton: the GPU twin of `bounded_scale`, in one launch instead of twelve."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 256


@triton.jit(do_not_specialize=["count"])
def _bound(
    log_variances, scales, grads, count, width, row, column, lowest, highest, BLOCK: tl.constexpr
):
    """``sqrt(e^lowest + e^highest p)``, ``p = 1 / (1 + e^(highest - s))``, and its derivative.

    This is the exponential of a softplus of a softplus.
    """
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = i < count
    s = tl.load(log_variances + i // width * row + i % width * column, mask=here, other=0.0)
    above = tl.exp(highest) / (1.0 + tl.exp(highest - s))
    scale = tl.sqrt(tl.exp(lowest) + above)
    tl.store(scales + i, scale, mask=here)
    tl.store(grads + i, 0.5 * above / (1.0 + tl.exp(s - highest)) / scale, mask=here)


def bound_scale(log_variance: Tensor, lowest: float, highest: float) -> tuple[Tensor, Tensor]:
    """Standard deviations of log-variances (..., K) within bounds, and their derivatives."""
    # The log-variances are some columns of the outputs: strides avoid a copy.
    flat = log_variance.reshape(-1, log_variance.shape[-1])
    scale, grad = log_variance.new_empty(2, *log_variance.shape)
    count = flat.numel()
    _bound[(triton.cdiv(count, _BLOCK),)](
        flat, scale, grad, count, flat.shape[1], *flat.stride(), lowest, highest, BLOCK=_BLOCK
    )
    return scale, grad
