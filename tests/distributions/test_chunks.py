"""Large numbers of rows: in bounded memory, and with the same answers as small ones."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

from calibrant.distributions import (
    Clipped,
    Distribution,
    Empirical,
    Mixture,
    MonotoneMap,
    Normal,
    Recalibrated,
    _chunks,
)

MEBIBYTE = 2**20
LEVELS = np.arange(1, 100) / 100


def mixture(n: int, components: int = 2) -> Mixture:
    rng = np.random.default_rng(0)
    shape = (n, components)
    return Mixture(rng.uniform(0.1, 1, shape), rng.normal(size=shape), rng.uniform(0.3, 2, shape))


def extra_memory(call: object, *arguments: object) -> float:
    """Most MiB held during a call, besides what was there before and what it returns."""
    tracemalloc.start()
    try:
        result = call(*arguments)
        return (tracemalloc.get_traced_memory()[1] - result.nbytes) / MEBIBYTE
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("recalibrated", [False, True])
def test_quantiles_in_bounded_memory(recalibrated: bool) -> None:
    dist: Distribution = mixture(200_000)
    if recalibrated:
        dist = Recalibrated(dist, MonotoneMap([0.2, 0.7], [0.3, 0.6]))
    # The quantiles themselves are 151 MiB.
    assert extra_memory(dist.ppf, LEVELS) < 40 * _chunks.MOST_THREADS


@pytest.mark.parametrize(
    "dist",
    [
        Normal(np.zeros(50_000), np.ones(50_000)),
        mixture(50_000),
        Empirical(np.random.default_rng(0).normal(size=(50_000, 40))),
        Recalibrated(mixture(5_000), MonotoneMap([0.2, 0.7], [0.3, 0.6])),
        Clipped(mixture(10_000), 0.0),
    ],
    ids=str,
)
def test_other_answers_in_bounded_memory(dist: Distribution) -> None:
    n = len(dist)
    y = np.zeros((n, 20))
    for call in (dist.cdf, dist.log_prob, dist.crps, dist.prob_above):
        assert extra_memory(call, y) < 40 * _chunks.MOST_THREADS
    assert extra_memory(dist.sample, 20) < 40
    assert extra_memory(lambda: dist.mean) < 40 * _chunks.MOST_THREADS


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dist = Recalibrated(mixture(300), MonotoneMap([0.2, 0.7], [0.3, 0.6]))
    y = dist.ppf(0.3)
    whole = dist.ppf(LEVELS), dist.cdf(y), dist.crps(y), dist[:].mean
    monkeypatch.setattr(_chunks, "CELLS", 1000)
    pieces = dist.ppf(LEVELS), dist.cdf(y), dist.crps(y), dist[:].mean
    for one, other in zip(whole, pieces, strict=True):
        # Few numbers are added in another order; a quantile near zero shows it.
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


def test_an_error_inside_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "CELLS", 10)

    def work(rows: slice) -> None:
        raise RuntimeError(f"rows from {rows.start}")

    with pytest.raises(RuntimeError, match="rows from 0"):
        _chunks.over_rows(100, 1, work)


def test_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "CELLS", 10)
    for n, cells in [(0, 1), (1, 1), (7, 3), (100, 1), (20, 50)]:
        visits = np.zeros(n, dtype=int)

        def work(rows: slice, visits: np.ndarray = visits) -> None:
            visits[rows] += 1

        _chunks.over_rows(n, cells, work)
        assert np.all(visits == 1)


def test_threads_are_limited_as_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    seen = set()
    _chunks.over_rows(4 * _chunks.CELLS, 1, lambda rows: seen.add(threading.get_ident()))
    assert seen == {threading.get_ident()}
