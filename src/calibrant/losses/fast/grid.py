"""Marginal matching with narrow kernels, in linear time: a fast Gauss transform on a grid.

A Gaussian kernel is the overlap of two Gaussians of half its width, so with
``S(x) = sum_P a_P N(x; p_P, v_P + h / 2)`` over targets and predictions::

    MMD^2 = sqrt(2 pi h) integral S(x)^2 dx

One grid serves several kernels: in the Fourier transform of the signal of the narrowest one the
others differ by a factor. A point spreads over a few cells whatever n is. Wide predictions would
cover many cells but have few frequencies: those are added to the transform of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from calibrant.kernels import GaussianKernel
from calibrant.losses.fast.characteristic import characteristic_of_normals
from calibrant.losses.fast.chunks import Chunks, sum_over_chunks
from calibrant.losses.fast.frequencies import TAIL
from calibrant.losses.fast.fused import fused_mmd
from calibrant.losses.fast.signed_measure import Extent, SignedMeasure

_ELEMENTS = 1 << 20  # of one temporary
_FAR = 4.0  # ranges of a kernel beyond which gaps between rows are closed
_ALIKE = 8.0  # largest ratio between the ranges of kernels on one grid
_MOST_CELLS = 1 << 24  # 128 MiB per signal; beyond, all pairs are visited
_WIDE = 4.0  # predictions of this many bandwidths of variance have no high frequencies


def kernel_range(bandwidth: float, variance: float) -> float:
    """Distance beyond which the kernel between predictions of at most this variance is 0."""
    return TAIL * math.sqrt(bandwidth + 2.0 * variance)


def on_one_grid(bandwidths: Sequence[float], variance: float) -> list[float]:
    """Bandwidths that the grid of the narrowest one serves without growing much."""
    most = _ALIKE * kernel_range(min(bandwidths), variance)
    return [h for h in bandwidths if kernel_range(h, variance) <= most]


def grid_mmd(measure: SignedMeasure, bandwidths: Sequence[float], extent: Extent) -> Tensor:
    """Squared MMD of the sum of Gaussian kernels, V-statistic, (B,), exact to about 1e-12.

    Parameters
    ----------
    bandwidths : sequence of float
        The h of ``exp(-d^2 / (2 h))``.
    """
    measure = SignedMeasure(*(part.double() for part in measure))
    distance, gap = extent.distance, kernel_range(max(bandwidths), extent.variance)
    if distance > _FAR * gap:
        measure = _close_gaps(measure, gap)
        distance = measure.extent().distance
    if _cells(min(bandwidths), distance + gap) > _MOST_CELLS:
        return fused_mmd(measure, GaussianKernel(bandwidths), None, diagonal=True)
    batches = zip(*(part.split(1) for part in measure), strict=True)
    return torch.cat(
        [_one_batch(SignedMeasure(*batch), bandwidths, distance + gap) for batch in batches]
    )


def _close_gaps(measure: SignedMeasure, gap: float) -> SignedMeasure:
    """Close gaps wider than any kernel: one distant row must not ask for a vast grid."""
    y, means = measure.y, measure.means
    of_targets, of_normals = _shifts(measure, gap).tensor_split([y.shape[1]], dim=1)
    return measure._replace(y=y - of_targets, means=means - of_normals.view_as(means))


@torch.no_grad()
def _shifts(measure: SignedMeasure, gap: float) -> Tensor:
    """How far to move targets and normals down so that no neighbours are further apart.

    What is nearest to the origin stays: there positions have all their digits.
    """
    positions = torch.cat([measure.y, measure.means.flatten(1)], dim=1)
    ordered, order = positions.sort(dim=1)
    excess = (ordered.diff(dim=1) - gap).clamp_min(0.0).cumsum(dim=1)
    shift = torch.zeros_like(positions).scatter(1, order[:, 1:], excess)
    return shift - shift.gather(1, positions.abs().argmin(dim=1, keepdim=True))


def _one_batch(measure: SignedMeasure, bandwidths: Sequence[float], period: float) -> Tensor:
    """The formula of the module for a single batch, B = 1; returns (1,)."""
    h = min(bandwidths)
    cells = next_fast_len(_cells(h, period), real=True)
    y, y_masses, means, variances, masses = (part.flatten(1) for part in measure)
    wide = (variances >= _WIDE * h)[0]
    signal = _deposit(cells, y, torch.zeros_like(y), y_masses, h, period)
    signal = signal + _deposit(
        cells, means[:, ~wide], variances[:, ~wide], masses[:, ~wide], h, period
    )
    spectrum = torch.fft.rfft(signal) * (period / cells)
    w = 2.0 * math.pi / period * torch.arange(len(spectrum), device=signal.device).double()
    spectrum = spectrum + _low_frequencies(
        means[:, wide], variances[:, wide], masses[:, wide], w, h
    )
    power = spectrum.real.square() + spectrum.imag.square()
    # Frequency 0 holds the masses, which add up to 0; -w mirrors w.
    both = torch.full_like(power, 2.0)
    both[0] = 0.0
    if cells % 2 == 0:
        both[-1] = 1.0
    kernels = [
        math.sqrt(2.0 * math.pi * each) * torch.exp(-0.5 * (each - h) * w.square())
        for each in bandwidths
    ]
    value: Tensor = (torch.stack(kernels).sum(dim=0) * both * power).sum() / period
    return value[None]


def _cells(bandwidth: float, period: float) -> int:
    """Cells fine enough to integrate the squared signal, of variance h / 4, without error."""
    return math.ceil(period * TAIL / (math.pi * math.sqrt(bandwidth)))


def _deposit(
    cells: int, positions: Tensor, variances: Tensor, masses: Tensor, h: float, period: float
) -> Tensor:
    """Sum of Gaussians of variance ``v + h / 2``, (1, N), on a periodic grid, (cells,)."""
    if not positions.shape[1]:
        return positions.new_zeros(cells)
    step = period / cells
    widest = float(variances.detach().nan_to_num().max())
    half = math.ceil(TAIL * math.sqrt(widest + 0.5 * h) / step)
    offsets = torch.arange(-half, half + 1, device=positions.device)

    def spread(positions: Tensor, variances: Tensor, masses: Tensor) -> Tensor:
        cell = torch.round(positions.detach() / step).long()[..., None] + offsets
        width = variances[..., None] + 0.5 * h
        squared = (cell.double() * step - positions[..., None]).square()
        value = masses[..., None] * torch.exp(-0.5 * squared / width)
        value = value / torch.sqrt(2.0 * math.pi * width)
        return value.new_zeros(cells).index_add(0, (cell % cells).flatten(), value.flatten())

    chunks = Chunks("grid", len(offsets), _ELEMENTS, fewest=64)
    return sum_over_chunks(spread, (positions, variances, masses), chunks)


def _low_frequencies(
    positions: Tensor, variances: Tensor, masses: Tensor, w: Tensor, h: float
) -> Tensor:
    """``e^{-w^2 h / 4} E e^{-i w Y}`` of wide predictions, which vanishes at high frequencies."""
    total = torch.zeros(len(w), dtype=torch.complex128, device=w.device)
    # Rows of similar variance go together, so that each needs only its own frequencies.
    octave = torch.log2(variances.detach()).div(2.0).floor()[0]
    for each in octave.unique():
        rows = octave == each
        low = w[w <= TAIL / 2.0**each]
        cosine, sine = characteristic_of_normals(
            positions[:, rows], variances[:, rows], masses[:, rows], low
        )
        smooth = torch.exp(-0.25 * h * low.square())
        added = torch.complex(smooth * cosine[0], -smooth * sine[0])
        total = total + torch.nn.functional.pad(added, (0, len(w) - len(low)))
    return total
