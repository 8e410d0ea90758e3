"""Marginal matching with narrow kernels, in linear time: a fast Gauss transform on a grid.

A Gaussian kernel is the overlap of two Gaussians of half its width, so with
``S(x) = sum_P a_P N(x; p_P, v_P + h / 2)`` over targets and predictions::

    MMD^2 = sqrt(2 pi h) integral S(x)^2 dx

One grid does for several kernels: in the Fourier transform of the narrowest one's signal the
others differ by a factor. Points spread over a few cells whatever n is. Wide predictions would
cover many cells but have few frequencies: their waves are added to the transform of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from scipy.fft import next_fast_len
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from calibrant.kernels import GaussianKernel
from calibrant.losses._difference import Difference
from calibrant.losses._fused import fused_v
from calibrant.losses._spectral import TAIL, characteristic

_ELEMENTS = 1 << 20  # of one temporary
_FAR = 4.0  # reaches of a kernel from which on gaps are worth looking for
_ALIKE = 8.0  # times the reach of the narrowest kernel that others on its grid may have
_MOST_CELLS = 1 << 24  # 128 MiB a signal; beyond, all pairs are taken
_WIDE = 4.0  # predictions of this many bandwidths of variance have no high frequencies


def far(bandwidth: float, variance: float) -> float:
    """Distance over which two predictions of at most this variance do not see each other."""
    return TAIL * math.sqrt(bandwidth + 2.0 * variance)


def alike(bandwidths: Sequence[float], variance: float) -> list[float]:
    """Those that the grid of the narrowest one does for: they hardly make it larger."""
    most = _ALIKE * far(min(bandwidths), variance)
    return [h for h in bandwidths if far(h, variance) <= most]


def gridded_v(
    difference: Difference, bandwidths: Sequence[float], reach: float, variance: float
) -> Tensor:
    """Squared MMD of Gaussian kernels, added up, V-statistic, (B,), exact to about 1e-12.

    Parameters
    ----------
    bandwidths : sequence of float
        The h of ``exp(-d^2 / (2 h))``.
    reach, variance : float
        Largest distance between two positions and largest variance.
    """
    difference = Difference(*(part.double() for part in difference))
    gap = far(max(bandwidths), variance)
    if reach > _FAR * gap:
        difference = _draw_together(difference, gap)
        reach, _ = difference.reach()
    if _cells(min(bandwidths), reach + gap) > _MOST_CELLS:
        return fused_v(difference, GaussianKernel(bandwidths), None, diagonal=True)
    return torch.stack(
        [
            _one_batch(Difference(*parts), bandwidths, reach + gap)
            for parts in zip(*difference, strict=True)
        ]
    )


@torch.no_grad()
def _shifts(difference: Difference, gap: float) -> Tensor:
    """By how much to move targets and normals down until no neighbours are further apart.

    What is nearest to the origin stays: there positions have all their digits.
    """
    positions = torch.cat([difference.y, difference.means.flatten(1)], dim=1)
    ordered, order = positions.sort(dim=1)
    excess = (ordered.diff(dim=1) - gap).clamp_min(0.0).cumsum(dim=1)
    shift = torch.zeros_like(positions).scatter(1, order[:, 1:], excess)
    return shift - shift.gather(1, positions.abs().argmin(dim=1, keepdim=True))


def _draw_together(difference: Difference, gap: float) -> Difference:
    """Close the gaps that no kernel value crosses: one far row must not ask for a vast grid."""
    y, means = difference.y, difference.means
    of_targets, of_normals = _shifts(difference, gap).tensor_split([y.shape[1]], dim=1)
    return difference._replace(y=y - of_targets, means=means - of_normals.view_as(means))


def _one_batch(d: Difference, bandwidths: Sequence[float], period: float) -> Tensor:
    """The formula of the module for one batch; `d` holds (n,) and (n, K)."""
    h = min(bandwidths)
    cells = next_fast_len(_cells(h, period), real=True)
    means, variances, masses = (part.flatten() for part in (d.means, d.variances, d.masses))
    wide = variances >= _WIDE * h
    signal = torch.zeros(cells, dtype=torch.float64, device=d.y.device)
    signal = _deposit(signal, d.y, torch.zeros_like(d.y), d.share, h, period)
    signal = _deposit(signal, means[~wide], variances[~wide], masses[~wide], h, period)
    spectrum = torch.fft.rfft(signal) * (period / cells)
    w = 2.0 * math.pi / period * torch.arange(len(spectrum), device=signal.device).double()
    spectrum = spectrum + _low_waves(means[wide], variances[wide], masses[wide], w, h)
    power = spectrum.real.square() + spectrum.imag.square()
    # Frequency 0 holds the masses, which add up to nothing; -w mirrors w.
    both = torch.full_like(power, 2.0)
    both[0] = 0.0
    if cells % 2 == 0:
        both[-1] = 1.0
    kernels = [
        math.sqrt(2.0 * math.pi * each) * torch.exp(-0.5 * (each - h) * w.square())
        for each in bandwidths
    ]
    value: Tensor = (torch.stack(kernels).sum(dim=0) * both * power).sum() / period
    return value


def _cells(bandwidth: float, period: float) -> int:
    """Cells at whose step the squared signal, of variance h / 4, is integrated without error."""
    return math.ceil(period * TAIL / (math.pi * math.sqrt(bandwidth)))


def _deposit(
    signal: Tensor, positions: Tensor, variances: Tensor, masses: Tensor, h: float, period: float
) -> Tensor:
    """Add Gaussians of variance ``v + h / 2`` to a periodic signal."""
    if not len(positions):
        return signal
    step = period / len(signal)
    widest = float(variances.detach().nan_to_num().max())
    half = math.ceil(TAIL * math.sqrt(widest + 0.5 * h) / step)
    offsets = torch.arange(-half, half + 1, device=signal.device)

    def spread(positions: Tensor, variances: Tensor, masses: Tensor) -> Tensor:
        cell = torch.round(positions.detach() / step).long()[:, None] + offsets
        width = variances[:, None] + 0.5 * h
        squared = (cell.double() * step - positions[:, None]).square()
        value = masses[:, None] * torch.exp(-0.5 * squared / width)
        value = value / torch.sqrt(2.0 * math.pi * width)
        cell = (cell % len(signal)).flatten()
        return torch.zeros_like(signal).index_add(0, cell, value.flatten())

    for part in _parts(len(positions), len(offsets)):
        rows = positions[part], variances[part], masses[part]
        signal = signal + _recomputed(spread, *rows)
    return signal


def _low_waves(positions: Tensor, variances: Tensor, masses: Tensor, w: Tensor, h: float) -> Tensor:
    """``e^{-w^2 h / 4} E e^{-i w Y}`` of wide predictions, which vanishes at high frequencies."""
    total = torch.zeros(len(w), dtype=torch.complex128, device=w.device)
    # Rows of like variance go together, so that each needs only its own frequencies.
    octave = torch.log2(variances.detach()).div(2.0).floor()
    for each in octave.unique():
        rows = octave == each
        low = w[w <= TAIL / 2.0**each]
        cosine, sine = characteristic(
            positions[rows][None], variances[rows][None], masses[rows][None], low
        )
        smooth = torch.exp(-0.25 * h * low.square())
        added = torch.complex(smooth * cosine[0], -smooth * sine[0])
        total = total + torch.nn.functional.pad(added, (0, len(w) - len(low)))
    return total


def _parts(rows: int, each: int) -> Iterator[slice]:
    size = max(64, _ELEMENTS // max(1, each))
    for start in range(0, rows, size):
        yield slice(start, start + size)


def _recomputed(function: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
    """Call without keeping temporaries for the backward pass, which makes them again."""
    result: Tensor = checkpoint(function, *arguments, use_reentrant=False)
    return result
