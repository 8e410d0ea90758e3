"""Affine transformations keep atoms; the rest is part of the contract."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Clipped, Distribution, Empirical, Normal, WithAtoms


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1 / 3, 7.7, 1e4])
@pytest.mark.parametrize(
    "base",
    [
        Empirical([[0.1, 0.2, 0.3, 0.7]]),
        Clipped(Normal([0.0], [1.0]), 0.1, 0.7),
        WithAtoms(Normal([0.4], [0.3]), [0.1, 0.7], [-0.1, 0.6], [0.2, 0.9]),
    ],
    ids=["empirical", "clipped", "with atoms"],
)
def test_atoms_are_met_exactly(base: Distribution, scale: float) -> None:
    """A value at an atom, in target units, must not be missed by the last digit."""
    for loc in (0.0, 0.3, -1e3, 1e6):
        dist = base.affine(loc, scale)
        atoms = loc + scale * np.array([[0.1, 0.7]])
        assert np.all(dist.cdf(atoms) >= dist.cdf_left(atoms) + 0.1)
        assert np.all(dist.cdf(dist.ppf([0.2, 0.9])) >= [0.2, 0.9])
        back = dist.affine(-loc / scale, 1 / scale)
        assert np.all(back.cdf(back.ppf([0.2, 0.9])) >= [0.2, 0.9])
