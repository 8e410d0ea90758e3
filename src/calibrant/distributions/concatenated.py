"""Rows of distributions of different families."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Flags
from calibrant.distributions._base import Distribution
from calibrant.distributions._parameters import loc_and_scale
from calibrant.distributions._rows import RowIndex, RowWise
from calibrant.errors import ParameterError


class Concatenated(Distribution):
    """Rows of several distributions in order, each of its own family.

    Joining folds or time steps gives this where every part has its own recalibration.

    Parameters
    ----------
    parts : sequence of Distribution

    Examples
    --------
    >>> from calibrant.distributions import Concatenated, Empirical, Normal
    >>> both = Concatenated([Normal([0.0], [1.0]), Empirical([[1.0, 2.0]])])
    >>> both.mean, len(both[1:])
    (array([0. , 1.5]), 1)
    """

    def __init__(self, parts: Iterable[Distribution]) -> None:
        self.parts: list[Distribution] = []
        for part in _distributions(parts, "Concatenated"):
            self.parts.extend(part.parts if isinstance(part, Concatenated) else [part])
        lengths = np.array([len(part) for part in self.parts])
        self._stops = np.cumsum(lengths)  # where the rows of each part end
        self._starts = self._stops - lengths

    def __len__(self) -> int:
        return int(self._stops[-1])

    @property
    def mean(self) -> Array:
        """Expectation of each row, (n,)."""
        return np.concatenate([part.mean for part in self.parts])

    @property
    def variance(self) -> Array:
        """Variance of each row, (n,)."""
        return np.concatenate([part.variance for part in self.parts])

    @property
    def stddev(self) -> Array:
        """Standard deviation of each row, (n,)."""
        return np.concatenate([part.stddev for part in self.parts])

    def _each(self, core: Callable[[Distribution, Array], Array], y: Array) -> Array:
        """Hand every part its rows of y and join the results."""
        pieces = zip(self.parts, self._split(y), strict=True)
        return np.concatenate([core(part, piece) for part, piece in pieces])

    def _split(self, rows: Array) -> list[Array]:
        return np.split(rows, self._stops[:-1])

    def _cdf(self, y: Array) -> Array:
        return self._each(lambda part, at: part._cdf(at), y)

    def _cdf_left(self, y: Array) -> Array:
        return self._each(lambda part, at: part._cdf_left(at), y)

    def _sf(self, y: Array) -> Array:
        return self._each(lambda part, at: part._sf(at), y)

    def _ppf(self, tail: Array, upper: Flags) -> Array:
        if len(tail) == 1:  # levels common to all rows
            return np.concatenate([part._ppf(tail, upper) for part in self.parts])
        uppers = iter(np.split(upper, self._stops[:-1]))
        return self._each(lambda part, at: part._ppf(at, next(uppers)), tail)

    def _log_prob(self, y: Array) -> Array:
        return self._each(lambda part, at: part._log_prob(at), y)

    def _crps(self, y: Array) -> Array:
        return self._each(lambda part, at: part._crps(at), y)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.concatenate([part._sample(n, rng) for part in self.parts])

    def _panels(self) -> Array:
        panels = [part._panels() for part in self.parts]
        most = max(p.shape[1] for p in panels)
        # Repeating the last edge adds panels of width 0.
        return np.concatenate([np.pad(p, ((0, 0), (0, most - p.shape[1])), "edge") for p in panels])

    def _cells_per_row(self) -> int:
        return max(part._cells_per_row() for part in self.parts)

    def _take(self, rows: RowIndex) -> Self:
        n = len(self)
        wanted = np.arange(*rows.indices(n)) if isinstance(rows, slice) else rows % max(n, 1)
        owner = np.searchsorted(self._stops, wanted, side="right")
        # Neighbouring rows of one part stay together, in the order asked for.
        runs = np.split(np.arange(len(wanted)), np.flatnonzero(np.diff(owner)) + 1)
        owners = [owner[run[0]] for run in runs if len(run)]
        taken = [
            self.parts[which]._take(wanted[run] - self._starts[which])
            for which, run in zip(owners, runs, strict=False)
        ]
        return type(self)(taken or [self.parts[0]._take(slice(0, 0))])

    def _joins(self, other: RowWise) -> bool:
        return False

    def with_epistemic(self, variance: ArrayLike) -> Self:
        """Return the same rows with a known epistemic part of their variance."""
        pieces = self._split(np.broadcast_to(np.asarray(variance, dtype=np.float64), (len(self),)))
        pairs = zip(self.parts, pieces, strict=True)
        return type(self)([part.with_epistemic(piece) for part, piece in pairs])

    def _epistemic_part(self) -> Array:
        return np.concatenate([part._epistemic_part() for part in self.parts])

    def affine(self, loc: ArrayLike, scale: ArrayLike) -> Self:
        """Return the distribution of ``loc + scale * Y``, part by part."""
        shifts, factors = (self._split(v) for v in loc_and_scale(loc, scale, len(self)))
        triples = zip(self.parts, shifts, factors, strict=True)
        return type(self)([part.affine(shift, factor) for part, shift, factor in triples])


def concatenate(parts: Iterable[Distribution]) -> Distribution:
    """Join distributions, their rows one after the other.

    Parts of one family stay in that family; others become a `Concatenated`.

    Examples
    --------
    >>> from calibrant.distributions import Normal, concatenate
    >>> concatenate([Normal([0.0], [1.0]), Normal([2.0], [1.0])]).mean
    array([0., 2.])
    """
    first, *rest = _distributions(parts, "concatenate")
    if not rest:
        return first
    one_family = all(first._joins(part) for part in rest)
    return first._join(rest) if one_family else Concatenated([first, *rest])


def _distributions(parts: Iterable[Distribution], who: str) -> list[Distribution]:
    listed = list(parts)
    if not listed:
        raise ParameterError(f"{who} needs at least one distribution, got none.")
    strangers = {type(part).__name__ for part in listed if not isinstance(part, Distribution)}
    if strangers:
        raise ParameterError(f"{who} joins distributions, got {', '.join(sorted(strangers))}.")
    return listed
