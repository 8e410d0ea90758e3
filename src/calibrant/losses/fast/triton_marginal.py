"""Marginal matching in Triton: the GPU twin of `characteristic`.

All kernels share equidistant frequencies, so that each wave follows from the one before by a
rotation, and sines and exponentials are computed for every sixteenth only. The step and the number
of frequencies follow from the range of the data on the device itself: the host never waits, and a
training step can be captured in a CUDA graph. Every batch has frequencies of its own.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from calibrant.kernels import GaussianKernel
from calibrant.losses.fast.frequencies import TAIL
from calibrant.losses.fast.signed_measure import SignedMeasure

# Enough for rows up to about 1700 roots of the narrowest bandwidth apart. Beyond, distant rows
# appear nearer than they are, since the kernel is periodic; the host can't check without waiting.
_MOST_FREQUENCIES = 2048
_GROUP = 16  # waves that follow from one another before sines are computed again
_ROWS = 256  # positions at a time
_PROGRAMS = 264  # of the first pass, over all batches: two on each multiprocessor of an H200
_LOG2E = 1.0 / math.log(2.0)


@triton.jit
def _wave(turns):
    """Cosine minus 1 and sine of an angle in turns, given in float64, to all digits of float32."""
    # Adding and subtracting 1.5 * 2^52 rounds to the nearest whole turn.
    turns -= (turns + 6755399441055744.0) - 6755399441055744.0
    x = (turns * 3.141592653589793).to(tl.float32)
    t = x * x
    # Sine and cosine of half the angle by least squares, every coefficient rounded to float32
    # before the next was fitted: an error of the same sign in all rows would not average out.
    sine = (-2.4874145e-08 * t + 2.7591348e-06) * t - 0.00019842444
    sine = ((sine * t + 0.008333347) * t - 0.16666667) * t * x + x
    cosine = (-2.6211953e-07 * t + 2.4770297e-05) * t - 0.0013888587
    cosine = ((cosine * t + 0.041666657) * t - 0.5) * t + 1.0
    return -2.0 * sine * sine, 2.0 * sine * cosine


@triton.jit
def _expm1(x, LOG2E: tl.constexpr):
    """``e^x - 1`` for x <= 0, to nearly all digits of float32 also where x is small."""
    near = (((x * (1.0 / 720.0) + 1.0 / 120.0) * x + 1.0 / 24.0) * x + 1.0 / 6.0) * x + 0.5
    return tl.where(x > -0.25, near * x * x + x, tl.exp2(x * LOG2E) - 1.0)


@triton.jit
def _plan(
    ranges, narrowest, widest, PROGRAMS: tl.constexpr, TAIL: tl.constexpr, MOST: tl.constexpr
):
    """Step between frequencies, in turns per unit of distance, and their number."""
    at = tl.arange(0, PROGRAMS)
    reach = tl.max(tl.load(ranges + at), axis=0) - tl.min(tl.load(ranges + PROGRAMS + at), axis=0)
    variance = tl.max(tl.load(ranges + 2 * PROGRAMS + at), axis=0)
    # The kernels are repeated with a period that keeps their copies out of reach.
    period = reach + TAIL * tl.sqrt(widest + 2.0 * variance)
    highest = TAIL / (6.283185307179586 * tl.sqrt(narrowest))
    needed = highest * period
    enough = needed < MOST  # false as well where it is not a number
    count = tl.where(enough, tl.ceil(needed), 1.0 * MOST).to(tl.int32)
    step = tl.where(enough, 1.0 / period, highest / MOST)
    return step.to(tl.float64), count


@triton.jit
def _start(position, variance, step, first, LOG2E: tl.constexpr, DAMPED: tl.constexpr):
    """Wave `first` of every position, the rotation to the next one, and how that changes.

    Whatever is near 1, cosines and the change, is stored minus 1: waves of low frequency hardly
    differ from it, and the exponential of a GPU is off by 1e-7 in every row alike.
    """
    turn = position.to(tl.float64) * step
    cosine, sine = _wave(turn * first)
    on_cosine, on_sine = _wave(turn)
    change = 0.0
    if DAMPED:
        w = 6.283185307179586 * step
        decay = (-0.5 * w * w).to(tl.float32) * variance
        damping = _expm1(decay * (first * first), LOG2E)
        cosine, sine = (cosine + damping) + damping * cosine, sine + damping * sine
        damping = _expm1(decay * (2.0 * first + 1.0), LOG2E)
        on_cosine, on_sine = (
            (on_cosine + damping) + damping * on_cosine,
            on_sine + damping * on_sine,
        )
        change = _expm1(2.0 * decay, LOG2E)
    return cosine, sine, on_cosine, on_sine, change


@triton.jit
def _turn(cosine, sine, on_cosine, on_sine, change, DAMPED: tl.constexpr):
    """Next wave of every position, and the rotation from there; cosines minus 1."""
    turned = (cosine + on_cosine) + cosine * on_cosine - sine * on_sine
    sine = (sine + on_sine) + cosine * on_sine + sine * on_cosine
    if DAMPED:
        on_cosine = (on_cosine + change) + on_cosine * change
        on_sine += on_sine * change
    return turned, sine, on_cosine, on_sine


@triton.jit
def _find_range(
    y, means, variances, ranges, n, normals, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr
):
    """Highest and lowest position and largest variance that each program finds."""
    program, batch = tl.program_id(0), tl.program_id(1)
    high = tl.full([BLOCK], float("-inf"), tl.float32)
    low = tl.full([BLOCK], float("inf"), tl.float32)
    widest = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(program * BLOCK, normals, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        first = tl.load(y + batch * n)
        target = tl.load(y + batch * n + i, mask=i < n, other=0.0)
        target = tl.where(i < n, target, first)
        mean = tl.load(means + batch * normals + i, mask=i < normals, other=0.0)
        mean = tl.where(i < normals, mean, first)
        variance = tl.load(variances + batch * normals + i, mask=i < normals, other=0.0)
        high = tl.maximum(high, tl.maximum(target, mean))
        low = tl.minimum(low, tl.minimum(target, mean))
        widest = tl.maximum(widest, variance)
    out = ranges + batch * 3 * PROGRAMS + program
    tl.store(out, tl.max(high, axis=0))
    tl.store(out + PROGRAMS, tl.min(low, axis=0))
    tl.store(out + 2 * PROGRAMS, tl.max(widest, axis=0))


@triton.jit
def _add_waves(
    sums, position, variance, mass, step, first,
    GROUP: tl.constexpr, LOG2E: tl.constexpr, DAMPED: tl.constexpr,
):  # fmt: skip
    """Add the waves from `first` on, times the masses, to alternating sums of cosines and sines."""
    cosine, sine, on_cosine, on_sine, change = _start(
        position, variance, step, first, LOG2E, DAMPED
    )
    added = ()
    for wave in tl.static_range(GROUP):
        pair = sums[2 * wave] + mass * cosine, sums[2 * wave + 1] + mass * sine
        added += pair  # type: ignore[assignment]
        cosine, sine, on_cosine, on_sine = _turn(cosine, sine, on_cosine, on_sine, change, DAMPED)
    return added


@triton.jit
def _transform(
    y, y_masses, means, variances, masses, ranges, sums, n, normals, narrowest, widest,
    PROGRAMS: tl.constexpr, ROWS: tl.constexpr, GROUP: tl.constexpr, MOST: tl.constexpr,
    TAIL: tl.constexpr, LOG2E: tl.constexpr,
):  # fmt: skip
    """Characteristic function of the measure, a share of the positions for each program.

    A lane sums its own rows; sums over lanes are taken once for every group of waves.
    """
    program, batch = tl.program_id(0), tl.program_id(1)
    step, count = _plan(ranges + batch * 3 * PROGRAMS, narrowest, widest, PROGRAMS, TAIL, MOST)
    own = sums + (batch * tl.num_programs(0) + program) * 2 * MOST
    for node in range(0, count, GROUP):
        first = node + 1.0
        # Cosines minus 1: the ones add up to 0 over targets and normals.
        added = (tl.zeros([ROWS], dtype=tl.float32),) * (2 * GROUP)
        for start in range(program * ROWS, n, tl.num_programs(0) * ROWS):
            i = start + tl.arange(0, ROWS)
            position = tl.load(y + batch * n + i, mask=i < n, other=0.0)
            mass = tl.load(y_masses + batch * n + i, mask=i < n, other=0.0)
            added = _add_waves(added, position, 0.0, mass, step, first, GROUP, LOG2E, False)
        for start in range(program * ROWS, normals, tl.num_programs(0) * ROWS):
            i = start + tl.arange(0, ROWS)
            at = batch * normals + i
            position = tl.load(means + at, mask=i < normals, other=0.0)
            variance = tl.load(variances + at, mask=i < normals, other=0.0)
            mass = tl.load(masses + at, mask=i < normals, other=0.0)
            added = _add_waves(added, position, variance, mass, step, first, GROUP, LOG2E, True)
        for wave in tl.static_range(GROUP):
            at = own + node + wave
            tl.store(at, tl.sum(added[2 * wave].to(tl.float64), axis=0))
            tl.store(at + MOST, tl.sum(added[2 * wave + 1].to(tl.float64), axis=0))


@triton.jit
def _power(
    sums, ranges, bandwidths, roots, coefficients, values, slots, narrowest, widest,
    PROGRAMS: tl.constexpr, SLOTS: tl.constexpr, GROUP: tl.constexpr, COUNT: tl.constexpr,
    MOST: tl.constexpr, TAIL: tl.constexpr,
):  # fmt: skip
    """Sum over programs, its weighted squares, and the factors of the waves in the gradient."""
    batch = tl.program_id(1)
    step, count = _plan(ranges + batch * 3 * PROGRAMS, narrowest, widest, PROGRAMS, TAIL, MOST)
    node = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    cosine = tl.zeros([GROUP], dtype=tl.float64)
    sine = tl.zeros([GROUP], dtype=tl.float64)
    if tl.program_id(0) * GROUP < count:
        for start in range(0, slots, SLOTS):
            slot = start + tl.arange(0, SLOTS)
            at = sums + (batch * slots + slot)[:, None] * 2 * MOST + node[None, :]
            there = (slot < slots)[:, None]
            cosine += tl.sum(tl.load(at, mask=there, other=0.0), axis=0)
            sine += tl.sum(tl.load(at + MOST, mask=there, other=0.0), axis=0)
    w_step = 6.283185307179586 * step
    w = (node + 1).to(tl.float64) * w_step
    weight = tl.zeros([GROUP], dtype=tl.float64)
    for i in tl.static_range(COUNT):
        weight += roots[i] * tl.exp(-0.5 * bandwidths[i] * w * w)
    # Both signs of a frequency, and the density of a normal: 2 / sqrt(2 pi).
    weight = tl.where(node < count, 0.7978845608028654 * w_step * weight, 0.0)
    at = coefficients + batch * 2 * MOST + node
    tl.store(at, (weight * cosine).to(tl.float32))
    tl.store(at + MOST, (weight * sine).to(tl.float32))
    value = tl.sum(weight * (cosine * cosine + sine * sine), axis=0)
    tl.store(values + batch * tl.num_programs(0) + tl.program_id(0), value)


@triton.jit
def _gather(
    means, variances, masses, ranges, coefficients, upstream, by_mean, by_variance, by_mass,
    normals, narrowest, widest, PROGRAMS: tl.constexpr, ROWS: tl.constexpr, GROUP: tl.constexpr,
    MOST: tl.constexpr, TAIL: tl.constexpr, LOG2E: tl.constexpr, BY_MASS: tl.constexpr,
):  # fmt: skip
    """Gradients of mean, variance and, if `BY_MASS`, mass."""
    batch = tl.program_id(1)
    step, count = _plan(ranges + batch * 3 * PROGRAMS, narrowest, widest, PROGRAMS, TAIL, MOST)
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    here = i < normals
    at = batch * normals + i
    mean = tl.load(means + at, mask=here, other=0.0)
    variance = tl.load(variances + at, mask=here, other=0.0)
    sum_mass = tl.zeros([ROWS], dtype=tl.float32)
    sum_mean = tl.zeros([ROWS], dtype=tl.float32)
    sum_variance = tl.zeros([ROWS], dtype=tl.float32)
    coefficients += batch * 2 * MOST
    for node in range(0, count, GROUP):
        first = node + 1.0
        cosine, sine, on_cosine, on_sine, change = _start(mean, variance, step, first, LOG2E, True)
        for wave in tl.static_range(GROUP):
            with_cosine = tl.load(coefficients + node + wave)
            with_sine = tl.load(coefficients + MOST + node + wave)
            number = first + wave
            along = with_cosine * cosine + with_cosine + with_sine * sine
            if BY_MASS:
                sum_mass += along
            across = with_sine * cosine + with_sine - with_cosine * sine
            sum_mean += number * across
            sum_variance += number * number * along
            cosine, sine, on_cosine, on_sine = _turn(cosine, sine, on_cosine, on_sine, change, True)
    twice = 2.0 * tl.load(upstream + batch).to(tl.float32)
    if BY_MASS:
        tl.store(by_mass + at, twice * sum_mass, mask=here)
    w = 6.283185307179586 * step.to(tl.float32)
    factor = twice * w * tl.load(masses + at, mask=here, other=0.0)
    tl.store(by_mean + at, factor * sum_mean, mask=here)
    tl.store(by_variance + at, -0.5 * w * factor * sum_variance, mask=here)


def triton_mmd(measure: SignedMeasure, kernel: GaussianKernel) -> Tensor:
    """Squared MMD of the marginals, V-statistic, (B,), in one pass, and one for the gradient.

    Waves in float32, sums over lanes in float64: values keep five digits. At most 2048 frequencies.
    """
    y, y_masses, means, variances, masses = (part.flatten(1).contiguous() for part in measure)
    h = kernel.bandwidths
    value: Tensor = _Marginal.apply(means, variances, masses, y, y_masses, h)
    return value


class _Marginal(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        means: Tensor,
        variances: Tensor,
        masses: Tensor,
        y: Tensor,
        y_masses: Tensor,
        bandwidths: tuple[float, ...],
    ) -> Tensor:
        (batches, n), normals = y.shape, means.shape[1]
        ends = min(bandwidths), max(bandwidths)
        rule = {"MOST": _MOST_FREQUENCIES, "TAIL": TAIL}
        # Every program of every pass reads all ranges: few of them, a power of 2.
        block = 1024
        programs = min(128, triton.next_power_of_2(triton.cdiv(normals, block)))
        ranges = torch.empty(batches, 3, programs, device=y.device)
        _find_range[(programs, batches)](
            y, means, variances, ranges, n, normals, PROGRAMS=programs, BLOCK=block
        )
        rule["PROGRAMS"] = programs
        slots = min(triton.cdiv(max(n, normals), _ROWS), max(1, _PROGRAMS // batches))
        shape = batches, slots, 2, _MOST_FREQUENCIES
        sums = torch.empty(shape, dtype=torch.float64, device=y.device)
        _transform[(slots, batches)](
            y, y_masses, means, variances, masses, ranges, sums, n, normals, *ends,
            ROWS=_ROWS, GROUP=_GROUP, LOG2E=_LOG2E, **rule,
        )  # fmt: skip
        roots = tuple(math.sqrt(h) for h in bandwidths)
        coefficients = torch.empty(batches, 2, _MOST_FREQUENCIES, device=y.device)
        values = torch.empty(
            batches, _MOST_FREQUENCIES // _GROUP, dtype=torch.float64, device=y.device
        )
        _power[(_MOST_FREQUENCIES // _GROUP, batches)](
            sums, ranges, bandwidths, roots, coefficients, values, slots, *ends,
            SLOTS=min(128, triton.next_power_of_2(slots)), GROUP=_GROUP, COUNT=len(bandwidths),
            **rule,
        )  # fmt: skip
        ctx.save_for_backward(means, variances, masses, ranges, coefficients)
        ctx.rule = ends, rule
        return values.sum(dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        means, variances, masses, ranges, coefficients = ctx.saved_tensors
        ends, rule = ctx.rule
        batches, normals = means.shape
        with_mass = ctx.needs_input_grad[2]
        gradients = [torch.empty_like(means) for _ in range(2 + with_mass)]
        by_mean, by_variance, by_mass = *gradients[:2], gradients[-1]
        _gather[(triton.cdiv(normals, _ROWS), batches)](
            means, variances, masses, ranges, coefficients, upstream[0].contiguous(),
            by_mean, by_variance, by_mass, normals, *ends,
            ROWS=_ROWS, GROUP=_GROUP, LOG2E=_LOG2E, BY_MASS=with_mass, **rule,
        )  # fmt: skip
        return by_mean, by_variance, by_mass if with_mass else None, None, None, None
