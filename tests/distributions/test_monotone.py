from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.distributions.strategies import maps

from calibrant.distributions import MonotoneMap
from calibrant.errors import ParameterError

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
        ([0.5, 0.5], [0.2, 0.3], "Knots x must be a list of strictly increasing numbers"),
        ([0.2, 0.5], [0.3, 0.2], "Knots y must be a list of strictly increasing numbers"),
        ([0.0], [0.5], r"inside \(0, 1\), got \[0\.\]"),
        ([0.5], [1.0], r"Knots y .* inside \(0, 1\)"),
        ([np.nan], [0.5], "Knots x"),
        ([[0.5]], [[0.5]], "Knots x must be a list"),
        (0.5, 0.5, "Knots x must be a list"),
        ([0.2, 0.5], [0.5], "as many knots, got 2 and 1"),
        (["a"], [0.5], "Knots x must be numbers"),
        ([1e-320], [0.5], "so close that the slope between them is infinite"),
    ],
)
def test_bad_knots(x: object, y: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MonotoneMap(x, y)
