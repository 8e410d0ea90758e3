"""One contract for all distributions, whatever they are made of."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest
from tests.distributions.strategies import FAMILIES, LEVELS, TAME_FAMILIES, example

from calibrant import distributions
from calibrant.distributions import Concatenated, Distribution, WithAtoms, concatenate
from calibrant.errors import CalibrantError, DataError, ParameterError

pytestmark = pytest.mark.filterwarnings("error")

every_family = pytest.mark.parametrize("name", FAMILIES)
some = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

TAILS = np.array([1e-9, 1e-6, 1e-3, 0.1, 0.5])
ALL_LEVELS = np.concatenate([TAILS, 1 - TAILS[-2::-1]])


def rows(name: str, data: st.DataObject, n: int = 3, *, tame: bool = False) -> Distribution:
    return data.draw((TAME_FAMILIES if tame else FAMILIES)[name].rows(n))


def neighbours(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers a few last digits below and above: what rounding of y may have moved."""
    step = 4 * np.spacing(np.abs(y))
    return y - step, y + step


def steepness(dist: Distribution) -> float:
    """Largest slope of the maps that a distribution is made with, 0 without any."""
    inner = [dist.base] if hasattr(dist, "base") else getattr(dist, "parts", [])
    slope = dist.monotone.slopes.max() if hasattr(dist, "monotone") else 0.0
    return max([slope, *(steepness(part) for part in inner)])


def test_every_public_family_is_tested() -> None:
    public = {getattr(distributions, name) for name in distributions.__all__}
    families = {
        each for each in public if isinstance(each, type) and issubclass(each, Distribution)
    }
    assert families - {Distribution} == {type(example(name)) for name in FAMILIES}


# ---- shapes ---------------------------------------------------------------------------------


@every_family
@pytest.mark.parametrize("n", [3, 5])
def test_shapes_of_values(name: str, n: int) -> None:
    dist = example(name, n)
    assert len(dist) == n
    for moment in (dist.mean, dist.variance, dist.stddev, dist.median):
        assert moment.shape == (n,)
        assert moment.dtype == np.float64
    for method in (dist.cdf, dist.cdf_left, dist.prob_above, dist.log_prob, dist.crps):
        assert method(0.3).shape == (n,)
        assert method(np.zeros(n)).shape == (n,)
        assert method(np.zeros((n, 1))).shape == (n, 1)
        assert method(np.zeros((n, 4))).shape == (n, 4)
        assert method(np.zeros((n, 0))).shape == (n, 0)
        columns = np.linspace(-1, 1, n)[:, None] + np.arange(11)
        each = np.stack([method(column) for column in columns.T], axis=1)
        np.testing.assert_allclose(method(columns), each, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(method(0.3), method(np.full(n, 0.3)), rtol=1e-12)


@every_family
@pytest.mark.parametrize("n", [3, 5])
def test_shapes_of_levels(name: str, n: int) -> None:
    dist = example(name, n)
    assert dist.ppf(0.9).shape == (n,)
    assert dist.ppf([0.9]).shape == (n, 1)
    assert dist.ppf([0.1, 0.9]).shape == (n, 2)
    assert dist.ppf(np.full((1, 2), 0.3)).shape == (n, 2)
    assert dist.ppf(np.full((n, 4), 0.3)).shape == (n, 4)
    assert dist.ppf([]).shape == (n, 0)
    assert dist.interval().shape == (n, 2)
    assert dist.interval(0.9).shape == (n, 2)
    assert dist.interval([0.5, 0.9]).shape == (n, 2, 2)
    assert dist.sample().shape == (n, 1)
    assert dist.sample(7, random_state=0).shape == (n, 7)


@every_family
def test_no_rows_at_all(name: str) -> None:
    none = example(name)[:0]
    assert len(none) == 0
    assert none.mean.shape == none.variance.shape == none.cdf(0.0).shape == none.ppf(0.5).shape
    assert none.mean.shape == (0,)
    assert none.crps(np.empty((0, 2))).shape == (0, 2)
    assert none.interval([0.5, 0.9, 0.99]).shape == (0, 2, 3)
    assert none.sample(3).shape == (0, 3)
    assert list(none) == []


@every_family
def test_levels_of_every_row(name: str) -> None:
    """Levels in any order, common to all rows or not, give the same quantiles."""
    dist = example(name)
    levels = np.array([0.7, 0.01, 0.999, 0.3, 0.5])
    common = dist.ppf(levels)
    np.testing.assert_allclose(dist.ppf(np.tile(levels, (len(dist), 1))), common, rtol=1e-12)
    order = np.argsort(levels)
    np.testing.assert_array_equal(dist.ppf(levels[order]), common[:, order])
    np.testing.assert_allclose(dist.ppf(0.3), common[:, 3], rtol=1e-12)
    shifted = np.stack([np.roll(levels, i) for i in range(len(dist))])
    expected = [dist[i].ppf(shifted[i])[0] for i in range(len(dist))]
    np.testing.assert_allclose(dist.ppf(shifted), expected, rtol=1e-12)


# ---- distribution functions and quantiles ----------------------------------------------------


@every_family
@given(data=st.data())
@some
def test_quantiles_invert_the_cdf(name: str, data: st.DataObject) -> None:
    dist = rows(name, data)
    q = np.append(ALL_LEVELS, data.draw(arrays(np.float64, 3, elements=LEVELS)))
    y = dist.ppf(q)
    assert np.all(np.isfinite(y))
    below, above = neighbours(y)
    # F reaches q at y, but for the last digits of y, and not before.
    digits = 1e-11 * steepness(dist)  # a steep map magnifies the rounding of its base
    assert np.all(dist.cdf(above) >= q * (1 - 1e-9) - digits)
    assert np.all(dist.cdf_left(below) <= q * (1 + 1e-9) + digits)
    # The same seen from above, where the upper tail keeps its digits.
    assert np.all(dist.prob_above(above) <= (1 - q) * (1 + 1e-9) + digits)
    if FAMILIES[name].continuous:
        assert np.all(dist.prob_above(below) >= (1 - q) * (1 - 1e-9) - digits)


@every_family
def test_quantiles_invert_the_cdf_exactly(name: str) -> None:
    dist = example(name)
    q = np.append(ALL_LEVELS, np.arange(1, 200) / 200)
    if FAMILIES[name].continuous:
        np.testing.assert_allclose(dist.cdf(dist.ppf(q)), np.tile(q, (len(dist), 1)), rtol=1e-9)
        back = dist.prob_above(dist.ppf(q))
        np.testing.assert_allclose(back, np.tile(1 - q, (len(dist), 1)), rtol=1e-9)
    else:
        exact = 1e-15 if "empirical" in name else 1e-9
        assert np.all(dist.cdf(dist.ppf(q)) >= q * (1 - exact))
        assert np.all(dist.cdf_left(dist.ppf(q)) <= q * (1 + exact))


@every_family
@given(data=st.data())
@some
def test_quantiles_never_cross(name: str, data: st.DataObject) -> None:
    dist = rows(name, data)
    q = np.sort(data.draw(arrays(np.float64, 6, elements=st.floats(0, 1))))
    q = np.sort(np.concatenate([q, np.nextafter(q, 0), np.nextafter(q, 1), ALL_LEVELS]))
    y = dist.ppf(q)
    assert np.all(y[:, 1:] >= y[:, :-1])
    np.testing.assert_array_equal(dist.ppf(q[::-1]), y[:, ::-1])
    np.testing.assert_array_equal(dist.ppf(np.tile(q, (len(dist), 1))), y)


@every_family
def test_ends_of_the_support(name: str) -> None:
    dist = example(name)
    ends = dist.ppf([0.0, 1.0])
    assert not np.any(np.isnan(ends))
    assert np.all(ends[:, 0] <= dist.ppf(1e-12))
    assert np.all(ends[:, 1] >= dist.ppf(1 - 1e-12))
    if FAMILIES[name].continuous:
        assert np.all(np.isinf(ends))


@every_family
@given(data=st.data())
@some
def test_cdf_is_a_distribution_function(name: str, data: st.DataObject) -> None:
    dist = rows(name, data)
    y = np.sort(np.concatenate([dist.ppf(ALL_LEVELS), dist.ppf([0.2, 0.8]) + 1.0], axis=1), axis=1)
    cdf, left, above = dist.cdf(y), dist.cdf_left(y), dist.prob_above(y)
    assert np.all((cdf >= 0) & (cdf <= 1) & (above >= 0) & (above <= 1))
    assert np.all(np.diff(cdf, axis=1) >= -1e-15)
    assert np.all(left <= cdf)
    if FAMILIES[name].continuous:
        np.testing.assert_array_equal(left, cdf)
    np.testing.assert_allclose(above, 1 - cdf, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(dist.cdf(-np.inf), 0.0)
    np.testing.assert_array_equal(dist.cdf(np.inf), 1.0)
    np.testing.assert_array_equal(dist.prob_above(-np.inf), 1.0)
    np.testing.assert_array_equal(dist.prob_above(np.inf), 0.0)
    np.testing.assert_array_equal(dist.log_prob(np.inf), -np.inf)
    np.testing.assert_array_equal(dist.log_prob(-np.inf), -np.inf)


@every_family
@given(data=st.data())
@some
def test_density_is_the_slope_of_the_cdf(name: str, data: st.DataObject) -> None:
    dist = rows(name, data)
    q = data.draw(LEVELS)
    # Where the density does not turn it lies between the mean slopes on both sides.
    at = dist.ppf([q * (1 - 1e-6), q, q + (1 - q) * 1e-6])
    smooth = np.all(np.diff(at, axis=1) > 1e6 * np.spacing(np.abs(at[:, :-1])), axis=1)
    smooth &= np.all(dist.cdf(at) == dist.cdf_left(at), axis=1)
    around = dist.log_prob(at)
    smooth &= (around[:, 0] > around[:, 1]) != (around[:, 1] < around[:, 2])
    dist, at = dist[smooth], at[smooth]
    cdf, above = dist.cdf(at), dist.prob_above(at)
    rise = np.where(cdf[:, 1:] < 0.5, np.diff(cdf, axis=1), -np.diff(above, axis=1))
    slopes = rise / np.diff(at, axis=1)
    density = np.exp(dist.log_prob(at[:, 1]))
    # A spike of almost no mass may hide between the two.
    assert np.all(density >= slopes.min(axis=1) * (1 - 1e-2))
    assert np.all(density <= slopes.max(axis=1) * (1 + 1e-2))


@every_family
def test_density_and_atoms_add_up_to_one(name: str) -> None:
    dist = example(name)
    ends = dist.ppf([1e-14, 1 - 1e-14]) + np.array([-1e-9, 1e-9])
    y = np.linspace(*ends.T, 40_001, axis=1)
    y = np.sort(np.concatenate([y, dist.ppf(np.arange(1, 2000) / 2000)], axis=1), axis=1)
    atom = dist.cdf(y) > dist.cdf_left(y)
    p = np.exp(dist.log_prob(y))
    # Every atom once; between neighbours the density by the rule of trapezoids.
    first = np.concatenate([np.ones((len(y), 1), bool), np.diff(y, axis=1) > 0], axis=1)
    mass = np.sum(p * (atom & first), axis=1)
    density = np.where(atom, np.nan, p)
    both = 0.5 * (density[:, 1:] + density[:, :-1])
    one = np.where(np.isnan(density[:, 1:]), density[:, :-1], density[:, 1:])
    mean = np.where(np.isnan(both), one, both)
    area = np.nansum(mean * np.diff(y, axis=1), axis=1)
    np.testing.assert_allclose(mass + area, 1.0, atol=2e-3)


# ---- scores and moments ------------------------------------------------------------------------


def fine_levels() -> np.ndarray:
    tails = np.geomspace(1e-13, 1e-3, 150, endpoint=False)
    return np.concatenate([tails, np.linspace(1e-3, 1 - 1e-3, 2000), 1 - tails[::-1]])


@every_family
@given(data=st.data())
@some
def test_crps_lies_between_riemann_sums(name: str, data: st.DataObject) -> None:
    dist = rows(name, data, 2)
    y = (
        dist.ppf(data.draw(LEVELS))
        + data.draw(st.sampled_from([0.0, 0.0, 1.0, -1e3])) * dist.stddev
    )
    t = np.sort(np.concatenate([dist.ppf(fine_levels()), y[:, None]], axis=1), axis=1)
    width = np.diff(t, axis=1)
    after = t[:, :-1] >= y[:, None]
    start, stop = dist.cdf(t[:, :-1]) - after, dist.cdf_left(t[:, 1:]) - after
    least = np.sum(width * np.minimum(start**2, stop**2), axis=1)
    most = np.sum(width * np.maximum(start**2, stop**2), axis=1)
    score = dist.crps(y)
    rounding = 1e-9 * dist.stddev + 2 * np.spacing(np.abs(t).max(axis=1))
    assert np.all(score >= least * (1 - 1e-6) - rounding)
    assert np.all(score <= most * (1 + 1e-6) + rounding)


@every_family
@given(data=st.data())
@some
def test_moments_lie_between_riemann_sums(name: str, data: st.DataObject) -> None:
    dist = rows(name, data, 2, tame=True)
    levels = fine_levels()
    share = np.diff(levels)
    y = dist.ppf(levels)
    digits = 1e-7 * dist.stddev + 8 * np.spacing(np.abs(y).max(axis=1))
    digits += 1e-12 * (y[:, -1] - y[:, 0])  # the levels beyond 1e-13
    # Seen from the median, whose digits would otherwise hide the rest.
    centre = dist.median[:, None]
    assert np.all(dist.mean - centre[:, 0] >= (y[:, :-1] - centre) @ share - digits)
    assert np.all(dist.mean - centre[:, 0] <= (y[:, 1:] - centre) @ share + digits)
    start, stop = (y[:, :-1] - dist.mean[:, None]), (y[:, 1:] - dist.mean[:, None])
    least = np.where(start * stop < 0, 0.0, np.minimum(start**2, stop**2)) @ share
    most = np.maximum(start**2, stop**2) @ share
    assert np.all(dist.stddev >= np.sqrt(least) * (1 - 1e-6) - digits)
    assert np.all(dist.stddev <= np.sqrt(most) * (1 + 1e-6) + digits)
    np.testing.assert_allclose(dist.stddev**2, dist.variance, rtol=1e-12)


@every_family
def test_crps_and_moments_to_many_digits(name: str) -> None:
    """Against sums over so many panels that nothing but rounding is left."""
    dist = example(name)
    y = dist.ppf([0.02, 0.4, 0.97]) + np.array([-0.3, 0.0, 0.1])
    # Panels end where the cdf jumps or has a kink: at quantiles of the map's knots.
    knots = dist.ppf([0.03, 0.3, 0.55, 0.9, *np.arange(1, 100) / 100])
    atoms = dist.ppf(np.linspace(1e-15, 1 - 1e-15, 500))
    ends = dist.ppf([1e-15, 1 - 1e-15])
    edges = np.concatenate([knots, atoms, y, np.linspace(*ends.T, 300, axis=1)], axis=1)
    for each in (dist, getattr(dist, "base", dist)):
        if isinstance(each, WithAtoms):  # the cdf bends at both ends of a cell, too
            edges = np.concatenate([edges, each.low, each.high], axis=1)
    edges = np.sort(np.concatenate([edges, y.min(axis=1, keepdims=True) - 1], axis=1), axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    width = np.diff(edges, axis=1)[:, :, None]
    t = edges[:, :-1, None] + width * 0.5 * (nodes + 1)
    w = 0.5 * width * weights
    cdf = dist.cdf(t.reshape(len(dist), -1)).reshape(t.shape)
    for j in range(y.shape[1]):
        after = t >= y[:, j, None, None]
        expected = np.sum(w * (cdf - after) ** 2, axis=(1, 2))
        np.testing.assert_allclose(dist.crps(y[:, j]), expected, rtol=2e-7)
    centre = dist.median[:, None, None]
    tail = np.where(t < centre, -cdf, 1 - cdf)
    mean = dist.median + np.sum(w * tail, axis=(1, 2))
    second = 2 * np.sum(w * tail * (t - centre), axis=(1, 2))
    digits = 1e-6 if "mixture" in name else 1e-7  # means of mixtures are sums in float32
    np.testing.assert_allclose(dist.mean, mean, rtol=digits, atol=digits * dist.stddev.max())
    np.testing.assert_allclose(dist.variance, second - (mean - dist.median) ** 2, rtol=1e-6)


@every_family
def test_crps_of_a_far_value_is_its_distance(name: str) -> None:
    dist = example(name)
    for far in (-1e8, 1e8):
        np.testing.assert_allclose(dist.crps(far), 1e8, rtol=1e-6)


@every_family
def test_samples_follow_the_cdf(name: str) -> None:
    dist = example(name)
    draws = dist.sample(3000, random_state=1)
    low, high = dist.cdf_left(draws), dist.cdf(draws)
    assert np.all(np.isfinite(draws))
    # Between the two sides of an atom the transform is spread at random.
    uniform = low + np.random.default_rng(2).random(draws.shape) * (high - low)
    for row in uniform:
        assert kstest(row, "uniform").pvalue > 1e-4


@every_family
def test_samples_repeat_with_the_seed(name: str) -> None:
    dist = example(name)
    first = dist.sample(4, random_state=3)
    np.testing.assert_array_equal(first, dist.sample(4, random_state=3))
    np.testing.assert_array_equal(first, dist.sample(4, random_state=np.random.default_rng(3)))
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(first, dist.sample(4, random_state=generator))
    assert np.any(first != dist.sample(4, random_state=generator))
    assert np.any(first != dist.sample(4, random_state=4))


@every_family
def test_interval_is_two_quantiles(name: str) -> None:
    dist = example(name)
    coverage = np.array([0.5, 0.95, 0.8])
    both = dist.interval(coverage)
    np.testing.assert_allclose(both[:, 0], dist.ppf((1 - coverage) / 2), rtol=1e-12)
    np.testing.assert_allclose(both[:, 1], dist.ppf((1 + coverage) / 2), rtol=1e-12)
    np.testing.assert_allclose(dist.interval(0.95), both[:, :, 1], rtol=1e-12)
    assert np.all(both[:, 0] <= both[:, 1])
    np.testing.assert_array_equal(dist.interval(), dist.interval(0.9))


# ---- affine changes ----------------------------------------------------------------------------


@every_family
@given(data=st.data())
@some
def test_affine_change(name: str, data: st.DataObject) -> None:
    dist = rows(name, data)
    loc = data.draw(arrays(np.float64, len(dist), elements=st.floats(-3, 3))) * dist.stddev
    scale = 10.0 ** data.draw(arrays(np.float64, len(dist), elements=st.floats(-3, 3)))
    moved = dist.affine(loc, scale)
    assert len(moved) == len(dist)
    y = dist.ppf(ALL_LEVELS)
    there = loc[:, None] + scale[:, None] * y
    size = scale * (np.abs(y).max(axis=1) + dist.stddev) + np.abs(loc)
    digits = 1e-13 * size[:, None] + 1e-9 * (scale * dist.stddev)[:, None]
    # Between modes far apart F is flat, and every point there is a quantile.
    nearer = np.minimum(ALL_LEVELS, 1 - ALL_LEVELS)
    flat = np.exp(dist.log_prob(y)) * dist.stddev[:, None] < 1e-3 * nearer
    assert np.all(flat | (np.abs(moved.ppf(ALL_LEVELS) - there) <= digits))
    # Means of mixtures under a map are sums in float32, to about 1e-7 standard deviations.
    single = 2e-7 * scale * dist.stddev if steepness(dist) > 0 else 0.0
    assert np.all(np.abs(moved.mean - loc - scale * dist.mean) <= digits[:, 0] + single)
    # Rounding may have moved components by the last digits of their places.
    noise = 1e-14 * size / scale
    assert np.all(np.abs(moved.stddev / scale - dist.stddev) <= 1e-6 * dist.stddev + noise)
    crps = scale[:, None] * dist.crps(y)
    assert np.all(np.abs(moved.crps(there) - crps) <= 1e-6 * crps + 4 * digits)


@every_family
def test_affine_change_to_many_digits(name: str) -> None:
    dist = example(name)
    loc, scale = np.linspace(-2, 2, len(dist)), np.geomspace(0.1, 10, len(dist))
    moved = dist.affine(loc, scale)
    y = dist.ppf([0.05, 0.4, 0.6, 0.99])
    there = loc[:, None] + scale[:, None] * y
    np.testing.assert_allclose(moved.ppf([0.05, 0.4, 0.6, 0.99]), there, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(moved.mean, loc + scale * dist.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(moved.variance, scale**2 * dist.variance, rtol=1e-9)
    np.testing.assert_allclose(moved.crps(there), scale[:, None] * dist.crps(y), rtol=1e-6)
    # Atoms stay atoms: their places are computed in the same way.
    np.testing.assert_allclose(moved.cdf(there), dist.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(moved.cdf_left(there), dist.cdf_left(y), rtol=1e-9)
    np.testing.assert_allclose(moved.prob_above(there), dist.prob_above(y), rtol=1e-9, atol=1e-15)
    atom = dist.cdf(y) > dist.cdf_left(y)
    expected = dist.log_prob(y) - np.where(atom, 0.0, np.log(scale)[:, None])
    np.testing.assert_allclose(moved.log_prob(there), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        moved.sample(5, random_state=0),
        loc[:, None] + scale[:, None] * dist.sample(5, 0),
        rtol=1e-9,
    )
    same = dist.affine(1.5, 2.0).ppf(0.3)
    np.testing.assert_allclose(same, dist.affine(np.full(5, 1.5), np.full(5, 2.0)).ppf(0.3))


# ---- rows --------------------------------------------------------------------------------------


def assert_same(one: Distribution, other: Distribution) -> None:
    assert len(one) == len(other)
    levels = [0.01, 0.3, 0.5, 0.9]
    np.testing.assert_allclose(one.ppf(levels), other.ppf(levels), rtol=1e-12)
    np.testing.assert_allclose(one.cdf(0.4), other.cdf(0.4), rtol=1e-12)
    np.testing.assert_allclose(one.crps(0.4), other.crps(0.4), rtol=1e-10)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(one.variance, other.variance, rtol=1e-10)
    np.testing.assert_allclose(one.log_prob(0.4), other.log_prob(0.4), rtol=1e-10)


@every_family
@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        np.int64(2),
        slice(None),
        slice(1, 3),
        slice(None, None, -1),
        slice(-2, None),
        slice(4, 1),
        [3, 0, 0, -1],
        np.array([1, 4]),
        [],
        [True, False, True, True, False],
        np.zeros(5, dtype=bool),
    ],
    ids=str,
)
def test_rows_by_index(name: str, index: object) -> None:
    dist = example(name)
    dist.mean  # what was computed for all rows must not stand for a part of them  # noqa: B018
    chosen = dist[index]
    assert type(chosen) is type(dist)
    numbers = np.atleast_1d(np.arange(5)[index])
    assert len(chosen) == len(numbers)
    levels = [0.01, 0.3, 0.5, 0.9]
    np.testing.assert_allclose(chosen.ppf(levels), dist.ppf(levels)[numbers], rtol=1e-12)
    np.testing.assert_allclose(chosen.cdf(0.4), dist.cdf(0.4)[numbers], rtol=1e-12)
    np.testing.assert_allclose(chosen.crps(0.4), dist.crps(0.4)[numbers], rtol=1e-10)
    np.testing.assert_allclose(chosen.mean, dist.mean[numbers], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(chosen.variance, dist.variance[numbers], rtol=1e-10)


@every_family
@pytest.mark.parametrize("index", [5, -6, [0, 5], np.int64(7)], ids=str)
def test_rows_out_of_range(name: str, index: object) -> None:
    with pytest.raises(IndexError, match="out of range for 5 rows"):
        example(name)[index]


@every_family
@pytest.mark.parametrize(
    "index", [(0, 1), None, ..., 1.5, [0.5], "a", [[0, 1]], [True, False], True], ids=repr
)
def test_rows_by_something_else(name: str, index: object) -> None:
    with pytest.raises(IndexError, match=r"mask of shape \(5,\)"):
        example(name)[index]


@every_family
def test_iteration_ends(name: str) -> None:
    dist = example(name)
    single = list(dist)
    assert [len(row) for row in single] == [1] * len(dist)
    np.testing.assert_allclose([row.ppf(0.2)[0] for row in single], dist.ppf(0.2), rtol=1e-12)


@every_family
def test_concatenation_of_its_own_rows(name: str) -> None:
    dist = example(name)
    whole = concatenate([dist[:2], dist[2:4], dist[4:]])
    assert type(whole) is type(dist)
    assert_same(whole, dist)
    assert_same(concatenate(iter([dist])), dist)
    assert_same(concatenate([dist[:0], dist]), dist)


@every_family
@pytest.mark.parametrize("other", ["normal", "mixture", "recalibrated empirical", "concatenated"])
def test_concatenation_with_others(name: str, other: str) -> None:
    first, second = example(name), example(other, seed=1)
    joined = concatenate([first, second])
    assert_same(joined[:5], first)
    assert_same(joined[5:], second)
    assert_same(joined[[7, 1]], concatenate([second[2], first[1]]))
    if name not in (other, "concatenated"):
        assert isinstance(joined, Concatenated)
        assert len(joined.affine(0.0, 2.0)) == 10


@every_family
def test_copies(name: str) -> None:
    dist = example(name)
    assert_same(copy.deepcopy(dist), dist)
    assert_same(pickle.loads(pickle.dumps(dist)), dist)
    assert "5 rows" in repr(dist)


@every_family
def test_answers_are_the_callers_to_change(name: str) -> None:
    dist = example(name)
    before = [dist.mean, dist.variance, dist.stddev, dist.ppf([0.2, 0.5]), dist.cdf(0.1)]
    for answer in (dist.mean, dist.variance, dist.stddev, dist.ppf([0.2, 0.5]), dist.cdf(0.1)):
        answer *= 7.0
    after = [dist.mean, dist.variance, dist.stddev, dist.ppf([0.2, 0.5]), dist.cdf(0.1)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


# ---- errors ------------------------------------------------------------------------------------


@every_family
@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 2.0], np.inf])
def test_levels_outside_the_unit_interval(name: str, q: object) -> None:
    with pytest.raises(ParameterError, match=r"levels must lie in \[0, 1\], got \["):
        example(name).ppf(q)


def test_levels_in_percent() -> None:
    with pytest.raises(ParameterError, match=r"got \[ ?5\. 95\.\]\. Did you mean 0\.05, 0\.95\?$"):
        example("normal").ppf([5, 95])


@every_family
def test_levels_of_a_wrong_shape(name: str) -> None:
    dist = example(name)
    with pytest.raises(ParameterError, match=r"scalar, \(L,\) or \(5, L\), got shape \(3, 2\)"):
        dist.ppf(np.full((3, 2), 0.5))
    with pytest.raises(ParameterError, match=r"got shape \(5, 2, 1\)"):
        dist.ppf(np.full((5, 2, 1), 0.5))
    with pytest.raises(ParameterError, match="levels must be numbers, got 'high'"):
        dist.ppf("high")


@every_family
@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.2, 95, np.nan, [0.5, 1.5], [[0.5]]])
def test_coverage_outside_the_unit_interval(name: str, coverage: object) -> None:
    with pytest.raises(ParameterError, match=r"coverage must be one number or a list of numbers"):
        example(name).interval(coverage)


@every_family
@pytest.mark.parametrize("method", ["cdf", "cdf_left", "log_prob", "crps", "prob_above"])
def test_values_that_do_not_fit(name: str, method: str) -> None:
    call = getattr(example(name), method)
    with pytest.raises(DataError, match=r"\(5,\) or \(5, k\) values for 5 rows, .* \(4,\)"):
        call(np.zeros(4))
    with pytest.raises(DataError, match=r"shape \(1, 5\)"):
        call(np.zeros((1, 5)))
    with pytest.raises(DataError, match=r"shape \(5, 1, 1\)"):
        call(np.zeros((5, 1, 1)))
    with pytest.raises(DataError, match=r"y must be .*, got \[nan\]"):
        call([0.0, 1.0, np.nan, 2.0, 3.0])
    with pytest.raises(DataError, match="y must be numbers, got 'a'"):
        call("a")
    with pytest.raises(ValueError, match="numbers"):
        call([None, object(), 1, 2, 3])


@every_family
def test_crps_of_infinity(name: str) -> None:
    with pytest.raises(DataError, match=r"y must be finite, got \[inf\]"):
        example(name).crps([0.0, np.inf, 0.0, 0.0, 0.0])


@every_family
def test_samples_that_cannot_be_drawn(name: str) -> None:
    dist = example(name)
    for n in (0, -3):
        with pytest.raises(ParameterError, match=f"n >= 1, got {n}"):
            dist.sample(n)
    with pytest.raises(ParameterError, match=r"whole number n, got 2\.5"):
        dist.sample(2.5)
    for seed in (-1, "seed", 1.5):
        with pytest.raises(ParameterError, match="random_state must be None, a whole number"):
            dist.sample(2, random_state=seed)


@every_family
def test_affine_changes_that_do_not_fit(name: str) -> None:
    dist = example(name)
    for scale in (0.0, -1.0):
        with pytest.raises(ParameterError, match="scale must be positive"):
            dist.affine(0.0, scale)
    with pytest.raises(ParameterError, match=r"loc must be finite, got \[nan"):
        dist.affine(np.nan, 1.0)
    with pytest.raises(ParameterError, match=r"scale must be finite, got \[inf"):
        dist.affine(0.0, np.inf)
    with pytest.raises(ParameterError, match=r"loc must be one number or one for each of 5 rows"):
        dist.affine(np.zeros(4), 1.0)
    with pytest.raises(ParameterError, match=r"scale must be one number .* shape \(5, 1\)"):
        dist.affine(0.0, np.ones((5, 1)))
    with pytest.raises(ParameterError, match="loc must be numbers"):
        dist.affine("far", 1.0)
    with pytest.raises(ParameterError, match="must be one number"):
        dist[0].affine(np.zeros(3), 1.0)


@every_family
def test_names_of_other_libraries(name: str) -> None:
    dist = example(name)
    with pytest.raises(AttributeError, match=r"has no 'quantile': use ppf\(q\)\.$"):
        dist.quantile(0.9)
    with pytest.raises(AttributeError, match="has no 'std': use stddev"):
        _ = dist.std
    with pytest.raises(AttributeError, match=r"has no attribute '_nothing'"):
        _ = dist._nothing
    assert not hasattr(dist, "std")


@every_family
def test_not_an_array(name: str) -> None:
    with pytest.raises(TypeError, match="is not an array"):
        np.asarray(example(name))


def test_nothing_to_concatenate() -> None:
    with pytest.raises(ParameterError, match="concatenate needs at least one distribution"):
        concatenate([])
    with pytest.raises(CalibrantError, match="concatenate joins distributions, got int, ndarray"):
        concatenate([example("normal"), 3, np.zeros(2)])
