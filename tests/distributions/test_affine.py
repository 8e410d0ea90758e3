from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Affine, Clipped, Distribution, Empirical, Normal, concatenate
from calibrant.errors import ParameterError


def test_answers_are_those_of_the_changed_base() -> None:
    base = Normal([0.0, 1.0], [1.0, 2.0])
    dist, same = Affine(base, [5.0, 6.0], 3.0), Normal([5.0, 9.0], [3.0, 6.0])
    for method in ("cdf", "cdf_left", "prob_above", "log_prob", "crps"):
        np.testing.assert_array_equal(getattr(dist, method)(4.0), getattr(same, method)(4.0))
    np.testing.assert_array_equal(dist.ppf([0.1, 0.9]), same.ppf([0.1, 0.9]))
    np.testing.assert_array_equal(dist.mean, same.mean)
    np.testing.assert_array_equal(dist.variance, same.variance)
    assert dist.base is base
    np.testing.assert_array_equal(dist.scale, 3.0)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1 / 3, 7.7, 1e4])
@pytest.mark.parametrize(
    "base",
    [Empirical([[0.1, 0.2, 0.3, 0.7]]), Clipped(Normal([0.0], [1.0]), 0.1, 0.7)],
    ids=["empirical", "clipped"],
)
def test_atoms_are_met_exactly(base: Distribution, scale: float) -> None:
    """A value at an atom, in target units, must not be missed by the last digit."""
    for loc in (0.0, 0.3, -1e3, 1e6):
        for dist in (Affine(base, loc, scale), base.affine(loc, scale)):
            atoms = loc + scale * np.array([[0.1, 0.7]])
            assert np.all(dist.cdf(atoms) >= dist.cdf_left(atoms) + 0.2)
            assert np.all(dist.cdf(dist.ppf([0.2, 0.9])) >= [0.2, 0.9])
            back = Affine(dist, -loc / scale, 1 / scale)
            assert np.all(back.cdf(back.ppf([0.2, 0.9])) >= [0.2, 0.9])


def test_joins_its_own() -> None:
    one, two = (Affine(Normal([0.0], [1.0]), loc, 2.0) for loc in (1.0, 5.0))
    joined = concatenate([one, two])
    assert isinstance(joined, Affine)
    np.testing.assert_array_equal(joined.mean, [1.0, 5.0])
    np.testing.assert_array_equal(joined[1].loc, [5.0])


def test_parameters_are_copied() -> None:
    loc = np.zeros(2)
    dist = Affine(Normal([0.0, 1.0], [1.0, 1.0]), loc, 1.0)
    loc += 1.0
    np.testing.assert_array_equal(dist.loc, 0.0)
    dist.loc[0] = 2.0  # not a read-only view


def test_bad_parameters() -> None:
    base = Normal([0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ParameterError, match="scale must be positive"):
        Affine(base, 0.0, 0.0)
    with pytest.raises(ParameterError, match=r"loc must be one number .* got shape \(3,\)"):
        Affine(base, np.zeros(3), 1.0)
    with pytest.raises(ParameterError, match="base must be a distribution, got float"):
        Affine(1.0, 0.0, 1.0)
