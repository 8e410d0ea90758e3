from __future__ import annotations

import numpy as np
import pytest
import scoringrules as sr
from scipy.stats import norm

from calibrant.distributions import Clipped, Empirical, Mixture, Normal
from calibrant.errors import ParameterError


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inside scoringrules
@pytest.mark.parametrize("bounds", [(0.0, np.inf), (-np.inf, 0.5), (-0.3, 0.7)])
def test_normal_against_scoringrules(bounds: tuple[float, float]) -> None:
    loc, scale = np.linspace(-4, 4, 41), np.geomspace(0.1, 3, 41)
    dist = Clipped(Normal(loc, scale), *bounds)
    for y in (-0.3, 0.0, 0.2, 0.5):
        inside = np.full(41, np.clip(y, *bounds))
        theirs = sr.crps_cnormal(inside, loc, scale, *bounds)
        known = np.isfinite(theirs)  # not where all mass is outside
        assert known.sum() > 20
        np.testing.assert_allclose(dist.crps(inside)[known], theirs[known], rtol=1e-9, atol=1e-15)


def test_moments_of_a_clipped_normal() -> None:
    loc, scale = np.linspace(-3, 3, 13), np.full(13, 1.5)
    dist = Clipped(Normal(loc, scale), low=0.0)
    z = loc / scale
    mean = loc * norm.cdf(z) + scale * norm.pdf(z)
    second = (loc**2 + scale**2) * norm.cdf(z) + loc * scale * norm.pdf(z)
    np.testing.assert_allclose(dist.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(dist.variance, second - mean**2, rtol=1e-10)


@pytest.mark.parametrize(("low", "high", "at"), [(5.0, 9.0, 5.0), (-9.0, -5.0, -5.0)])
@pytest.mark.parametrize("distance", [1.0, 10.0, 1e6])
def test_all_mass_outside_the_bounds(low: float, high: float, at: float, distance: float) -> None:
    loc = at - np.sign(at) * distance * 1e-2
    for base in (Normal([loc], [1e-3]), Mixture([[1.0, 0.0]], [[loc, 7.0]], [[1e-3, 1.0]])):
        dist = Clipped(base, low, high)
        np.testing.assert_allclose(dist.ppf([1e-9, 0.5, 1 - 1e-9]), at)
        np.testing.assert_allclose(dist.mean, at)
        np.testing.assert_allclose(dist.variance, 0.0, atol=1e-20)
        np.testing.assert_allclose(dist.crps([[at, at + 1.0, at - 2.0]]), [[0.0, 1.0, 2.0]])
        assert dist.cdf(at)[0] == pytest.approx(1.0)
        assert dist.cdf_left(at)[0] == pytest.approx(0.0)
        assert dist.log_prob(at)[0] == pytest.approx(0.0)
        assert np.all(dist.sample(5) == at)


def test_masses_on_the_bounds() -> None:
    dist = Clipped(Normal([0.0], [1.0]), -1.0, 20.0)
    assert dist.log_prob(-1.0)[0] == pytest.approx(norm.logcdf(-1.0))
    assert dist.log_prob(20.0)[0] == pytest.approx(norm.logsf(20.0))  # far beyond 1 - cdf
    assert dist.log_prob(0.3)[0] == pytest.approx(norm.logpdf(0.3))
    np.testing.assert_array_equal(dist.log_prob([[-1.1, 20.1]]), -np.inf)


def test_atoms_of_the_base_on_the_bounds() -> None:
    dist = Clipped(Empirical([[0.0, 1.0, 1.0, 2.0, 3.0]]), 1.0, 2.0)
    np.testing.assert_allclose(np.exp(dist.log_prob([[0.0, 1.0, 2.0, 3.0]])), [[0, 0.6, 0.4, 0]])
    np.testing.assert_allclose(dist.cdf([[0.5, 1.0, 1.5, 2.0]]), [[0.0, 0.6, 0.6, 1.0]])
    np.testing.assert_allclose(dist.cdf_left([[1.0, 1.5, 2.0, 2.5]]), [[0.0, 0.6, 0.6, 1.0]])
    assert dist.mean[0] == pytest.approx(1.4)
    assert dist.variance[0] == pytest.approx(0.24)
    np.testing.assert_allclose(dist.crps(1.0), Empirical([[1, 1, 1, 2, 2]]).crps(1.0))


def test_clipping_cannot_raise_the_crps_of_a_value_inside() -> None:
    base = Mixture([[0.3, 0.7]], [[-1.0, 2.0]], [[1.0, 0.5]])
    y = np.linspace(0.0, 3.0, 31)[None]
    assert np.all(Clipped(base, 0.0, 3.0).crps(y) <= base.crps(y) + 1e-8)


def test_bounds_of_every_row() -> None:
    dist = Clipped(Normal([0.0, 0.0], [1.0, 1.0]), low=[-1.0, 0.0], high=[0.5, np.inf])
    np.testing.assert_allclose(dist.ppf([1e-6, 1 - 1e-6]), [[-1.0, 0.5], [0.0, norm.isf(1e-6)]])
    moved = dist.affine([10.0, 20.0], 2.0)
    assert isinstance(moved, Clipped)
    np.testing.assert_array_equal(moved.low, [8.0, 20.0])
    np.testing.assert_array_equal(moved.high, [11.0, np.inf])


def test_bounds_that_fall_together() -> None:
    """Closer than the digits of the new location, they leave a point."""
    dist = Clipped(Normal([0.0], [1.0]), 0.0, 1.0).affine(1e6, 1e-12)
    np.testing.assert_array_equal(dist.ppf([0.1, 0.9]), 1e6)
    assert dist.cdf(1e6)[0] == 1.0
    assert dist.cdf_left(1e6)[0] == 0.0
    assert dist.log_prob(1e6)[0] == 0.0


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1.0, 1.0, r"low must be below high, got low=\[1\.[ 1.]*\] and high=\[1\.[ 1.]*\]"),
        (2.0, 1.0, "low must be below high"),
        (np.nan, 1.0, "low must be below high"),
        ([0.0, 2.0], [1.0, 1.0], r"got low=\[2\.\] and high=\[1\.\]"),
        ([0.0, 1.0, 2.0], 9.0, r"low must be one number or one for each of 2 rows"),
        ("zero", 1.0, "low must be numbers"),
    ],
)
def test_bad_bounds(low: object, high: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Clipped(Normal([0.0, 0.0], [1.0, 1.0]), low, high)


def test_a_base_that_is_no_distribution() -> None:
    with pytest.raises(ParameterError, match="base must be a distribution, got list"):
        Clipped([1.0], 0.0)
