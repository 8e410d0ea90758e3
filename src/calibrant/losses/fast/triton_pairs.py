"""The pass over all pairs in Triton: the GPU twin of `fused.sum_pairs`.

A program owns a block of columns, one component of some rows, and visits a range of rows. Pairs of
targets and pairs of normals are symmetric: for them only rows before the end of the block are
visited, and their sums are added to as well. For m bandwidths a pair of rows thus costs one
exponential for the condition, m / 2 for the targets, m for a target and a normal, and m / 2 with
as many reciprocal roots for the normals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from calibrant.kernels import GaussianKernel
from calibrant.losses.fast.fused import Sums
from calibrant.losses.fast.signed_measure import SignedMeasure

_EXPONENT = -0.5 / math.log(2.0)  # exp(-x / 2) = 2 ** (_EXPONENT x), which a GPU has in hardware


class Tiles(NamedTuple):
    """How the pairs are divided among programs."""

    columns: int  # of a program
    rows: int  # visited at a time, a divisor of `columns`
    each: int  # rows that a program visits in all, a multiple of `rows`
    warps: int


_LARGE = Tiles(columns=128, rows=8, each=1024, warps=4)
_SMALL = Tiles(columns=32, rows=8, each=32, warps=1)  # many programs for few rows
_FEW = 1 << 22  # pairs of one launch below which large tiles would make too few programs


@triton.jit
def _value_and_grad(
    distance, variance, bandwidths, roots, COUNT: tl.constexpr, EXPONENT: tl.constexpr
):
    """Sums over the bandwidths of e, q e and q^2 e, as in `GaussianKernel.value_and_grad`.

    `variance` may be a single row of the tile, which costs one root per column.
    """
    scaled = distance * distance * EXPONENT
    value = tl.zeros_like(distance)
    sum_qe = tl.zeros_like(distance)
    sum_qqe = tl.zeros_like(distance)
    for i in tl.static_range(COUNT):
        root = tl.rsqrt(bandwidths[i] + variance)
        q = root * root
        size = root * roots[i]
        e = tl.exp2(scaled * q)
        value += size * e
        sum_qe += size * q * e
        sum_qqe += size * q * q * e
    return value, sum_qe, sum_qqe


@triton.jit
def _rounded(value, grain):
    """Round to a multiple of a power of 2: sums are then exact, and independent of their order."""
    return (value + grain) - grain


@triton.jit
def _sum_tiles(
    y, y_masses, means, variances, masses, z, bandwidths, roots, targets_out, value_out, mean_out,
    variance_out, rows, each, value_grain, mean_grain, variance_grain,
    K: tl.constexpr, DIMENSIONS: tl.constexpr, COUNT: tl.constexpr, DIAGONAL: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, EXPONENT: tl.constexpr,
):  # fmt: skip
    # The last columns visit most rows, so they start first.
    block = tl.num_programs(0) // K - 1 - tl.program_id(0) // K
    component = tl.program_id(0) % K
    batch = tl.program_id(2)
    y += batch * rows
    y_masses += batch * rows
    z += batch * DIMENSIONS * rows
    normals = batch * rows * K  # offset of this batch
    j = block * COLUMNS + tl.arange(0, COLUMNS)
    there = j < rows
    own = normals + j * K + component
    target = tl.load(y + j, mask=there, other=0.0)
    target_mass = tl.load(y_masses + j, mask=there, other=0.0)
    mean = tl.load(means + own, mask=there, other=0.0)
    variance = tl.load(variances + own, mask=there, other=1.0)
    mass = tl.load(masses + own, mask=there, other=0.0)

    # In float32 within a tile, in float64 over the tiles: the sums of a wide kernel are large
    # numbers that nearly cancel.
    points = tl.zeros([COLUMNS], dtype=tl.float64)
    mixed_sum = tl.zeros([COLUMNS], dtype=tl.float64)
    value_sum = tl.zeros([COLUMNS], dtype=tl.float64)
    mean_sum = tl.zeros([COLUMNS], dtype=tl.float64)
    variance_sum = tl.zeros([COLUMNS], dtype=tl.float64)
    first = tl.program_id(1) * each
    for start in range(first, tl.minimum(first + each, rows), ROWS):
        i = start + tl.arange(0, ROWS)
        here = i < rows
        apart = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
        for axis in range(DIMENSIONS):
            mine = tl.load(z + axis * rows + j, mask=there, other=0.0)
            theirs = tl.load(z + axis * rows + i, mask=here, other=0.0)
            along = mine[None, :] - theirs[:, None]
            apart += along * along
        near = tl.exp2(apart * EXPONENT)
        if not DIAGONAL:
            near = tl.where(i[:, None] == j[None, :], 0.0, near)
        row_target = tl.load(y + i, mask=here, other=0.0)
        weight = near * tl.load(y_masses + i, mask=here, other=0.0)[:, None]

        # Targets of the rows and normals of the columns.
        distance = mean[None, :] - row_target[:, None]
        value, sum_qe, sum_qqe = _value_and_grad(
            distance, variance[None, :], bandwidths, roots, COUNT, EXPONENT
        )
        by_variance = sum_qqe * distance * distance - sum_qe
        mixed_sum += tl.sum(weight * value, axis=0).to(tl.float64)
        tile_mean = tl.sum(weight * sum_qe * distance, axis=0)
        tile_variance = tl.sum(weight * by_variance, axis=0)

        if start < (block + 1) * COLUMNS:
            before = start < block * COLUMNS  # else a tile holds its pairs in both orders
            if component == 0:
                distance = target[None, :] - row_target[:, None]
                scaled = distance * distance * EXPONENT
                value = tl.zeros_like(scaled)
                for h in tl.static_range(COUNT):
                    value += tl.exp2(scaled * (1.0 / bandwidths[h]))
                twice = tl.where(before, 2.0, 1.0)
                points += (twice * tl.sum(weight * value, axis=0)).to(tl.float64)
            for other in range(K):
                theirs = normals + i * K + other
                row_mean = tl.load(means + theirs, mask=here, other=0.0)
                row_variance = tl.load(variances + theirs, mask=here, other=1.0)
                row_mass = tl.load(masses + theirs, mask=here, other=0.0)
                distance = mean[None, :] - row_mean[:, None]
                both = variance[None, :] + row_variance[:, None]
                value, sum_qe, sum_qqe = _value_and_grad(
                    distance, both, bandwidths, roots, COUNT, EXPONENT
                )
                by_mean = sum_qe * distance
                by_variance = sum_qqe * distance * distance - sum_qe
                gained = near * row_mass[:, None]
                value_sum += tl.sum(gained * value, axis=0).to(tl.float64)
                tile_mean += tl.sum(gained * by_mean, axis=0)
                tile_variance += tl.sum(gained * by_variance, axis=0)
                if before:
                    given = near * mass[None, :]
                    rows_value = tl.sum(given * value, axis=1).to(tl.float64)
                    rows_mean = tl.sum(given * by_mean, axis=1).to(tl.float64)
                    rows_variance = 0.5 * tl.sum(given * by_variance, axis=1).to(tl.float64)
                    tl.atomic_add(value_out + theirs, _rounded(rows_value, value_grain), mask=here)
                    tl.atomic_add(mean_out + theirs, _rounded(rows_mean, mean_grain), mask=here)
                    tl.atomic_add(
                        variance_out + theirs, _rounded(rows_variance, variance_grain), mask=here
                    )
        mean_sum -= tile_mean.to(tl.float64)
        variance_sum += 0.5 * tile_variance.to(tl.float64)

    tl.atomic_add(value_out + own, _rounded(mixed_sum + value_sum, value_grain), mask=there)
    tl.atomic_add(mean_out + own, _rounded(mean_sum, mean_grain), mask=there)
    tl.atomic_add(variance_out + own, _rounded(variance_sum, variance_grain), mask=there)
    of_targets = tl.sum(target_mass * points + mass * mixed_sum, axis=0)
    tl.atomic_add(targets_out + batch, _rounded(of_targets, value_grain))


def sum_pairs(
    measure: SignedMeasure, kernel: GaussianKernel, condition: Tensor | None, diagonal: bool
) -> Sums:
    """All sums, in float64, of kernel values in float32. The host never waits."""
    y, y_masses, means, variances, masses = (_ready(part) for part in measure)
    batches, rows, k = means.shape
    # Axis by axis, so that neighbouring rows are adjacent in memory; no condition has no axis.
    z = y if condition is None else _ready(condition.mT)
    dimensions = 0 if condition is None else condition.shape[-1]
    tiles = _SMALL if batches * rows * rows * k < _FEW else _LARGE
    # One buffer to clear: the sum of the targets, then three sums for every normal.
    out = torch.zeros(batches * (1 + 3 * rows * k), dtype=torch.float64, device=y.device)
    targets, *sums = out.tensor_split([batches, *(batches * (1 + c * rows * k) for c in (1, 2))])
    blocks = triton.cdiv(rows, tiles.columns)
    h = kernel.bandwidths
    _sum_tiles[(blocks * k, triton.cdiv(rows, tiles.each), batches)](
        y, y_masses, means, variances, masses, z, h, tuple(math.sqrt(each) for each in h),
        targets, *sums, rows, tiles.each,
        # Upper bounds of a sum over masses of 1 and of -1.
        _grain(2.0 * len(h)), _grain(sum(2.0 / math.sqrt(each) for each in h)),
        _grain(sum(1.0 / each for each in h)),
        K=k, DIMENSIONS=dimensions, COUNT=len(h), DIAGONAL=diagonal, ROWS=tiles.rows,
        COLUMNS=tiles.columns, EXPONENT=_EXPONENT, num_warps=tiles.warps,
    )  # fmt: skip
    value, by_mean, by_variance = (each.view(batches, rows, k) for each in sums)
    return Sums(targets, (value, by_mean, by_variance))


def _grain(bound: float) -> float:
    """Number whose addition and subtraction rounds to a multiple of ``2^-51`` of the bound."""
    return float(3.0 * 2.0 ** math.ceil(math.log2(bound)))


def _ready(values: Tensor) -> Tensor:
    return values.detach().to(torch.float32).contiguous()
