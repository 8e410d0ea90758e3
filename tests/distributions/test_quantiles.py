from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scoringrules as sr
from scipy.integrate import quad
from scipy.stats import logistic

from calibrant.distributions import Concatenated, Quantiles, concatenate
from calibrant.errors import ParameterError

LEVELS = np.array([0.02, 0.2, 0.5, 0.6, 0.95])
UNEVEN = Quantiles(LEVELS, [[-3.0, -0.5, 0.0, 2.0, 2.1], [10.0, 10.1, 10.2, 17.0, 18.0]])


@pytest.mark.parametrize("levels", [[0.3, 0.8], LEVELS, np.arange(1, 60) / 60], ids=len)
def test_one_line_is_a_logistic_distribution(levels) -> None:
    loc, scale = np.array([-3.0, 0.0, 1e3]), np.array([0.1, 1.0, 20.0])
    theirs = logistic(loc[:, None], scale[:, None])
    dist = Quantiles(levels, theirs.ppf(levels))
    np.testing.assert_allclose(dist.mean, loc, atol=1e-12)
    np.testing.assert_allclose(dist.variance, theirs.var()[:, 0], rtol=1e-10)
    q = np.array([1e-12, 1e-3, 0.4, 0.99, 1 - 1e-9])
    y = theirs.ppf(q)
    np.testing.assert_allclose(dist.ppf(q), y, rtol=1e-10)
    np.testing.assert_allclose(dist.cdf(y), theirs.cdf(y), rtol=1e-8)
    np.testing.assert_allclose(dist.prob_above(y), theirs.sf(y), rtol=1e-8)
    np.testing.assert_allclose(dist.log_prob(y), theirs.logpdf(y), rtol=1e-8)
    expected = sr.crps_logistic(y, loc[:, None], scale[:, None])
    np.testing.assert_allclose(dist.crps(y), expected, rtol=1e-8)


@pytest.mark.parametrize("row", [0, 1])
def test_crps_is_the_pinball_loss_of_all_levels(row: int) -> None:
    dist = UNEVEN[row]
    for y in (*dist.values[0], dist.ppf(0.001)[0], dist.mean[0], dist.ppf(0.999)[0]):

        def pinball(p: float, y: float = y) -> float:
            q = dist.ppf(p)[0]
            return 2.0 * (float(y < q) - p) * (q - y)

        cuts = [0.0, *np.sort([*LEVELS, dist.cdf(y)[0]]), 1.0]
        parts = [quad(pinball, a, b, epsabs=1e-11)[0] for a, b in pairwise(cuts)]
        assert dist.crps(y)[0] == pytest.approx(sum(parts), rel=1e-7)


def test_moments_are_integrals_of_the_quantiles() -> None:
    cuts = [0.0, *LEVELS, 1.0]
    for dist in UNEVEN:

        def integral(power: int, dist: Quantiles = dist) -> float:
            centre = dist.median[0]
            parts = [
                quad(lambda p: (dist.ppf(p)[0] - centre) ** power, a, b, epsabs=1e-11)[0]
                for a, b in pairwise(cuts)
            ]
            return sum(parts)

        mean = integral(1)
        assert dist.mean[0] - dist.median[0] == pytest.approx(mean, rel=1e-7)
        assert dist.variance[0] == pytest.approx(integral(2) - mean**2, rel=1e-7)


def test_it_has_the_quantiles_that_it_was_given() -> None:
    np.testing.assert_allclose(UNEVEN.ppf(LEVELS), UNEVEN.values, rtol=1e-12)
    np.testing.assert_allclose(UNEVEN.cdf(UNEVEN.values), np.tile(LEVELS, (2, 1)), rtol=1e-12)


def test_the_callers_arrays_stay_apart() -> None:
    levels, values = np.array([0.2, 0.8]), np.array([[1.0, 2.0]])
    dist = Quantiles(levels, values)
    levels[0], values[0, 0] = 0.7, 9.0
    np.testing.assert_allclose(dist.ppf(0.2), 1.0)


def test_other_levels_are_kept_side_by_side() -> None:
    other = Quantiles([0.1, 0.9], [[0.0, 1.0]])
    joined = concatenate([UNEVEN, other])
    assert isinstance(joined, Concatenated)
    np.testing.assert_allclose(joined.ppf(0.9)[2], 1.0)


@pytest.mark.parametrize("levels", [[0.5], [], 0.5, [0.5, 0.5], [0.9, 0.1], [0.0, 0.5], [[0.1]]])
def test_levels_that_can_not_be(levels: object) -> None:
    with pytest.raises(ParameterError, match="at least two strictly increasing numbers inside"):
        Quantiles(levels, [[0.0, 1.0]])


def test_values_that_can_not_be() -> None:
    with pytest.raises(
        ParameterError, match=r"one column for each of 2 levels, got shape \(1, 3\)"
    ):
        Quantiles([0.1, 0.9], [[0.0, 1.0, 2.0]])
    with pytest.raises(ParameterError, match=r"increase strictly .* got \[2. 1.\] in row 1"):
        Quantiles([0.1, 0.9], [[0.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ParameterError, match="values must be finite"):
        Quantiles([0.1, 0.9], [[0.0, np.nan]])
