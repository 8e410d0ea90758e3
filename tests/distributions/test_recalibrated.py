from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from calibrant.distributions import (
    Clipped,
    Distribution,
    Empirical,
    Mixture,
    MonotoneMap,
    Normal,
    Recalibrated,
    concatenate,
)
from calibrant.errors import ParameterError

X = np.array([0.01, 0.2, 0.5, 0.9])
Y = np.array([[0.02, 0.3, 0.5, 0.8], [0.001, 0.1, 0.7, 0.95], X])  # one map per row
ROW_LEVELS = np.concatenate([[0.0, 1e-6], np.linspace(0.02, 0.98, 33), X, [1 - 1e-6, 1.0]])


def zigzag(knots: int, seed: int = 0) -> MonotoneMap:
    """A map as noisy as a small calibration set makes it."""
    x = np.sort(np.random.default_rng(seed).random(knots))
    return MonotoneMap(x, np.arange(1, knots + 1) / (knots + 1))


MAPS = {
    "identity": MonotoneMap(),
    "one knot": MonotoneMap([0.3], [0.6]),
    "zigzag": zigzag(40),
    "steep": MonotoneMap([0.5, 0.5 + 1e-13], [0.1, 0.9]),
    "steep and skewed": MonotoneMap([0.2, 0.2 + 1e-9, 0.7], [0.01, 0.6, 0.65]),
    "overconfident base": MonotoneMap([1e-12, 0.5, 1 - 1e-12], [0.01, 0.4, 0.98]),
    "underconfident base": MonotoneMap([0.4, 0.6], [1e-9, 1 - 1e-9]),
}


def cdf_of_normal(g: MonotoneMap, t: float) -> float:
    return float(g(ndtr(t))) if t < 0 else 1.0 - float(g.mirrored()(ndtr(-t)))


@pytest.mark.parametrize("name", MAPS)
def test_over_a_normal_against_quad(name: str) -> None:
    g = MAPS[name]
    dist = Recalibrated(Normal([0.0, 5.0], [1.0, 1e-3]), g)
    points = np.unique(np.clip(ndtri(g.x), -12, 12))

    def integral(function: object, *cuts: float) -> float:
        edges = np.unique([*points, *np.linspace(-12, 12, 25), *cuts])
        pieces = [
            quad(function, *piece, epsabs=1e-14, epsrel=1e-11)[0] for piece in pairwise(edges)
        ]
        return float(sum(pieces))

    mean = integral(lambda t: (t > 0) - cdf_of_normal(g, t), 0.0)
    second = integral(lambda t: 2 * t * ((t > 0) - cdf_of_normal(g, t)), 0.0)
    np.testing.assert_allclose(dist.mean, [mean, 5.0 + 1e-3 * mean], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(dist.stddev[0], np.sqrt(second - mean**2), rtol=1e-7)
    np.testing.assert_allclose(dist.stddev[1], 1e-3 * np.sqrt(second - mean**2), rtol=1e-7)
    for z in (-9.0, -1.3, 0.0, 0.4, 3.0):
        score = integral(lambda t, z=z: (cdf_of_normal(g, t) - (t >= z)) ** 2, z)
        score += max(abs(z) - 12.0, 0.0)
        np.testing.assert_allclose(dist.crps([z, 5.0 + 1e-3 * z]), [score, 1e-3 * score], rtol=1e-7)


def truth(dist: Recalibrated, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CRPS, mean and variance by far more panels than the library uses, cut at all knots."""
    ends = dist.base.ppf([1e-40, 1 - 2**-53])
    cuts = dist.base.ppf(dist.monotone.x[1:-1])
    centre = dist.median[:, None]
    edges = np.concatenate([cuts, y[:, None], centre, np.linspace(*ends.T, 999, axis=1)], axis=1)
    edges = np.sort(edges, axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(6)
    width = np.diff(edges, axis=1)[:, :, None]
    t = (edges[:, :-1, None] + 0.5 * width * (nodes + 1)).reshape(len(y), -1)
    w = (0.5 * width * weights).reshape(len(y), -1)
    cdf, above = dist.cdf(t), dist.prob_above(t)
    score = np.sum(w * np.where(t < y[:, None], cdf, above) ** 2, axis=1)
    tail = np.where(t < centre, -cdf, above)
    first = np.sum(w * tail, axis=1)
    second = 2 * np.sum(w * tail * (t - centre), axis=1)
    return score, dist.median + first, second - first**2


def mixtures(n: int) -> Mixture:
    rng = np.random.default_rng(3)
    return Mixture(
        rng.dirichlet(np.ones(3), n), rng.normal(0, 2, (n, 3)), rng.uniform(0.3, 2, (n, 3))
    )


@pytest.mark.parametrize(
    ("g", "digits"),
    [
        (MonotoneMap(), 1e-7),
        (zigzag(5), 1e-7),
        (zigzag(40), 1e-7),
        (zigzag(250), 1e-7),
        (MonotoneMap(np.arange(1, 100) / 100, (np.arange(1, 100) / 100) ** 1.3), 1e-7),
        (MAPS["underconfident base"], 1e-7),
        (MAPS["overconfident base"], 1e-4),
        (zigzag(1000), 1e-3),
    ],
    ids=str,
)
def test_over_a_mixture_against_many_panels(g: MonotoneMap, digits: float) -> None:
    dist = Recalibrated(mixtures(10), g)
    y = dist.ppf(0.3) + np.linspace(-2, 2, 10)
    score, mean, variance = truth(dist, y)
    np.testing.assert_allclose(dist.crps(y), score, rtol=digits)
    digits = max(digits, 1e-6)  # of means of mixtures, some of which are sums in float32
    np.testing.assert_allclose(dist.mean, mean, rtol=digits, atol=digits)
    np.testing.assert_allclose(dist.variance, variance, rtol=digits)


def test_mass_beyond_the_reach_of_the_base() -> None:
    """An overconfident base: 2% of the rows lie where it sees one in a hundred billion."""
    g = MonotoneMap([1e-20, 1e-11, 1 - 1e-11], [0.01, 0.02, 0.98])
    levels = np.array([1e-9, 1e-3, 0.015, 0.5, 0.985, 1 - 1e-9])
    for base in (Normal([0.0], [1.0]), Mixture([[0.5, 0.5]], [[0.0, 0.0]], [[1.0, 1.0]])):
        dist = Recalibrated(base, g)
        y = dist.ppf(levels)
        assert np.all(np.isfinite(y))
        # The same from the inverse of the map by hand, in the nearer tail.
        expected = [
            ndtri(1e-9 * 1e-20 / 0.01),
            ndtri(1e-3 * 1e-20 / 0.01),
            ndtri(1e-20 + 0.5 * (1e-11 - 1e-20)),
            0.0,
            -ndtri((1 - (1 - 1e-11)) * 0.015 / 0.02),
            -ndtri((1 - (1 - 1e-11)) * 1e-9 / 0.02),
        ]
        np.testing.assert_allclose(y[0], expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(dist.cdf(y), levels[None], rtol=1e-6)
        np.testing.assert_allclose(dist.prob_above(y), 1 - levels[None], rtol=1e-5)
        assert dist.prob_above(-30.0)[0] == pytest.approx(1.0)
        score, mean, variance = truth(dist, np.zeros(1))
        np.testing.assert_allclose(dist.crps(0.0), score, rtol=1e-4)
        np.testing.assert_allclose(dist.mean, mean, atol=1e-3)
        np.testing.assert_allclose(dist.variance, variance, rtol=1e-3)


def test_identity_changes_nothing() -> None:
    base = mixtures(4)
    dist = Recalibrated(base, MonotoneMap())
    y = base.ppf([0.1, 0.7])
    np.testing.assert_allclose(dist.ppf([1e-9, 0.4]), base.ppf([1e-9, 0.4]), rtol=1e-12)
    np.testing.assert_allclose(dist.log_prob(y), base.log_prob(y), rtol=1e-12)
    np.testing.assert_allclose(dist.crps(y), base.crps(y), rtol=1e-7)
    np.testing.assert_allclose(dist.mean, base.mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(dist.variance, base.variance, rtol=1e-7)


def test_over_samples_the_masses_change() -> None:
    g = MonotoneMap([0.3, 0.6], [0.5, 0.7])
    dist = Recalibrated(Empirical([[1.0, 2.0, 2.0, 5.0]]), g)
    mass = np.diff(g([0.0, 0.25, 0.75, 1.0]))
    values = np.array([1.0, 2.0, 5.0])
    assert dist.mean[0] == pytest.approx(mass @ values)
    assert dist.variance[0] == pytest.approx(mass @ values**2 - (mass @ values) ** 2)
    np.testing.assert_allclose(dist.log_prob(values[None])[0], np.log(mass))
    assert dist.log_prob(3.0)[0] == -np.inf
    spread = mass @ np.abs(values[:, None] - values) @ mass
    assert dist.crps(3.0)[0] == pytest.approx(mass @ np.abs(values - 3.0) - 0.5 * spread)


def test_density_of_a_continuous_base_is_never_taken_for_a_mass() -> None:
    base = Normal([0.0], [1.0])
    y = np.linspace(-9, 9, 5001)[None]
    for g in MAPS.values():
        dist = Recalibrated(base, g)
        np.testing.assert_array_equal(dist.cdf(y), dist.cdf_left(y))
        expected = norm.logpdf(y) + np.log(g.slope(ndtr(y)))
        np.testing.assert_allclose(dist.log_prob(y), expected, rtol=1e-12)


def test_atoms_of_the_base_stay_atoms() -> None:
    g = MonotoneMap([0.3], [0.6])
    dist = Recalibrated(Clipped(Normal([0.0], [1.0]), low=0.0, high=1.0), g)
    assert dist.cdf(0.0)[0] == pytest.approx(g(0.5))
    assert dist.cdf_left(0.0)[0] == 0.0
    assert dist.log_prob(0.0)[0] == pytest.approx(np.log(g(0.5)))
    assert dist.log_prob(1.0)[0] == pytest.approx(np.log(1 - g(ndtr(1.0))))
    inside = norm.logpdf(0.5) + np.log(g.slope(ndtr(0.5)))
    assert dist.log_prob(0.5)[0] == pytest.approx(inside)


def test_one_map_on_another() -> None:
    base = Normal([0.0, 1.0], [1.0, 2.0])
    f, g = MonotoneMap([0.3], [0.6]), MonotoneMap([0.5, 0.8], [0.2, 0.9])
    both = Recalibrated(Recalibrated(base, f), g)
    y = base.ppf([0.1, 0.3, 0.9])
    np.testing.assert_allclose(both.cdf(y), g(f(base.cdf(y))), rtol=1e-12)
    score, mean, _ = truth(both, np.zeros(2))
    np.testing.assert_allclose(both.crps(0.0), score, rtol=1e-4)
    np.testing.assert_allclose(both.mean, mean, rtol=1e-4, atol=1e-4)


def test_moments_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dist = Recalibrated(mixtures(3), zigzag(5))
    mean, spread = dist.mean, dist.stddev
    for name in ("weights", "locs", "scales"):
        monkeypatch.delattr(dist.base, name)
    np.testing.assert_array_equal(dist.mean, mean)
    np.testing.assert_array_equal(dist.stddev, spread)


def test_other_maps_are_kept_side_by_side() -> None:
    base = Normal([0.0], [1.0])
    parts: list[Distribution] = [Recalibrated(base, zigzag(k)) for k in (3, 3, 4)]
    assert type(concatenate(parts[:2])) is Recalibrated
    joined = concatenate(parts)
    np.testing.assert_allclose(joined.ppf(0.2), [part.ppf(0.2)[0] for part in parts])


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match="monotone must be a MonotoneMap, got 'up'"):
        Recalibrated(Normal([0.0], [1.0]), "up")
    with pytest.raises(ParameterError, match="base must be a distribution, got ndarray"):
        Recalibrated(np.zeros(3), MonotoneMap())


def testmoments_and_crps_together_are_those_asked_for_one_by_one() -> None:
    rng = np.random.default_rng(3)
    base = Mixture(rng.uniform(0.1, 1, (50, 12)), rng.normal(size=(50, 12)), np.ones((50, 12)))
    y, curved = rng.normal(size=50), MonotoneMap([0.2, 0.7], [0.1, 0.9])
    for dist in (base, Recalibrated(base, curved), Recalibrated(Normal(y, np.ones(50)), curved)):
        mean, variance, crps = dist.moments_and_crps(y)
        fresh = dist[:]
        np.testing.assert_allclose(mean, fresh.mean, rtol=1e-12)
        np.testing.assert_allclose(variance, fresh.variance, rtol=1e-12)
        np.testing.assert_allclose(crps, fresh.crps(y), rtol=1e-12)


# ---- one map per row ----------------------------------------------------------------------------


def bases() -> dict[str, Normal | Mixture]:
    return {
        "normal": Normal([0.0, 1.0, -2.0], [1.0, 0.5, 3.0]),
        "mixture": Mixture(
            [[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]],
            [[0.0, 3.0], [1.0, 1.5], [0.0, 0.0]],
            [[1.0, 0.2], [2.0, 0.1], [1.0, 1.0]],
        ),
    }


@pytest.mark.parametrize("kind", ["normal", "mixture"])
def test_rows_of_a_recalibrated_distribution(kind: str) -> None:
    base = bases()[kind]
    dist, y = Recalibrated(base, MonotoneMap(X, Y)), np.array([0.3, 1.2, -7.0])
    for i in range(3):
        alone = Recalibrated(base[i], MonotoneMap(X, Y[i]))
        for name in ("cdf", "cdf_left", "log_prob", "crps", "prob_above"):
            found, expected = getattr(dist, name)(y)[i], getattr(alone, name)(y[i : i + 1])[0]
            assert found == pytest.approx(expected, rel=1e-7, abs=1e-9), name
        assert dist.mean[i] == pytest.approx(alone.mean[0], rel=1e-7, abs=1e-9)
        assert dist.stddev[i] == pytest.approx(alone.stddev[0], rel=1e-7)
        np.testing.assert_allclose(
            dist.ppf(ROW_LEVELS)[i], alone.ppf(ROW_LEVELS)[0], rtol=1e-9, atol=1e-9
        )
        np.testing.assert_array_equal(dist[i].ppf(ROW_LEVELS)[0], dist.ppf(ROW_LEVELS)[i])


def test_rows_join_where_knots_are_the_same() -> None:
    dist = Recalibrated(bases()["normal"], MonotoneMap(X, Y))
    joined = concatenate([dist[1:], dist[:1]])
    assert isinstance(joined, Recalibrated)
    np.testing.assert_array_equal(joined.ppf(ROW_LEVELS), dist[[1, 2, 0]].ppf(ROW_LEVELS))
    other = Recalibrated(bases()["normal"], MonotoneMap(X[:2], Y[:, :2]))
    both = concatenate([dist, other])
    np.testing.assert_array_equal(both.cdf(np.ones(6))[3:], other.cdf(np.ones(3)))


def test_bases_that_do_not_fit() -> None:
    with pytest.raises(ParameterError, match="each of 2 rows"):
        Recalibrated(Normal([0.0, 1.0], [1.0, 1.0]), MonotoneMap(X, Y))
    with pytest.raises(ParameterError, match="Empirical"):
        Recalibrated(Empirical(np.zeros((3, 5))), MonotoneMap(X, Y))
    with pytest.raises(ParameterError, match="knots x common to all rows"):
        Recalibrated(bases()["normal"], MonotoneMap(Y, X))
    with pytest.raises(ParameterError, match=r"monotone must map \[0, 1\]"):
        Recalibrated(bases()["normal"], MonotoneMap(X, X, interval=(-1.0, 1.0)))
