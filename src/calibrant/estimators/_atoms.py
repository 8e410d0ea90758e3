"""Values that a target takes again and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_REPEATED = 20  # times most values appear: then the target has no others
_SHARE, _LEAST = 0.01, 10  # of the rows, and rows, that make an atom of a single value
_SPIKE, _MOST_SPIKES = 0.05, 8  # share of the rows that makes a component, and how many
_NARROWEST = 1e-6  # component, in units of the scaled target, of which a cell has six to a side
_DEVIATIONS = 6.0


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
