"""Mixtures of normals in operations of torch that other runtimes have in float64.

ONNX runtimes know no error function in double precision, so the normal cdf is written here by
exponentials and a polynomial. Nothing here has gradients.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.polynomial import Chebyshev, chebyshev
from scipy.special import erfcx
from torch import Tensor

# Phi(-z) exp(z^2 / 2) for z >= 0 as a polynomial in 2 t - 1 with t = 4 / (4 + z); error 1e-12.
# Numbers whose digits matter are tensors: exporters round those of Python to float32.
_HALF_WAY = 4.0
_SCALED_TAIL = torch.as_tensor(
    chebyshev.cheb2poly(
        Chebyshev.interpolate(
            lambda t: 0.5 * erfcx(_HALF_WAY * (1.0 - t) / t * math.sqrt(0.5)),
            20,
            domain=[0.0, 1.0],
        ).coef
    )
)
_DENSITY = torch.tensor(1.0 / math.sqrt(2.0 * math.pi), dtype=torch.float64)
_EMPTY = torch.tensor(1e-290, dtype=torch.float64)  # weight of a group without any

_SMALL_STEP = 1e-8  # of the standard deviation of a row, after which a quantile is found
_MOST_STEPS = 100
_GUESS_ERROR = 1e-3  # more than the error of `_rough_score`
_SCALE_CLASSES, _IN_A_CLASS = 4, 12  # as in `Mixture.reduced`


class TorchMixture(NamedTuple):
    """Mixture of K normals per row, as `Mixture`.

    Attributes
    ----------
    weights, locs, scales : tensors of shape (n, K), float64
        Weights add up to 1.
    """

    weights: Tensor
    locs: Tensor
    scales: Tensor

    @property
    def mean(self) -> Tensor:
        """Expectation of each row, (n,)."""
        return (self.weights * self.locs).sum(dim=1)

    @property
    def variance(self) -> Tensor:
        """Variance of each row, (n,)."""
        away = self.locs - self.mean[:, None]
        return (self.weights * (self.scales.square() + away.square())).sum(dim=1)

    def affine(self, loc: Tensor, scale: Tensor) -> TorchMixture:
        """Return the distribution of ``loc + scale * Y``."""
        return TorchMixture(self.weights, loc + scale * self.locs, scale * self.scales)

    def partial_moments(self, y: Tensor) -> Tensor:
        """``E[Y^k; Y <= y]`` for k = 0, 1, 2: (n, L, 3) for y of (n, L)."""
        z = self._standard(y)
        density, below = _pdf_and_tail(z, z < 0)
        m, s = self.locs[:, None], self.scales[:, None]
        parts = (
            below,
            m * below - s * density,
            (m * m + s * s) * below - s * (m + y[:, :, None]) * density,
        )
        weights = self.weights[:, None]
        return torch.stack([(weights * part).sum(dim=2) for part in parts], dim=2)

    def ppf(self, tail: Tensor, upper: Tensor) -> Tensor:
        """Quantiles with ``P(Y <= .) = tail`` or, where upper, ``P(Y > .) = tail``, (n, L).

        Newton steps on the logarithm of the tail, and halving of the bracket where they would
        leave it or do not become shorter. A quantile of a mixture lies between those of its
        components.

        Parameters
        ----------
        tail, upper : tensors of shape (n, L)
            Tail probabilities in (0, 1), and whether they are upper ones.
        """
        side = torch.where(upper, -1.0, 1.0).to(tail)
        score = side * _rough_score(tail)
        ends = [
            self.locs[:, None] + (score + off)[:, :, None] * self.scales[:, None]
            for off in (-_GUESS_ERROR, _GUESS_ERROR)
        ]
        low, high = ends[0].amin(dim=2), ends[1].amax(dim=2)
        spread = self.variance.sqrt()[:, None]
        guess = torch.minimum(torch.maximum(self.mean[:, None] + score * spread, low), high)
        small = _SMALL_STEP * spread

        def unfinished(step: Tensor, x: Tensor, low: Tensor, high: Tensor, moved: Tensor) -> Tensor:
            return torch.logical_and(step < _MOST_STEPS, (moved > small).any())

        def narrow(
            step: Tensor, x: Tensor, low: Tensor, high: Tensor, moved: Tensor
        ) -> tuple[Tensor, ...]:
            z = self._standard(x)
            density, part = _pdf_and_tail(z, (side[:, :, None] * z) < 0)
            found = (self.weights[:, None] * part).sum(dim=2)
            rate = (self.weights[:, None] / self.scales[:, None] * density).sum(dim=2)
            excess = side * torch.log(found / tail)  # increasing in x on both sides
            high, low = torch.where(excess >= 0, x, high), torch.where(excess <= 0, x, low)
            newton = x - excess * found / rate
            inside = torch.logical_and(newton >= low, newton <= high)  # false for nan
            faster = (newton - x).abs() <= torch.maximum(0.5 * moved, small)
            new = torch.where(torch.logical_and(inside, faster), newton, 0.5 * (low + high))
            return step + 1, new, low, high, (new - x).abs()

        start = torch.zeros((), dtype=torch.int64, device=tail.device)
        state: tuple[Tensor, ...] = (start, guess, low, high, torch.full_like(low, math.inf))
        if torch.compiler.is_exporting():
            state = torch.while_loop(unfinished, narrow, state)
        else:
            while unfinished(*state):
                state = narrow(*state)
        return state[1]

    def reduced(self) -> TorchMixture:
        """Return a mixture of at most 48 components, as `Mixture.reduced` does."""
        if self.locs.shape[1] <= _SCALE_CLASSES * _IN_A_CLASS:
            return self
        by_scale = _order(self.scales)
        columns = np.array_split(np.arange(self.locs.shape[1]), _SCALE_CLASSES)
        parts = [self._take(by_scale[:, c[0] : c[-1] + 1])._merge_neighbours() for c in columns]
        return TorchMixture(*(torch.cat(part, dim=1) for part in zip(*parts, strict=True)))

    def _merge_neighbours(self) -> TorchMixture:
        """Sort components by location and merge neighbours to 12 normals."""
        w, m, s = self._take(_order(self.locs))
        count = w.shape[1]
        starts = np.linspace(0, count, _IN_A_CLASS, endpoint=False).astype(np.intp)
        group = np.searchsorted(starts, np.arange(count), side="right") - 1
        # Sums over groups as a product with a matrix of zeros and ones.
        member = torch.as_tensor(np.eye(_IN_A_CLASS)[group]).to(w)  # (K, 12)
        first = m[:, starts.tolist()]
        total = w @ member
        share = w / torch.maximum(total, _EMPTY)[:, group.tolist()]
        offset = m - first[:, group.tolist()]
        mean = (share * offset) @ member
        square = (share * (s.square() + offset.square())) @ member - mean.square()
        square = torch.maximum(square, s.amin(dim=1, keepdim=True).square())
        scale = torch.where(total < _EMPTY, s[:, starts.tolist()], square.sqrt())
        return TorchMixture(total, first + mean, scale)

    def _take(self, index: Tensor) -> TorchMixture:
        return TorchMixture(*(torch.gather(part, 1, index) for part in self))

    def _standard(self, y: Tensor) -> Tensor:
        """``(y - m) / s`` for every component, (n, L, K)."""
        return (y[:, :, None] - self.locs[:, None]) / self.scales[:, None]


def _order(values: Tensor) -> Tensor:
    """Positions that sort each row; equal values, such as fixed scales, keep their order."""
    if torch.compiler.is_exporting():
        return values.sort(dim=1).indices  # runtimes of ONNX keep it, torch has to be asked
    return values.sort(dim=1, stable=True).indices


def _pdf_and_tail(z: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
    """Normal density at z, and ``Phi(-|z|)`` where `near`, otherwise ``1 - Phi(-|z|)``."""
    exponential = torch.exp(-0.5 * z.square())
    u = 2.0 * _HALF_WAY / (_HALF_WAY + z.abs()) - 1.0
    scaled = _SCALED_TAIL[-1].expand(u.shape)
    for i in range(len(_SCALED_TAIL) - 2, -1, -1):
        scaled = scaled * u + _SCALED_TAIL[i]
    tail = exponential * scaled
    return _DENSITY * exponential, torch.where(near, tail, 1.0 - tail)


def _rough_score(tail: Tensor) -> Tensor:
    """``Phi^-1(tail)`` with an error below 4.5e-4 (Abramowitz and Stegun 26.2.23)."""
    near = torch.minimum(tail, 1.0 - tail)
    t = torch.sqrt(-2.0 * torch.log(near))
    score = (2.515517 + t * (0.802853 + 0.010328 * t)) / (
        1.0 + t * (1.432788 + t * (0.189269 + 0.001308 * t))
    ) - t
    return torch.where(tail <= 0.5, score, -score)
