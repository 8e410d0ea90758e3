from __future__ import annotations

import numpy as np
import pytest

from calibrant.errors import DataError
from calibrant.recalibration.residual_scale import ResidualScale


def test_mean_and_standard_deviation() -> None:
    scores, weight = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0])
    fitted = ResidualScale.fit(scores, weight)
    repeated = np.array([1.0, 2.0, 2.0, 4.0])
    assert fitted == pytest.approx((repeated.mean(), repeated.std()))
    normal = fitted.normal(np.array([10.0, 20.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(normal.mean, [10.0 + fitted.centre, 20.0 + 2.0 * fitted.centre])
    np.testing.assert_allclose(normal.stddev, [fitted.width, 2.0 * fitted.width])


def test_no_score_is_farther_than_five_widths() -> None:
    scores = np.append(np.zeros(999), 100.0)
    fitted = ResidualScale.fit(scores, np.ones(1000))
    assert fitted.width == pytest.approx((100.0 - fitted.centre) / 5.0)
    assert fitted.width > scores.std()


def test_residuals_without_spread() -> None:
    with pytest.raises(DataError, match="All calibration residuals equal 3: there is no spread"):
        ResidualScale.fit(np.full(4, 3.0), np.ones(4))
