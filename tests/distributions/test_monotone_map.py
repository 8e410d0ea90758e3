"""One class of maps: one map for all rows, or one per row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.distributions.strategies import maps

from calibrant.distributions import MonotoneMap
from calibrant.errors import ParameterError

X = np.array([0.01, 0.2, 0.5, 0.9])
Y = np.array([[0.02, 0.3, 0.5, 0.8], [0.001, 0.1, 0.7, 0.95], X])
LEVELS = np.concatenate([[0.0, 1e-6], np.linspace(0.02, 0.98, 33), X, [1 - 1e-6, 1.0]])
UNIT = arrays(np.float64, 8, elements=st.floats(0, 1))
some = settings(max_examples=100, deadline=None, derandomize=True)


@given(g=maps(), p=UNIT)
@some
def test_inverse(g: MonotoneMap, p: np.ndarray) -> None:
    np.testing.assert_allclose(g.inverse(g(p)), p, rtol=1e-9, atol=1e-15 * (1 / g.slopes).max())
    np.testing.assert_allclose(g(g.inverse(p)), p, rtol=1e-9, atol=1e-15 * g.slopes.max())
    np.testing.assert_array_equal(g([0.0, 1.0]), [0.0, 1.0])
    np.testing.assert_array_equal(g.inverse([0.0, 1.0]), [0.0, 1.0])
    np.testing.assert_array_equal(g.inverse(g.y), g.x)
    np.testing.assert_array_equal(g(g.x), g.y)


@given(g=maps(), p=UNIT)
@some
def test_inverse_never_decreases(g: MonotoneMap, p: np.ndarray) -> None:
    near = np.concatenate([p, g.y, np.nextafter(p, 0), np.nextafter(g.y, 0), np.nextafter(g.y, 1)])
    near = np.sort(np.clip(near, 0, 1))
    assert np.all(np.diff(g.inverse(near)) >= 0)


@given(g=maps(), p=UNIT)
@some
def test_mirrored(g: MonotoneMap, p: np.ndarray) -> None:
    digits = 1e-15 * g.slopes.max()
    np.testing.assert_allclose(g.mirrored()(p), 1 - g(1 - p), rtol=0, atol=digits)
    np.testing.assert_allclose(g.mirrored().mirrored()(p), g(p), rtol=0, atol=digits)
    np.testing.assert_array_equal(g.mirrored().slopes, g.slopes[::-1])


@given(g=maps(), p=UNIT)
@some
def test_slope(g: MonotoneMap, p: np.ndarray) -> None:
    inside = p[np.abs(p[:, None] - g.x).min(axis=1) > 1e-7]
    step = 1e-8
    np.testing.assert_allclose(
        g.slope(inside), (g(inside + step) - g(inside - step)) / (2 * step), rtol=1e-6, atol=1e-7
    )
    at_knots = 0.5 * (g.slopes[1:] + g.slopes[:-1])
    np.testing.assert_allclose(g.slope(g.x[1:-1]), at_knots)
    np.testing.assert_allclose(g.slope([0.0, 1.0]), g.slopes[[0, -1]])


def test_none_gives_the_identity() -> None:
    g = MonotoneMap()
    p = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(g(p), p)
    np.testing.assert_array_equal(g.inverse(p), p)
    np.testing.assert_array_equal(g.slope(p), 1.0)
    np.testing.assert_array_equal(g.mirrored()(p), p)


def test_shapes_and_values_outside() -> None:
    g = MonotoneMap([0.5], [0.8])
    assert g(np.zeros((2, 3))).shape == g.inverse(np.zeros((2, 3))).shape == (2, 3)
    assert np.ndim(g(0.25)) == np.ndim(g.inverse(0.25)) == np.ndim(g.slope(0.25)) == 0
    np.testing.assert_array_equal(g([-1.0, 2.0]), [0.0, 1.0])
    np.testing.assert_array_equal(g.inverse([-1.0, 2.0]), [0.0, 1.0])


def test_knots_far_in_a_tail() -> None:
    """Such knots fall together when mirrored; nothing may break or be lost by it."""
    g = MonotoneMap([1e-200, 2e-200, 0.5], [0.01, 0.02, 0.6])
    assert g(5e-201) == pytest.approx(0.005)
    assert g.inverse(0.015) == pytest.approx(1.5e-200)
    mirrored = g.mirrored()
    np.testing.assert_allclose(mirrored([0.0, 0.25, 0.5, 1.0]), [0.0, 0.2, 0.4, 1.0])
    np.testing.assert_allclose(mirrored.inverse([0.0, 0.2, 0.4, 1.0])[:3], [0.0, 0.25, 0.5])


def test_equality_and_hash() -> None:
    one, same, other = MonotoneMap([0.5], [0.8]), MonotoneMap([0.5], [0.8]), MonotoneMap()
    assert one == same
    assert one != other
    assert one != "map"
    assert hash(one) == hash(same)
    assert repr(one) == "MonotoneMap(1 knots)"


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.5, 0.5], [0.2, 0.3], "Knots x must be strictly increasing numbers"),
        ([0.2, 0.5], [0.3, 0.2], "Knots y must be strictly increasing numbers"),
        ([0.0], [0.5], r"inside \(0, 1\), got \[0\.\]"),
        ([0.5], [1.0], r"Knots y .* inside \(0, 1\)"),
        ([np.nan], [0.5], "Knots x"),
        ([[[0.5]]], [[[0.5]]], r"in one map per row, \(n, k\), got shapes \(1, 1, 1\)"),
        (0.5, 0.5, "Knots x must be strictly increasing"),
        ([0.2, 0.5], [0.5], r"as many knots, .* got shapes \(2,\) and \(1,\)"),
        (X, Y[:, :2], r"as many knots, .* got shapes \(4,\) and \(3, 2\)"),
        (Y[:2], Y, r"got shapes \(2, 4\) and \(3, 4\)"),
        (X[::-1], Y, "Knots x must be strictly increasing"),
        (X, Y[:, ::-1], "Knots y must be strictly increasing"),
        (X, np.ones((3, 4)), "Knots y must be strictly increasing"),
        (["a"], [0.5], "Knots x must be numbers"),
        ([1e-320], [0.5], "so close that the slope between them is infinite"),
    ],
)
def test_bad_knots(x: object, y: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MonotoneMap(x, y)


@pytest.mark.parametrize(("x", "y"), [(X, Y), (Y, X), (Y, 0.5 * (Y + X))])
def test_maps_per_row(x: np.ndarray, y: np.ndarray) -> None:
    """Each row is what its map alone is, whether knots, levels or both are of each row."""
    maps = MonotoneMap(x, y)
    assert maps.n_rows == 3
    assert repr(maps) == "MonotoneMap(3 rows, 4 knots)"
    for i, (row_x, row_y) in enumerate(zip(*np.broadcast_arrays(x, y), strict=True)):
        alone = MonotoneMap(row_x, row_y)
        assert alone.n_rows is None
        for name in ("__call__", "inverse", "slope"):
            every, one = getattr(maps, name)(LEVELS[None])[i], getattr(alone, name)(LEVELS)
            np.testing.assert_allclose(every, one, rtol=1e-12, err_msg=name)
        mirrored = maps.mirrored()(LEVELS[None])[i]
        np.testing.assert_allclose(mirrored, alone.mirrored()(LEVELS), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(maps([[-1.0, 2.0]]), np.tile([0.0, 1.0], (3, 1)))
    different = np.random.default_rng(0).random((3, 7))
    np.testing.assert_allclose(maps(maps.inverse(different)), different, rtol=1e-12)


def test_another_interval() -> None:
    g = MonotoneMap([-1.0, 0.0], [-5.0, 3.0], interval=(-10.0, 10.0))
    np.testing.assert_allclose(g([-10.0, -1.0, -0.5, 0.0, 5.0]), [-10.0, -5.0, -1.0, 3.0, 6.5])
    np.testing.assert_allclose(g.inverse([-1.0, 99.0]), [-0.5, 10.0])
    np.testing.assert_allclose(g.mirrored()([0.5]), [1.0])
    assert g != MonotoneMap([-1.0, 0.0], [-5.0, 3.0], interval=(-10.0, 11.0))


def test_interpolation_between_anchors() -> None:
    anchors = np.array([1.0, 2.0, 4.0])
    maps = MonotoneMap.between(X, anchors, Y, np.array([-9.0, 1.0, 1.5, 3.5, 4.0, 99.0]))
    expected = [Y[0], Y[0], 0.5 * (Y[0] + Y[1]), 0.25 * Y[1] + 0.75 * Y[2], Y[2], Y[2]]
    np.testing.assert_allclose(maps.y[:, 1:-1], expected)


def test_both_ends_are_met_exactly_by_one_map_and_by_those_of_rows() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.01, 0.99, (2, 1000, 1))
    ends = np.array([[0.0, 1.0]])
    for each in (MonotoneMap(x, y), MonotoneMap([0.3], y), MonotoneMap(x, [0.3])):
        np.testing.assert_array_equal(each(ends), np.tile(ends, (1000, 1)))
        np.testing.assert_array_equal(each.inverse(ends), np.tile(ends, (1000, 1)))
