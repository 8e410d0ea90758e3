"""Atoms: values that many rows of the target share, such as counts, grades and zeros."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.distributions import Distribution, WithAtoms
from calibrant.estimators.scaling import Scaler
from calibrant.persistence import savable_part

_REPEATED = 20  # median number of rows per value from which on the target is discrete
_SHARE, _LEAST = 0.01, 10  # share and number of rows that make one value an atom
_SPIKE, _MOST_SPIKES = 0.05, 8  # share of rows that makes a component; most components
_NARROWEST = 1e-6  # smallest standard deviation of a component, in units of the scaled target
_DEVIATIONS = 6.0  # standard deviations of a component from the middle of its cell to either end


def _no_cells() -> Array:
    return np.empty((0, 3))


@savable_part
@dataclass(frozen=True, eq=False)
class Atoms:
    """Values of the target with a probability.

    Parameters
    ----------
    cells : array of shape (A, 3)
        Point, low and high: the predicted mass between low and high is moved to the point.
    spikes : array of shape (S, 3)
        The cells that have a component of the mixture.
    """

    cells: Array = field(default_factory=_no_cells)
    spikes: Array = field(default_factory=_no_cells)

    @classmethod
    def find(cls, y: Array, spread: float, *, as_components: bool) -> Self:
        """Find the atoms of training targets, (n,).

        Parameters
        ----------
        spread : float
            Unit of the scaled target.
        as_components : bool
            Whether the head is a mixture, which can have components for spikes. Without one, no
            density is narrow enough for a spike, so spikes are not made atoms.
        """
        cells = find_atoms(y, spread)
        spikes = find_spikes(y, cells)
        if as_components:
            return cls(cells, cells[spikes])
        return cls(np.delete(cells, spikes, axis=0))

    def apply(self, dist: Distribution) -> Distribution:
        """Move the mass of every cell to its point."""
        return WithAtoms(dist, *self.cells.T) if len(self.cells) else dist

    def cdf_ends(self, dist: Distribution, y: Array) -> tuple[Array, Array]:
        """Distribution function at both ends of the cells of y, (n,) each; equal without a cell."""
        if not len(self.cells):
            value = dist.cdf(y)
            return value, value
        low, high = cells_of(y, self.cells)
        return dist.cdf(low), dist.cdf(high)

    def fixed_outputs(self, target: Scaler) -> tuple[float, ...]:
        """Fixed outputs of a mixture head: means and log-variances of its spikes."""
        outputs = spike_outputs(self.spikes, float(target.loc), float(target.scale))
        return tuple(outputs.tolist())


def find_atoms(y: Array, spread: float) -> Array:
    """Find the atoms of a target and the cells around them, (A, 3): point, low, high.

    All values of a discrete target are atoms; of other targets, the values that one row in a
    hundred has. A cell reaches half way to the next value, but no further than half the median
    gap between values, and far enough to contain a component of a mixture.

    Parameters
    ----------
    y : array of shape (n,)
    spread : float
        Unit of the scaled target.
    """
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        return np.empty((0, 3))
    gaps = np.diff(values)
    reach = np.maximum(0.5 * np.minimum(gaps, np.median(gaps)), _DEVIATIONS * _NARROWEST * spread)
    low = values - np.concatenate([[np.median(reach)], reach])
    high = values + np.concatenate([reach, [np.median(reach)]])
    low[1:] = np.maximum(low[1:], high[:-1])  # by rounding, neighbouring cells may overlap
    often = counts >= max(_LEAST, _SHARE * len(y))
    chosen = np.full(len(values), True) if np.median(counts) >= _REPEATED else often
    chosen &= (low < values) & (values < high)
    atoms: Array = np.column_stack([values, low, high])[chosen]
    return atoms


def find_spikes(y: Array, atoms: Array) -> NDArray[np.intp]:
    """Positions of the atoms, (S,), that get a component of the mixture.

    These are values of many rows, such as no rain, among others that vary: no learned density has
    a peak that narrow.
    """
    share = np.array([np.mean(y == point) for point in atoms[:, 0]])
    if not len(atoms) or (1.0 - share.sum()) * len(y) < _LEAST:
        return np.empty(0, dtype=np.intp)
    often = np.argsort(-share, kind="stable")[:_MOST_SPIKES]
    return np.sort(often[share[often] >= _SPIKE])


def spike_outputs(spikes: Array, loc: float, scale: float) -> Array:
    """Means and log-variances, (2 S,), of components that lie within the cells of these atoms.

    Parameters
    ----------
    spikes : array of shape (S, 3)
        Point, low and high, as from `find_atoms`.
    loc, scale : float
        Shift and scale of the target.
    """
    points, low, high = (spikes.T - loc) / scale
    reach = np.minimum(points - low, high - points)
    return np.concatenate([points, 2.0 * np.log(reach / _DEVIATIONS)])


def cells_of(y: Array, atoms: Array) -> tuple[Array, Array]:
    """Low and high ends of the cells of targets on atoms, (n,) each; y itself elsewhere."""
    points, low, high = atoms.T
    at = np.minimum(np.searchsorted(points, y), len(points) - 1)
    on = points[at] == y
    return np.where(on, low[at], y), np.where(on, high[at], y)
