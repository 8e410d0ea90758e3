from __future__ import annotations

import numpy as np
import pytest

from calibrant.estimators.scaling import fit_scaler, fit_target_scaler, scaled_target


def ones(values: np.ndarray) -> np.ndarray:
    return np.ones(len(values))


def test_robust_units_are_those_of_a_normal_and_outliers_do_not_move_them() -> None:
    rng = np.random.default_rng(0)
    x = 3.0 + 2.0 * rng.standard_normal((20_000, 2))
    x[:50, 1] = 1e9
    scaler = fit_scaler(x, ones(x), "robust")
    np.testing.assert_allclose(scaler.loc, 3.0, atol=0.1)
    np.testing.assert_allclose(scaler.scale, 2.0, atol=0.1)


def test_robust_inputs_keep_their_order_and_have_a_limit() -> None:
    x = np.linspace(-1.0, 1.0, 101)[:, None]
    scaler = fit_scaler(x, ones(x), "robust")
    far = scaler.transform(np.array([[-1e9], [-1.0], [0.0], [1.0], [30.0], [1e9]]))[:, 0]
    assert (np.diff(far) > 0).all()
    assert abs(far).max() <= 8.0
    small = np.array([[0.01]])
    np.testing.assert_allclose(scaler.transform(small), small / scaler.scale, rtol=1e-4)


def test_a_column_of_mostly_one_value_is_scaled_by_its_range() -> None:
    x = np.r_[np.zeros(95), np.full(5, 7.0)][:, None]
    assert fit_scaler(x, ones(x), "robust").scale == pytest.approx(3.5 / 1.35)
    constant = np.full((10, 1), 4.0)
    np.testing.assert_array_equal(
        fit_scaler(constant, ones(constant), "robust").transform(constant), 0.0
    )


def test_rows_of_no_weight_do_not_set_the_unit() -> None:
    x = np.r_[np.linspace(0, 1, 11), np.full(20, 1e6)]
    weight = np.r_[np.ones(11), np.zeros(20)]
    for values in (x, x[:, None]):
        fit = fit_target_scaler if values.ndim == 1 else fit_scaler
        np.testing.assert_array_equal(
            fit(values, weight, "robust").scale, fit(values[:11], np.ones(11), "robust").scale
        )


def test_one_wild_target_neither_sets_the_unit_nor_the_loss() -> None:
    y = np.random.default_rng(0).standard_normal(600)
    wild = y.copy()
    wild[0] = 1e6
    scaler, moved = (fit_target_scaler(each, ones(y), "robust") for each in (y, wild))
    assert float(moved.scale) == pytest.approx(float(scaler.scale), rel=0.02)
    assert scaled_target(moved, wild).max() == 50.0
    np.testing.assert_array_equal(scaled_target(moved, wild)[1:], moved.transform(wild)[1:])


def test_a_target_of_mostly_zeros_has_a_unit() -> None:
    rng = np.random.default_rng(0)
    for share in (0.96, 0.995):
        y = np.where(rng.random(2000) < share, 0.0, rng.gamma(2.0, size=2000))
        scale = float(fit_target_scaler(y, ones(y), "robust").scale)
        assert 0.05 < scale < 2.0
