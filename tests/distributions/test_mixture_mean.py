"""The mean of a recalibrated mixture, against the formula evaluated at exact quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from calibrant.distributions import (
    Clipped,
    Distribution,
    Mixture,
    MonotoneMap,
    Normal,
    Recalibrated,
    WithAtoms,
)
from calibrant.distributions._mixture_mean import is_steep


def ensemble(n: int, components: int, seed: int = 0) -> Mixture:
    """Components that overlap, as those of networks do, with scales that differ by factors."""
    rng = np.random.default_rng(seed)
    centre, spread = 5.0 * rng.normal(size=(n, 1)), np.exp(rng.normal(size=(n, 1)))
    locs = centre + 0.5 * spread * rng.standard_t(3, (n, components))
    scales = spread * np.exp(0.7 * rng.normal(size=(n, components)))
    return Mixture(rng.dirichlet(np.ones(components), n), locs, scales)


def exact_mean(base: Mixture, g: MonotoneMap) -> np.ndarray:
    """``sum_j b_j (M(p_j+1) - M(p_j))`` with ``M(p) = E(Y; F(Y) <= p)`` component by component."""
    q = base.ppf(g.x[1:-1])
    z = (q[:, :, None] - base.locs[:, None]) / base.scales[:, None]
    parts = base.locs[:, None] * ndtr(z) - base.scales[:, None] * norm.pdf(z)
    lower = np.pad(np.sum(base.weights[:, None] * parts, axis=2), ((0, 0), (1, 1)))
    lower[:, -1] = base.mean
    return np.sum(g.slopes * np.diff(lower, axis=1), axis=1)


def learned(n: int | None, seed: int = 1) -> MonotoneMap:
    """A map, or one per row, whose last piece is steep, as maps of small samples are."""
    x = np.concatenate([[1e-3], np.linspace(0.02, 0.98, 49), [0.9999]])
    rng = np.random.default_rng(seed)
    steps = rng.uniform(0.2, 2.0, (n or 1, len(x) + 1)) * np.diff(np.concatenate([[0], x, [1]]))
    y = np.cumsum(steps, axis=1)[:, :-1] / (steps.sum(axis=1, keepdims=True) * 1.01)
    return MonotoneMap(x, y[0] if n is None else y)


@pytest.mark.parametrize("components", [2, 8, 20, 48])
@pytest.mark.parametrize("per_row", [False, True])
def test_against_exact_quantiles(components: int, per_row: bool) -> None:
    base = ensemble(200, components)
    g = learned(200 if per_row else None)
    assert 50 < g.slopes.max() < 1000
    dist = Recalibrated(base, g)
    error = (dist.mean - exact_mean(base, g)) / dist.stddev
    assert np.abs(error).max() < 1e-6
    assert np.sqrt(np.mean(error**2)) < 1e-7


def test_the_mean_moves_with_its_distribution() -> None:
    dist = Recalibrated(ensemble(5, 20), learned(5))
    moved = dist.affine(1e6, 1e-3).mean
    np.testing.assert_allclose((moved - 1e6) * 1e3, dist.mean, rtol=1e-6, atol=1e-6)


def test_a_steep_row_changes_no_other_row() -> None:
    base, x = ensemble(3, 20), np.array([0.5, 0.5 + 1e-9])
    y = np.array([[0.4, 0.4 + 1e-9], [0.2, 0.8], [0.6, 0.6 + 1e-9]])
    g = MonotoneMap(x, y)
    assert is_steep(g).tolist() == [False, True, False]
    dist = Recalibrated(base, g)
    np.testing.assert_array_equal(dist.mean[[0, 2]], dist[[0, 2]].mean)
    np.testing.assert_array_equal(dist.mean[1], dist[1].mean[0])
    np.testing.assert_allclose(dist.mean, exact_mean(base, g), rtol=1e-6)


def integral(dist: Distribution) -> np.ndarray:
    """Mean by quadrature of the cdf."""
    mean: np.ndarray = dist._moments[0]
    return mean


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("bounds", [(-1.0, np.inf), (-np.inf, 2.0), (-0.5, 0.5)])
def test_inside_bounds_and_with_atoms(per_row: bool, bounds: tuple[float, float]) -> None:
    base, g = ensemble(40, 20), learned(40 if per_row else None)
    points = np.array([-2.0, 0.0, 0.25, 7.0])
    cells = points, points - 0.1, points + 0.15
    atoms_inside = Recalibrated(WithAtoms(base, *cells), g)
    for dist in (
        Clipped(Recalibrated(base, g), *bounds),
        WithAtoms(Recalibrated(base, g), *cells),
        atoms_inside,
        Clipped(atoms_inside, *bounds),
        WithAtoms(Clipped(Recalibrated(base, g), *bounds), *cells),
        Clipped(base, *bounds),
        WithAtoms(Normal(base.mean, base.stddev), *cells),
    ):
        assert dist._fast_mean is not None
        error = (dist.mean - integral(dist)) / base.stddev
        assert np.abs(error).max() < 1e-5  # the integrals have digits to 1e-5 here, no more


def test_a_bound_far_away_changes_nothing() -> None:
    dist = Recalibrated(ensemble(20, 20), learned(None))
    for low, high in ((-1e9, np.inf), (-np.inf, 1e9), (-1e9, 1e9)):
        error = (Clipped(dist, low, high).mean - dist.mean) / dist.stddev
        assert np.abs(error).max() < 1e-6


def test_a_component_as_narrow_as_a_spike() -> None:
    """Zeros among other values: a mixture has a component of nearly no width for them."""
    wide = ensemble(40, 20)
    spike = Normal(np.full(40, 0.3), np.full(40, 1e-6))
    dist = Recalibrated(Mixture.of([wide, spike], [0.7, 0.3]), learned(None))
    assert dist._mean_and_shortfall(np.empty((40, 0)))[0] == pytest.approx(dist.mean)  # no nan
    error = (dist.mean - exact_mean(dist.base, dist.monotone)) / dist.stddev
    assert np.abs(error).max() < 1e-6
