from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import JointDistribution, Normal
from calibrant.errors import DataError, ParameterError

PARTS = [Normal([0.0, 1.0, 2.0], [1.0] * 3), Normal([5.0, 6.0, 7.0], [2.0] * 3)]


def test_shapes_and_rows() -> None:
    dist = JointDistribution(PARTS, [[1.0, 0.5], [0.5, 1.0]])
    assert dist.names == ("y0", "y1")
    assert len(dist) == 3
    assert dist.mean.shape == dist.stddev.shape == dist.ppf(0.5).shape == (3, 2)
    assert dist.ppf([0.1, 0.9]).shape == (3, 2, 2)
    assert dist.interval(0.9).shape == (3, 2, 2)
    assert dist.interval([0.5, 0.9, 0.95]).shape == (3, 2, 2, 3)
    assert dist.sample(4, random_state=0).shape == (3, 4, 2)
    np.testing.assert_array_equal(dist[[2, 0]].mean, [[2.0, 7.0], [0.0, 5.0]])
    np.testing.assert_array_equal(dist.marginal(1).mean, dist.marginal("y1").mean)
    assert repr(dist) == "JointDistribution(3 rows, outputs y0, y1)"


def test_draws_have_the_dependence_and_the_marginals() -> None:
    dist = JointDistribution(PARTS, [[1.0, -0.7], [-0.7, 1.0]])
    drawn = dist.sample(20_000, random_state=0)
    error = 4 / np.sqrt(20_000)
    for row, centre in zip(drawn, dist.mean, strict=True):
        np.testing.assert_allclose(row.mean(axis=0), centre, atol=2 * error)
        assert abs(np.corrcoef(row.T)[0, 1] + 0.7) < error
    apart = dist.independent().sample(20_000, random_state=0)
    assert abs(np.corrcoef(apart[0].T)[0, 1]) < error


def test_errors() -> None:
    with pytest.raises(DataError, match=r"as many rows each, got \[3, 2\] rows"):
        JointDistribution([PARTS[0], PARTS[1][:2]])
    with pytest.raises(ParameterError, match=r"correlation must have shape \(2, 2\)"):
        JointDistribution(PARTS, np.eye(3))
    with pytest.raises(ParameterError, match="2 different names"):
        JointDistribution(PARTS, names=["a", "a"])
    with pytest.raises(ParameterError, match="no output 'co'; the outputs are y0, y1"):
        JointDistribution(PARTS).marginal("co")
    with pytest.raises(ParameterError, match="k >= 1, got 0"):
        JointDistribution(PARTS).sample(0)
    with pytest.raises(TypeError, match="is not an array"):
        np.asarray(JointDistribution(PARTS))
