"""The parts of the variance: right in any unit, through any wrapper, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import (
    Clipped,
    Concatenated,
    Distribution,
    Empirical,
    Mixture,
    MonotoneMap,
    Normal,
    Recalibrated,
    concatenate,
)
from calibrant.errors import ParameterError

NORMAL = Normal([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])
KNOWN = NORMAL.with_epistemic([0.25, 1.0, 9.0])


def test_parts_add_up_and_follow_the_rows() -> None:
    np.testing.assert_allclose(KNOWN.epistemic, [0.25, 1.0, 9.0])
    np.testing.assert_allclose(KNOWN.aleatoric, [0.75, 3.0, 0.0])
    np.testing.assert_allclose(KNOWN[[2, 0]].epistemic, [9.0, 0.25])
    np.testing.assert_allclose(concatenate([KNOWN, KNOWN[:1]]).epistemic, [0.25, 1.0, 9.0, 0.25])
    np.testing.assert_allclose(KNOWN.affine(5.0, 10.0).epistemic, [25.0, 100.0, 900.0])
    assert np.array_equal(NORMAL.loc, KNOWN.loc)


@pytest.mark.parametrize(
    "wrapped",
    [
        Recalibrated(KNOWN, MonotoneMap([0.4], [0.6])),
        Clipped(KNOWN, -1.0, 4.0),
        Clipped(KNOWN, -1.0, 4.0).affine(1.0, 2.0),
        Concatenated([KNOWN[:1], Mixture.of([KNOWN, KNOWN])[1:].with_epistemic([1.0, 9.0])]),
    ],
    ids=lambda d: type(d).__name__,
)
def test_wrappers_keep_the_share(wrapped: Distribution) -> None:
    np.testing.assert_allclose(wrapped.epistemic / wrapped.variance, [0.25, 0.25, 1.0], rtol=1e-6)
    np.testing.assert_allclose(wrapped[1:].epistemic, wrapped.epistemic[1:])
    np.testing.assert_allclose(wrapped.aleatoric + wrapped.epistemic, wrapped.variance)


def test_known_and_unknown_rows_stand_side_by_side() -> None:
    both = concatenate([KNOWN, NORMAL])
    assert len(both) == 6
    with pytest.raises(ParameterError, match="does not know its epistemic"):
        _ = both.epistemic


def test_stacked_hands_the_parts_down() -> None:
    stacked = Concatenated([NORMAL[:2], Empirical([[1.0, 3.0]])]).with_epistemic([0.5, 1.0, 0.25])
    np.testing.assert_allclose(stacked.epistemic, [0.5, 1.0, 0.25])
    np.testing.assert_allclose(stacked.affine(0.0, 2.0)[2:].epistemic, [1.0])


def test_no_variance_has_no_parts() -> None:
    point = Empirical([[2.0, 2.0]]).with_epistemic([0.0])
    assert point.epistemic == 0.0
    assert point.aleatoric == 0.0


def test_unknown_parts_say_where_they_come_from() -> None:
    with pytest.raises(ParameterError, match="DeepEnsembleRegressor"):
        _ = NORMAL.epistemic
