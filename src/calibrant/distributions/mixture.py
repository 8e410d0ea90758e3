"""Mixtures of normal distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from calibrant.checks import Array, Flags, show
from calibrant.distributions._base import Distribution
from calibrant.distributions._mixture_mean import shortfall_and_cdf
from calibrant.distributions._mixture_points import FEW_COMPONENTS, component_points, few_numbers
from calibrant.distributions._mixture_ppf import TABLE_POINTS, mixture_ppf
from calibrant.distributions._parameters import (
    finite,
    loc_and_scale,
    matrix_parameter,
    same_shape,
)
from calibrant.distributions.fast_ndtr import ndtr_for
from calibrant.distributions.normal import LOG_SQRT_2PI, STANDARD_PANELS, Normal, normal_pdf
from calibrant.errors import ParameterError

_SCALE_CLASSES, _IN_A_CLASS = 4, 12  # components of a reduced mixture


class Mixture(Distribution):
    """Mixture of K normal distributions per row.

    ``F(y) = sum_k w_k Phi((y - m_k) / s_k)``; cdf, density, moments and CRPS have closed
    forms, ``ppf`` inverts the cdf to about 1e-10 of the narrowest component.

    Parameters
    ----------
    weights : array of shape (n, K)
        Not negative; each row is divided by its sum.
    locs, scales : arrays of shape (n, K)
        Means and standard deviations (> 0) of the components.

    Examples
    --------
    >>> from calibrant.distributions import Mixture
    >>> two_modes = Mixture([[0.25, 0.75]], [[-5.0, 5.0]], [[1.0, 1.0]])
    >>> two_modes.mean, two_modes.cdf(0.0).round(6)
    (array([2.5]), array([0.25]))
    """

    _row_parts: ClassVar[tuple[str, ...]] = ("weights", "locs", "scales")

    def __init__(self, weights: ArrayLike, locs: ArrayLike, scales: ArrayLike) -> None:
        self.weights = matrix_parameter(weights, "weights")
        self.locs = matrix_parameter(locs, "locs")
        self.scales = matrix_parameter(scales, "scales", positive=True)
        same_shape(weights=self.weights, locs=self.locs, scales=self.scales)
        if np.any(self.weights < 0):
            raise ParameterError(
                f"weights must not be negative, got {show(self.weights[self.weights < 0])}."
            )
        largest = self.weights.max(axis=1, keepdims=True, initial=0.0)
        if np.any(largest == 0):
            raise ParameterError(f"weights must not be all zero, as in row {np.argmin(largest)}.")
        self.weights /= largest  # first, so that the sum can't overflow
        self.weights /= self.weights.sum(axis=1, keepdims=True)

    @classmethod
    def of(cls, parts: Sequence[Normal | Mixture], weights: ArrayLike | None = None) -> Self:
        """Mix distributions of the same rows, with equal weights or with one weight per part."""
        shares = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=np.float64)
        columns = [
            (np.full((len(part), 1), share), part.loc[:, None], part.scale[:, None])
            if isinstance(part, Normal)
            else (share * part.weights, part.locs, part.scales)
            for part, share in zip(parts, shares, strict=True)
        ]
        return cls(*(np.hstack(arrays) for arrays in zip(*columns, strict=True)))

    def __len__(self) -> int:
        return len(self.locs)

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        centre, offset, _ = self._centred()
        return np.ravel(centre + offset)

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,): within the components plus between them."""
        _, offset, distance = self._centred()
        parts = self.weights * (self.scales**2 + (distance - offset) ** 2)
        variance: Array = parts.sum(axis=1)
        return variance

    def _centred(self) -> tuple[Array, Array, Array]:
        """Location of the heaviest component, (n, 1), and distances from it.

        These are the distance of the mean, (n, 1), and of all components, (n, K): they do not
        cancel where components are narrow and far from zero.
        """
        heaviest = np.argmax(self.weights, axis=1)[:, None]
        centre = np.take_along_axis(self.locs, heaviest, axis=1)
        distance = self.locs - centre
        return centre, np.sum(self.weights * distance, axis=1, keepdims=True), distance

    def _cdf(self, y: Array) -> Array:
        return self._tail(y, 1.0)

    def _sf(self, y: Array) -> Array:
        return self._tail(y, -1.0)

    def _tail(self, y: Array, side: float) -> Array:
        """P(Y <= y), or P(Y > y) where side is -1."""
        if few_numbers(y, self.locs):
            scales = side * self.scales[:, None]
            parts = self.weights[:, None] * ndtr((y[:, :, None] - self.locs[:, None]) / scales)
            few: Array = parts.sum(axis=2) / self.weights.sum(axis=1, keepdims=True)
            return few
        # One component at a time: temporaries stay (rows, k) instead of (rows, k, K).
        phi = ndtr_for(self.locs.shape[1])
        out, total, z = np.zeros(y.shape), np.zeros((len(y), 1)), np.empty(y.shape)
        for k in range(self.locs.shape[1]):
            np.subtract(y, self.locs[:, k, None], out=z)
            z /= side * self.scales[:, k, None]
            phi(z, out=z)
            z *= self.weights[:, k, None]
            out += z
            total += self.weights[:, k, None]
        return out / total  # 1 but for rounding, which would show where out is 1

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        return mixture_ppf(self.weights, self.locs, self.scales, tail, upper)

    def _log_prob(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):  # log 0 of a component without weight is -inf: right
            log_weights = np.log(self.weights) - np.log(self.scales) - LOG_SQRT_2PI
        parts = np.empty((*y.shape, self.locs.shape[1]))
        for k in range(self.locs.shape[1]):
            z = (y - self.locs[:, k, None]) / self.scales[:, k, None]
            parts[:, :, k] = log_weights[:, k, None] - 0.5 * z * z
        return logsumexp(parts, axis=2)

    def _crps(self, y: Array) -> Array:
        # E|Y - y| - E|Y - Y'| / 2, Grimit et al. (2006)
        w, m, s = self.weights, self.locs, self.scales
        score = np.zeros(y.shape)
        for k in range(m.shape[1]):
            score += w[:, k, None] * _mean_abs(y - m[:, k, None], s[:, k, None])
            among = _mean_abs(m - m[:, k, None], np.hypot(s, s[:, k, None]))  # (n, K)
            score -= 0.5 * (w[:, k] * np.sum(w * among, axis=1))[:, None]
        return np.maximum(score, 0.0)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        steps = np.cumsum(self.weights, axis=1)
        steps /= steps[:, -1:]  # exactly 1 where the last component with weight ends
        u = rng.random((len(self), n))
        component = np.zeros((len(self), n), dtype=np.intp)
        for k in range(self.locs.shape[1] - 1):
            component += u >= steps[:, k, None]
        loc = np.take_along_axis(self.locs, component, axis=1)
        scale = np.take_along_axis(self.scales, component, axis=1)
        return loc + scale * rng.standard_normal((len(self), n))

    def _mean_and_shortfall(self, y: Array) -> tuple[Array, Array, Array]:
        return self.mean, *shortfall_and_cdf(self.weights, self.locs, self.scales, y)

    def _panels(self) -> Array:
        return component_points(self.locs, self.scales, STANDARD_PANELS)

    def _cells_per_row(self) -> int:
        n_components: int = self.locs.shape[1]
        return TABLE_POINTS * min(n_components, FEW_COMPONENTS)

    def reduced(self) -> Self:
        """Return a mixture of at most 48 components with nearly the same distribution.

        The mixture of a large ensemble has hundreds, most of which lie close together. Components
        of similar scale, a quarter of all, are sorted by location, and neighbours are replaced by
        a normal with their mean and variance. The mean and variance of a row stay as they are.
        """
        if self.locs.shape[1] <= _SCALE_CLASSES * _IN_A_CLASS:
            return self
        by_scale = np.argsort(self.scales, axis=1, kind="stable")
        parts = _take(by_scale, self.weights, self.locs, self.scales)
        if self.scales.shape[1] % _SCALE_CLASSES:
            split = (np.array_split(part, _SCALE_CLASSES, axis=1) for part in parts)
            each = [_merge_neighbours(*one) for one in zip(*split, strict=True)]
            merged = [np.hstack(part) for part in zip(*each, strict=True)]
        else:  # all classes of all rows as rows: a single row costs per operation
            flat = (part.reshape(_SCALE_CLASSES * len(part), -1) for part in parts)
            merged = [part.reshape(len(self), -1) for part in _merge_neighbours(*flat)]
        return self._with(**dict(zip(self._row_parts, merged, strict=True)))

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``: again a mixture."""
        shift, factor = (v[:, None] for v in loc_and_scale(loc, scale, len(self)))
        locs = finite(shift + factor * self.locs, "locs")
        return self._with(locs=locs, scales=finite(factor * self.scales, "scales", positive=True))


def _take(index: NDArray[np.intp], *arrays: Array) -> tuple[Array, ...]:
    return tuple(np.take_along_axis(array, index, axis=1) for array in arrays)


def _merge_neighbours(w: Array, m: Array, s: Array) -> tuple[Array, Array, Array]:
    """Sort components, (n, K), by location and merge neighbours to 12 normals, (n, 12) each."""
    w, m, s = _take(np.argsort(m, axis=1, kind="stable"), w, m, s)
    starts = np.linspace(0, w.shape[1], _IN_A_CLASS, endpoint=False).astype(np.intp)
    total = np.add.reduceat(w, starts, axis=1)
    share = w / np.maximum(np.repeat(total, np.diff([*starts, w.shape[1]]), axis=1), 1e-300)
    # Offsets from a component of the group: they do not cancel far from zero.
    first = m[:, starts]
    offset = m - np.repeat(first, np.diff([*starts, w.shape[1]]), axis=1)
    mean = np.add.reduceat(share * offset, starts, axis=1)
    square = np.add.reduceat(share * (s**2 + offset**2), starts, axis=1) - mean**2
    # A group without weight keeps the place and scale of its first component.
    empty = total < 1e-290
    scale = np.sqrt(np.where(empty, s[:, starts] ** 2, np.maximum(square, s.min() ** 2)))
    return total, first + mean, scale


def _mean_abs(distance: Array, scale: Array) -> Array:
    """E|X| of a normal X with the given mean and standard deviation."""
    z = distance / scale
    return distance * (2.0 * ndtr(z) - 1.0) + 2.0 * scale * normal_pdf(z)
