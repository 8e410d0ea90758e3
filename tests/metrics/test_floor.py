from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.errors import ParameterError
from calibrant.metrics import LEVELS, noise_floor
from calibrant.metrics.floor import (
    binomial_band,
    expected_ecpe,
    mean_ecpe_quantile,
    simulated_errors,
)

# rows, ECPE, MCPE of a perfect forecaster on the test sets of the paper
KNOWN = [
    (14460, 0.0026, 0.0067),
    (2592, 0.0062, 0.0160),
    (656, 0.0122, 0.0315),
    (1914, 0.0072, 0.0185),
    (9146, 0.0033, 0.0085),
    (980, 0.0102, 0.0259),
]


@pytest.mark.parametrize(("n", "ecpe", "mcpe"), KNOWN)
def test_known_values(n: int, ecpe: float, mcpe: float) -> None:
    floor = noise_floor(n)
    # The known values, and our MCPE, come from 8000 simulations with a relative spread of 0.43
    # and 0.31: four standard errors (of a difference for MCPE), and the rounding.
    assert floor.ecpe == pytest.approx(ecpe, abs=4 * 0.43 * ecpe / np.sqrt(8000) + 5e-5)
    assert floor.mcpe == pytest.approx(mcpe, abs=4 * 0.31 * mcpe / np.sqrt(4000) + 5e-5)
    assert floor.ecpe * np.sqrt(n) == pytest.approx(0.316, abs=0.004)
    assert floor.mcpe * np.sqrt(n) == pytest.approx(0.81, abs=0.012)
    assert floor.ecpe_range[0] < floor.ecpe < floor.ecpe_range[1]
    assert floor.mcpe_range[0] < floor.mcpe < floor.mcpe_range[1]


@pytest.mark.parametrize("n", [1, 2, 7, 100, 1914])
def test_closed_form_against_the_sum_over_all_counts(n: int) -> None:
    counts = np.arange(n + 1)
    deviation = [np.sum(binom.pmf(counts, n, p) * np.abs(counts / n - p)) for p in LEVELS]
    assert expected_ecpe(n) == pytest.approx(np.mean(deviation), rel=1e-9)


@pytest.mark.parametrize("n", [5, 300, 20_000])
def test_simulation_against_the_closed_form(n: int) -> None:
    mean_errors, largest_errors = simulated_errors(n)
    standard_error = mean_errors.std() / np.sqrt(len(mean_errors))
    assert mean_errors.mean() == pytest.approx(expected_ecpe(n), abs=4 * standard_error)
    assert np.all(largest_errors >= mean_errors)


def test_ranges_against_plain_simulation() -> None:
    u = np.random.default_rng(8).random((4000, 150))
    covered = np.abs(2 * u - 1)[:, :, None] <= LEVELS
    errors = np.abs(covered.mean(axis=1) - LEVELS)
    floor = noise_floor(150)
    assert np.quantile(errors.mean(axis=1), [0.05, 0.95]) == pytest.approx(
        floor.ecpe_range, rel=0.05
    )
    assert np.quantile(errors.max(axis=1), [0.05, 0.95]) == pytest.approx(
        floor.mcpe_range, rel=0.05
    )


def test_cached_and_repeatable() -> None:
    first = noise_floor(321)
    assert noise_floor(np.int64(321)) is first  # type: ignore[arg-type]
    assert "321 rows" in str(first)


@pytest.mark.parametrize("n", [0, -3])
def test_no_rows(n: int) -> None:
    with pytest.raises(ParameterError, match=f"n must be at least 1, got {n}"):
        noise_floor(n)


@pytest.mark.parametrize("n", [10.5, "ten", None])
def test_not_a_number_of_rows(n: object) -> None:
    with pytest.raises(ParameterError, match="whole number of rows"):
        noise_floor(n)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_rows", [30, 1000])
def test_mean_over_groups_against_simulation(n_rows: int) -> None:
    rng = np.random.default_rng(9)
    errors = simulated_errors(n_rows)[0]
    means = rng.choice(errors, size=(8000, 10)).mean(axis=1)
    floors = np.full(10, expected_ecpe(n_rows))
    for q in (0.05, 0.95, 0.99):
        assert mean_ecpe_quantile(floors, q) == pytest.approx(np.quantile(means, q), rel=0.05)


def test_binomial_band_holds_what_it_says() -> None:
    lower, upper = binomial_band(400, LEVELS, 0.9)
    shares = np.random.default_rng(1).binomial(400, LEVELS, size=(4000, 99)) / 400
    inside = np.mean((shares >= lower) & (shares <= upper), axis=0)
    assert np.all(inside > 0.88)
    assert np.all(lower <= LEVELS)
    assert np.all(upper >= LEVELS)
