"""Distributions of every family and size, for property-based tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, ndtri

from calibrant.distributions import (
    Clipped,
    Concatenated,
    Distribution,
    Empirical,
    Mixture,
    MonotoneMap,
    Normal,
    Quantiles,
    Recalibrated,
    ScoreRecalibrated,
    WithAtoms,
)

Draw = Callable[[st.SearchStrategy], object]

LOCATIONS = st.one_of(st.just(0.0), st.floats(-3, 3), st.floats(-1e6, 1e6))
MAGNITUDES = st.one_of(st.floats(-1, 1), st.floats(-9, 9))  # scales are ten to these
WEIGHTS = st.one_of(st.just(0.0), st.just(1e-12), st.floats(1e-3, 1.0))
TAME_WEIGHTS = st.floats(0.05, 1.0)
LEVELS = st.one_of(
    st.sampled_from([1e-9, 1e-6, 0.5, 1 - 1e-6, 1 - 1e-9]), st.floats(1e-9, 1 - 1e-9)
)


@st.composite
def maps(draw: Draw, n: int | None = None) -> MonotoneMap:
    """Maps, one or n, of up to six knots, some of them close together or close to an end."""
    count = draw(st.integers(0, 6))

    def knots(*rows: int) -> np.ndarray:
        gaps = 10.0 ** draw(arrays(np.float64, (*rows, count + 1), elements=st.floats(-6, 0)))
        return np.cumsum(gaps, axis=-1)[..., :-1] / gaps.sum(axis=-1, keepdims=True)

    return MonotoneMap(knots(), knots() if n is None else knots(n))


@st.composite
def normals(draw: Draw, n: int) -> Normal:
    scale = 10.0 ** draw(arrays(np.float64, n, elements=MAGNITUDES))
    return Normal(draw(arrays(np.float64, n, elements=LOCATIONS)), scale)


@st.composite
def mixtures(draw: Draw, n: int, *, weights: st.SearchStrategy = WEIGHTS) -> Mixture:
    """Mixtures that may have components equal, weightless, or very narrow beside very wide."""
    shape = (n, draw(st.integers(1, 4)))
    w = draw(arrays(np.float64, shape, elements=weights))
    w[w.max(axis=1) == 0, 0] = 1.0
    locs = draw(arrays(np.float64, shape, elements=LOCATIONS))
    scales = 10.0 ** draw(arrays(np.float64, shape, elements=MAGNITUDES))
    return Mixture(w, locs, scales)


@st.composite
def quantiles(draw: Draw, n: int) -> Quantiles:
    """Quantiles at levels that may lie far out, with distances from very short to very long."""
    count = draw(st.integers(2, 6))
    steps = draw(arrays(np.float64, count, elements=st.floats(0.05, 3)))
    odds = np.cumsum(steps) - steps.sum() * draw(st.floats(0.2, 0.8))
    centre = draw(arrays(np.float64, (n, 1), elements=LOCATIONS))
    scale = 10.0 ** draw(arrays(np.float64, (n, 1), elements=MAGNITUDES))
    gaps = 10.0 ** draw(arrays(np.float64, (n, count), elements=st.floats(-3, 0)))
    gaps *= steps  # slopes then vary a thousandfold
    offsets = np.cumsum(gaps, axis=1) - gaps.sum(axis=1, keepdims=True) / 2
    return Quantiles(expit(odds), offsets).affine(centre[:, 0], scale[:, 0])


@st.composite
def empiricals(draw: Draw, n: int) -> Empirical:
    shape = (n, draw(st.integers(1, 12)))
    scale = 10.0 ** draw(MAGNITUDES)
    # Whole numbers: samples are often equal.
    return Empirical(scale * draw(arrays(np.int64, shape, elements=st.integers(-20, 20))))


@st.composite
def changed(draw: Draw, base: st.SearchStrategy, kind: str, least: float = 1e-12) -> Distribution:
    """A base seen through one map, a map per row or bounds at levels from `least` up."""
    dist = draw(base)
    n = len(dist)
    if kind == "recalibrated":
        return Recalibrated(dist, draw(maps()))
    if kind == "recalibrated per row":
        return Recalibrated(dist, draw(maps(n)))
    low, high = np.sort(draw(st.tuples(*2 * [st.floats(least, 0.99)])))
    bounds = dist.ppf([low, high])
    sides = draw(st.sampled_from(["low", "high", "both"]))
    low_bound = bounds[:, 0] if sides != "high" else np.full(n, -np.inf)
    high_bound = bounds[:, 1] if sides != "low" else np.full(n, np.inf)
    narrow = ~(low_bound < high_bound)
    high_bound[narrow] = np.inf
    return Clipped(dist, low_bound, high_bound)


def recalibrated(base: st.SearchStrategy) -> st.SearchStrategy:
    return changed(base, "recalibrated")


def recalibrated_per_row(base: st.SearchStrategy) -> st.SearchStrategy:
    return changed(base, "recalibrated per row")


def clipped(base: st.SearchStrategy, least: float) -> st.SearchStrategy:
    return changed(base, "clipped", least)


@st.composite
def score_recalibrated(draw: Draw, base: st.SearchStrategy, least: float) -> ScoreRecalibrated:
    """A base with maps of one to five knots, some close together, some beyond level `least`."""
    dist, count = draw(base), draw(st.integers(1, 5))
    gaps = 10.0 ** draw(arrays(np.float64, (len(dist), count + 1), elements=st.floats(-3, 0)))
    reach = draw(st.sampled_from([1.0, -ndtri(least)]))
    knots = reach * (2.0 * np.cumsum(gaps, axis=1)[:, :-1] / gaps.sum(axis=1, keepdims=True) - 1.0)
    return ScoreRecalibrated(dist, knots, np.arange(1, count + 1) / (count + 1))


@st.composite
def with_atoms(draw: Draw, base: st.SearchStrategy) -> WithAtoms:
    """A base with one to four cells within some spreads of its mean, some next to each other."""
    dist, count = draw(base), draw(st.integers(1, 4))
    gaps = draw(arrays(np.float64, (2, count), elements=st.floats(0.05, 1)))
    gaps[0, 1:] *= draw(arrays(np.float64, count - 1, elements=st.sampled_from([0.0, 1.0])))
    # Odd numbers: a very narrow component on the very edge of a cell is inside or outside by luck.
    edges = np.cumsum(gaps.T.ravel()) - 1.2345678 - draw(st.floats(0, 1)) / 3.0
    edges = dist.mean[:, None] + dist.stddev[:, None] * edges
    low, high = edges[:, ::2], edges[:, 1::2]
    points = np.clip(low + draw(st.floats(0.01, 1)) * (high - low), np.nextafter(low, high), high)
    return WithAtoms(dist, points, low, high)


@dataclass(frozen=True)
class Family:
    """How to draw n rows of a family."""

    rows: Callable[[int], st.SearchStrategy]
    continuous: bool = True


def tame_mixtures(n: int) -> st.SearchStrategy:
    return mixtures(n, weights=TAME_WEIGHTS)


def families(mixtures: Callable[[int], st.SearchStrategy], least: float) -> dict[str, Family]:
    """All families, with mixtures and bounds that reach into the tails or not."""
    return {
        "normal": Family(normals),
        "mixture": Family(mixtures),
        "empirical": Family(empiricals, continuous=False),
        "quantiles": Family(quantiles),
        "recalibrated normal": Family(lambda n: recalibrated(normals(n))),
        "recalibrated mixture": Family(lambda n: recalibrated(mixtures(n))),
        "recalibrated empirical": Family(lambda n: recalibrated(empiricals(n)), continuous=False),
        "recalibrated quantiles": Family(lambda n: recalibrated(quantiles(n))),
        "recalibrated clipped": Family(
            lambda n: recalibrated(clipped(normals(n), least)), continuous=False
        ),
        "normal recalibrated per row": Family(lambda n: recalibrated_per_row(normals(n))),
        "mixture recalibrated per row": Family(lambda n: recalibrated_per_row(mixtures(n))),
        "clipped recalibrated per row": Family(
            lambda n: recalibrated_per_row(clipped(mixtures(n), least)), continuous=False
        ),
        "clipped normal": Family(lambda n: clipped(normals(n), least), continuous=False),
        "clipped mixture": Family(lambda n: clipped(mixtures(n), least), continuous=False),
        "clipped quantiles": Family(lambda n: clipped(quantiles(n), least), continuous=False),
        "clipped recalibrated": Family(
            lambda n: clipped(recalibrated(mixtures(n)), least), continuous=False
        ),
        "atoms on normal": Family(lambda n: with_atoms(normals(n)), continuous=False),
        "atoms on mixture": Family(lambda n: with_atoms(mixtures(n)), continuous=False),
        "recalibrated with atoms": Family(
            lambda n: recalibrated(with_atoms(normals(n))), continuous=False
        ),
        "score-recalibrated normal": Family(lambda n: score_recalibrated(normals(n), least)),
        "score-recalibrated mixture": Family(lambda n: score_recalibrated(mixtures(n), least)),
        "score-recalibrated empirical": Family(
            lambda n: score_recalibrated(empiricals(n), least), continuous=False
        ),
        "score-recalibrated clipped": Family(
            lambda n: score_recalibrated(clipped(normals(n), least), least), continuous=False
        ),
        "concatenated": Family(
            lambda n: st.builds(
                lambda *parts: Concatenated(parts),
                recalibrated(normals(1)),
                empiricals(max(n - 2, 0)),
                clipped(mixtures(1), least),
            ),
            continuous=False,
        ),
    }


FAMILIES = families(mixtures, 1e-12)
TAME_FAMILIES = families(tame_mixtures, 1e-3)  # their moments do not rest on a far tail


def example(name: str, n: int = 5, seed: int = 0) -> Distribution:
    """One well-behaved distribution of a family, always the same."""
    rng = np.random.default_rng(seed)
    normal = Normal(rng.normal(size=n), rng.uniform(0.5, 2.0, n))
    mixture = Mixture(
        rng.dirichlet(np.ones(3), n), rng.normal(0, 2, (n, 3)), rng.uniform(0.3, 2.0, (n, 3))
    )
    empirical = Empirical(rng.normal(size=(n, 11)).round(1))
    quantiles = Quantiles([0.03, 0.3, 0.55, 0.9], np.cumsum(rng.uniform(0.2, 2.0, (n, 4)), 1) - 2)
    g = MonotoneMap([0.1, 0.35, 0.4, 0.8], [0.03, 0.3, 0.55, 0.9])
    knots = np.array([-1.5, -0.4, 0.1, 1.0]) + rng.uniform(0.0, 0.4, (n, 1))
    levels = [0.03, 0.3, 0.55, 0.9]
    shares = rng.uniform(0.5, 1.0, (n, 1))
    each = MonotoneMap(g.x[1:-1], shares * g.y[1:-1] + (1.0 - shares) * g.x[1:-1])
    made: dict[str, Distribution] = {
        "normal": normal,
        "mixture": mixture,
        "empirical": empirical,
        "quantiles": quantiles,
        "recalibrated normal": Recalibrated(normal, g),
        "recalibrated mixture": Recalibrated(mixture, g),
        "recalibrated empirical": Recalibrated(empirical, g),
        "recalibrated quantiles": Recalibrated(quantiles, g),
        "recalibrated clipped": Recalibrated(Clipped(normal, -1.0, 1.5), g),
        "normal recalibrated per row": Recalibrated(normal, each),
        "mixture recalibrated per row": Recalibrated(mixture, each),
        "clipped recalibrated per row": Recalibrated(Clipped(mixture, -1.0, 1.5), each),
        "clipped normal": Clipped(normal, low=0.0),
        "clipped mixture": Clipped(mixture, -1.0, 1.5),
        "clipped quantiles": Clipped(quantiles, -1.0, 1.5),
        "clipped recalibrated": Clipped(Recalibrated(mixture, g), high=1.0),
        "atoms on normal": WithAtoms(normal, [-1.0, 0.0, 0.7], [-1.5, -0.5, 0.5], [-0.5, 0.2, 0.9]),
        "atoms on mixture": WithAtoms(mixture, [0.0, 1.0], [-0.5, 0.5], [0.5, 1.5]),
        "recalibrated with atoms": Recalibrated(WithAtoms(mixture, [0.0], [-0.5], [0.5]), g),
        "score-recalibrated normal": ScoreRecalibrated(normal, knots, levels),
        "score-recalibrated mixture": ScoreRecalibrated(mixture, knots, levels),
        "score-recalibrated empirical": ScoreRecalibrated(empirical, knots, levels),
        "score-recalibrated clipped": ScoreRecalibrated(Clipped(normal, -1.0, 1.5), knots, levels),
        "concatenated": Concatenated(
            [Recalibrated(normal, g)[:1], empirical[1:-1], Clipped(mixture, -1)[-1]]
        ),
    }
    assert made.keys() == FAMILIES.keys()
    return made[name]
