"""Evaluations of forecasts that come part by part."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Clipped, Distribution, Normal
from calibrant.metrics import StreamedEvaluation, evaluate

N = 3000


def forecast(kind: str) -> tuple[Distribution, np.ndarray]:
    rng = np.random.default_rng(0)
    dist: Distribution = Normal(rng.normal(size=N), rng.uniform(0.5, 2.0, size=N))
    y = dist.sample(1, random_state=1)[:, 0] * 1.1 + 0.05
    if kind == "atoms":  # and the first parts have none
        dist = Clipped(dist, -0.5, np.inf)
        y = np.where(np.arange(N) < 700, np.abs(y) + 0.1, np.maximum(y, -0.5))
    return dist, y


@pytest.mark.parametrize("kind", ["continuous", "atoms"])
@pytest.mark.parametrize("size", [N, 701, 64])
def test_parts_give_the_evaluation_of_all_rows(kind: str, size: int) -> None:
    dist, y = forecast(kind)
    groups = {
        "side": np.where(np.arange(N) % 3 == 0, "left", "right"),
        "part": (np.arange(N) // 1000).astype(str),
    }
    whole = evaluate(dist, y, groups, coverage=0.8)
    streamed = StreamedEvaluation(evaluate(dist, y, coverage=0.8))
    for start in range(0, N, size):
        rows = slice(start, start + size)
        own = {name: labels[rows] for name, labels in groups.items()}
        streamed.add(dist[rows], y[rows], own)
    found = streamed.result()
    expected, got = whole.to_dict(), found.to_dict()
    # The distance of the PIT from uniform is known to 1 / 65,536.
    tolerated = {"pit_p_value": 0.01}
    assert expected.keys() == got.keys()
    for name, value in expected.items():
        if isinstance(value, float):
            tolerance = tolerated.get(name, 1e-10)
            assert got[name] == pytest.approx(value, rel=tolerance), name
        elif name not in ("verdict", "worst"):
            assert _close(got[name], value), name
    assert found.verdict == whole.verdict
    assert found.n == N
    np.testing.assert_array_equal(found.test.coverage, whole.test.coverage)
    np.testing.assert_array_equal(found.pit_counts.within, whole.pit_counts.within)


def _close(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    return bool(one == pytest.approx(other, rel=1e-10)) if isinstance(one, float) else one == other


def test_deciles_of_a_sample_still_count_all_rows() -> None:
    dist, y = forecast("continuous")
    sample = evaluate(dist[:200], y[:200])
    streamed = StreamedEvaluation(sample)
    for start in range(0, N, 500):
        streamed.add(dist[start : start + 500], y[start : start + 500])
    found = streamed.result()
    assert found.by_mean.n.sum() == N
    assert len(found.by_mean) == 10
    assert found.by_mean.n.min() > 0.5 * N / 10
    assert len(found.rows.y) == 200
    assert found.crps == pytest.approx(evaluate(dist, y).crps, rel=1e-12)
