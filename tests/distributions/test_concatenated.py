from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import (
    Clipped,
    Concatenated,
    Empirical,
    Mixture,
    MonotoneMap,
    Normal,
    Recalibrated,
    concatenate,
)
from calibrant.errors import ParameterError


@pytest.fixture
def stacked() -> Concatenated:
    return Concatenated(
        [
            Normal([0.0, 1.0], [1.0, 2.0]),
            Empirical([[1.0, 2.0, 3.0]]),
            Mixture([[0.5, 0.5]], [[0.0, 4.0]], [[1.0, 1.0]]),
        ]
    )


def test_stacks_become_one(stacked: Concatenated) -> None:
    twice = Concatenated([stacked, stacked])
    assert len(twice) == 8
    assert len(twice.parts) == 6
    assert len(concatenate([twice, stacked]).parts) == 9


def test_one_row_and_common_levels(stacked: Concatenated) -> None:
    """One row looks like levels common to all rows; parts without rows must not get in the way."""
    one = stacked[2]
    np.testing.assert_array_equal(one.ppf([0.1, 0.5, 0.9]), [[1.0, 2.0, 3.0]])
    with_nothing = Concatenated([stacked[:0], one, stacked[:0]])
    np.testing.assert_array_equal(with_nothing.ppf([0.1, 0.5, 0.9]), [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(with_nothing.ppf([[0.1, 0.9]]), [[1.0, 3.0]])
    np.testing.assert_allclose(with_nothing.cdf([2.0]), [2 / 3])
    np.testing.assert_allclose(with_nothing.crps(2.0), one.crps(2.0))


def test_rows_in_any_order_keep_their_family(stacked: Concatenated) -> None:
    picked = stacked[[3, 0, 1, 2, 0]]
    assert [type(part) for part in picked.parts] == [Mixture, Normal, Empirical, Normal]
    np.testing.assert_allclose(picked.mean, [2.0, 0.0, 1.0, 2.0, 0.0])


def test_under_a_map_and_bounds(stacked: Concatenated) -> None:
    """Panels of different numbers stand side by side."""
    g = MonotoneMap([0.3], [0.6])
    together = Clipped(Recalibrated(stacked, g), -1.0, 3.5)
    apart = [Clipped(Recalibrated(part, g), -1.0, 3.5) for part in stacked.parts]
    np.testing.assert_allclose(together.crps(0.7), np.concatenate([p.crps(0.7) for p in apart]))
    np.testing.assert_allclose(together.mean, np.concatenate([p.mean for p in apart]))


def test_levels_of_every_row(stacked: Concatenated) -> None:
    levels = np.array([[0.1, 0.6], [0.2, 0.7], [0.3, 0.99], [0.4, 0.8]])
    expected = [stacked[i].ppf(levels[i])[0] for i in range(4)]
    np.testing.assert_allclose(stacked.ppf(levels), expected)


def test_bad_parts() -> None:
    with pytest.raises(ParameterError, match="Concatenated needs at least one distribution"):
        Concatenated([])
    with pytest.raises(ParameterError, match="Concatenated joins distributions, got str"):
        Concatenated(["normal"])
