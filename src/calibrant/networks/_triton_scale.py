"""The bounded scale in Triton: the GPU twin of `_BoundedScale`, in one launch instead of twelve."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 256


@triton.jit(do_not_specialize=["count"])
def _bound(
    log_variances, scales, slopes, count, width, row, column, lowest, highest, BLOCK: tl.constexpr
):
    """``sqrt(e^lowest + e^highest p)`` with ``p = 1 / (1 + e^(highest - s))``, and its slope by s.

    The same as two softplus, one inside the other, with an exponential around them.
    """
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = i < count
    s = tl.load(log_variances + i // width * row + i % width * column, mask=here, other=0.0)
    above = tl.exp(highest) / (1.0 + tl.exp(highest - s))
    scale = tl.sqrt(tl.exp(lowest) + above)
    tl.store(scales + i, scale, mask=here)
    tl.store(slopes + i, 0.5 * above / (1.0 + tl.exp(s - highest)) / scale, mask=here)


def bound_scale(log_variance: Tensor, lowest: float, highest: float) -> tuple[Tensor, Tensor]:
    """Standard deviations of log-variances (..., K) held inside bounds, and their slopes."""
    # A part of the outputs of a network lies between the others: strides, not a copy.
    flat = log_variance.reshape(-1, log_variance.shape[-1])
    scale, slope = log_variance.new_empty(2, *log_variance.shape)
    count = flat.numel()
    _bound[(triton.cdiv(count, _BLOCK),)](
        flat, scale, slope, count, flat.shape[1], *flat.stride(), lowest, highest, BLOCK=_BLOCK
    )
    return scale, slope
