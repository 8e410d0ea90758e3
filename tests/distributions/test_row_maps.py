"""A map for every row is, row by row, what the map of all rows is."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import (
    Empirical,
    Mixture,
    MonotoneMap,
    Normal,
    Recalibrated,
    RowMaps,
    concatenate,
)
from calibrant.errors import ParameterError

X = np.array([0.01, 0.2, 0.5, 0.9])
Y = np.array([[0.02, 0.3, 0.5, 0.8], [0.001, 0.1, 0.7, 0.95], X])
LEVELS = np.concatenate([[0.0, 1e-6], np.linspace(0.02, 0.98, 33), X, [1 - 1e-6, 1.0]])


def bases() -> dict[str, Normal | Mixture]:
    return {
        "normal": Normal([0.0, 1.0, -2.0], [1.0, 0.5, 3.0]),
        "mixture": Mixture(
            [[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]],
            [[0.0, 3.0], [1.0, 1.5], [0.0, 0.0]],
            [[1.0, 0.2], [2.0, 0.1], [1.0, 1.0]],
        ),
    }


def test_maps_inverses_and_slopes() -> None:
    maps = RowMaps(X, Y)
    for i, y in enumerate(Y):
        alone = MonotoneMap(X, y)
        for name in ("__call__", "inverse"):
            every, one = getattr(maps, name)(LEVELS[None])[i], getattr(alone, name)(LEVELS)
            np.testing.assert_allclose(every, one, rtol=1e-12, err_msg=name)
        same = np.repeat(LEVELS[None], 3, axis=0)
        np.testing.assert_allclose(maps.slope(same)[i], alone.slope(LEVELS), rtol=1e-12)
        mirrored = maps.mirrored()(LEVELS[None])[i]
        np.testing.assert_allclose(mirrored, alone.mirrored()(LEVELS), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", ["normal", "mixture"])
def test_rows_of_a_recalibrated_distribution(kind: str) -> None:
    base = bases()[kind]
    dist, y = Recalibrated(base, RowMaps(X, Y)), np.array([0.3, 1.2, -7.0])
    for i in range(3):
        alone = Recalibrated(base[i], MonotoneMap(X, Y[i]))
        for name in ("cdf", "cdf_left", "log_prob", "crps", "prob_above"):
            found, expected = getattr(dist, name)(y)[i], getattr(alone, name)(y[i : i + 1])[0]
            assert found == pytest.approx(expected, rel=1e-7, abs=1e-9), name
        assert dist.mean[i] == pytest.approx(alone.mean[0], rel=1e-7, abs=1e-9)
        assert dist.stddev[i] == pytest.approx(alone.stddev[0], rel=1e-7)
        np.testing.assert_allclose(dist.ppf(LEVELS)[i], alone.ppf(LEVELS)[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(dist[i].ppf(LEVELS)[0], dist.ppf(LEVELS)[i])


def test_rows_join_where_knots_are_the_same() -> None:
    dist = Recalibrated(bases()["normal"], RowMaps(X, Y))
    joined = concatenate([dist[1:], dist[:1]])
    assert isinstance(joined, Recalibrated)
    np.testing.assert_array_equal(joined.ppf(LEVELS), dist[[1, 2, 0]].ppf(LEVELS))
    other = Recalibrated(bases()["normal"], RowMaps(X[:2], Y[:, :2]))
    both = concatenate([dist, other])
    np.testing.assert_array_equal(both.cdf(np.ones(6))[3:], other.cdf(np.ones(3)))


def test_between_places_maps_are_mixed() -> None:
    places = np.array([1.0, 2.0, 4.0])
    maps = RowMaps.between(X, places, Y, np.array([-9.0, 1.0, 1.5, 3.5, 4.0, 99.0]))
    expected = [Y[0], Y[0], 0.5 * (Y[0] + Y[1]), 0.25 * Y[1] + 0.75 * Y[2], Y[2], Y[2]]
    np.testing.assert_allclose(maps.y[:, 1:-1], expected)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, Y[:, :2], "of shape"),
        (X[::-1], Y, "strictly increasing"),
        (X, Y[:, ::-1], "strictly increasing"),
        (X, np.ones((3, 4)), "strictly increasing"),
    ],
)
def test_what_is_no_map(x: np.ndarray, y: np.ndarray, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RowMaps(x, y)


def test_bases_that_do_not_fit() -> None:
    with pytest.raises(ParameterError, match="each of 2 rows"):
        Recalibrated(Normal([0.0, 1.0], [1.0, 1.0]), RowMaps(X, Y))
    with pytest.raises(ParameterError, match="Empirical"):
        Recalibrated(Empirical(np.zeros((3, 5))), RowMaps(X, Y))
