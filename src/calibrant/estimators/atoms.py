"""Values that a target takes again and again: atoms of its distribution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.distributions import Distribution, WithAtoms
from calibrant.estimators.scaling import Scaler
from calibrant.persistence import savable_part

_REPEATED = 20  # times most values appear: then the target has no others
_SHARE, _LEAST = 0.01, 10  # of the rows, and rows, that make an atom of a single value
_SPIKE, _MOST_SPIKES = 0.05, 8  # share of the rows that makes a component, and how many
_NARROWEST = 1e-6  # component, in units of the scaled target, of which a cell has six to a side
_DEVIATIONS = 6.0


def _no_cells() -> Array:
    return np.empty((0, 3))


@savable_part
@dataclass(frozen=True, eq=False)
class Atoms:
    """Values of the target with a probability of their own.

    Parameters
    ----------
    cells : array of shape (A, 3)
        Point, low and high: the predicted mass between low and high is put on the point.
    spikes : array of shape (S, 3)
        Those of the cells that are a component of the mixtures.
    """

    cells: Array = field(default_factory=_no_cells)
    spikes: Array = field(default_factory=_no_cells)

    @classmethod
    def find(cls, y: Array, spread: float, *, as_components: bool) -> Self:
        """Atoms of the training targets, (n,).

        Parameters
        ----------
        spread : float
            Scale of the scaled target.
        as_components : bool
            Whether the head is a mixture that can have components for spikes. Without them no
            density is narrow enough for a spike, which is then left out.
        """
        cells = find_atoms(y, spread)
        spikes = find_spikes(y, cells)
        if as_components:
            return cls(cells, cells[spikes])
        return cls(np.delete(cells, spikes, axis=0))

    def apply(self, dist: Distribution) -> Distribution:
        """Put the mass of every cell on its point."""
        return WithAtoms(dist, *self.cells.T) if len(self.cells) else dist

    def cdf_ends(self, dist: Distribution, y: Array) -> tuple[Array, Array]:
        """Distribution function at both ends of the cells of y, equal for y on no atom, (n,)."""
        if not len(self.cells):
            value = dist.cdf(y)
            return value, value
        low, high = cells_of(y, self.cells)
        return dist.cdf(low), dist.cdf(high)

    def fixed_outputs(self, target: Scaler) -> tuple[float, ...]:
        """Outputs of a mixture head for its spikes, which are not learned."""
        outputs = spike_outputs(self.spikes, float(target.loc), float(target.scale))
        return tuple(outputs.tolist())


def find_atoms(y: Array, spread: float) -> Array:
    """Atoms of a target and the cells around them, (A, 3): point, low, high.

    All values of a discrete target are atoms, of another target those that one row in a hundred
    has. A cell reaches half way to the next value, but no further than values usually lie apart,
    and far enough for a component of a mixture.

    Parameters
    ----------
    y : array of shape (n,)
    spread : float
        Scale of the scaled target.
    """
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        return np.empty((0, 3))
    gaps = np.diff(values)
    reach = np.maximum(0.5 * np.minimum(gaps, np.median(gaps)), _DEVIATIONS * _NARROWEST * spread)
    low = values - np.concatenate([[np.median(reach)], reach])
    high = values + np.concatenate([reach, [np.median(reach)]])
    low[1:] = np.maximum(low[1:], high[:-1])  # half ways from both sides may cross by rounding
    often = counts >= max(_LEAST, _SHARE * len(y))
    chosen = np.full(len(values), True) if np.median(counts) >= _REPEATED else often
    chosen &= (low < values) & (values < high)
    atoms: Array = np.column_stack([values, low, high])[chosen]
    return atoms


def find_spikes(y: Array, atoms: Array) -> NDArray[np.intp]:
    """Positions of the atoms, (S,), that deserve a component of a mixture.

    Those that many rows have while others have values of their own: what falls on them is a
    thing apart, such as no rain, and no peak of a density learns to be that narrow.
    """
    share = np.array([np.mean(y == point) for point in atoms[:, 0]])
    if not len(atoms) or (1.0 - share.sum()) * len(y) < _LEAST:
        return np.empty(0, dtype=np.intp)
    often = np.argsort(-share, kind="stable")[:_MOST_SPIKES]
    return np.sort(often[share[often] >= _SPIKE])


def spike_outputs(spikes: Array, loc: float, scale: float) -> Array:
    """Means and log-variances, (2 S,), of components that stay inside the cells of these atoms.

    Parameters
    ----------
    spikes : array of shape (S, 3)
        Point, low and high, as of `find_atoms`.
    loc, scale : float
        Of the scaled target.
    """
    points, low, high = (spikes.T - loc) / scale
    reach = np.minimum(points - low, high - points)
    return np.concatenate([points, 2.0 * np.log(reach / _DEVIATIONS)])


def cells_of(y: Array, atoms: Array) -> tuple[Array, Array]:
    """Ends of the cells that targets on atoms belong to, both y itself for the others, (n,)."""
    points, low, high = atoms.T
    at = np.minimum(np.searchsorted(points, y), len(points) - 1)
    on = points[at] == y
    return np.where(on, low[at], y), np.where(on, high[at], y)
