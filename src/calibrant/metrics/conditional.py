"""Calibration within groups and bins: a forecast right on average can be wrong everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import Array, Index, check_level
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError
from calibrant.metrics.calibration import target_pit_draws
from calibrant.metrics.floor import binomial_band, expected_ecpe
from calibrant.metrics.group_result import GroupCalibration, WorstGroup
from calibrant.metrics.inputs import column
from calibrant.metrics.pit_counts import PitCounts


def calibration_by_group(
    dist: Distribution, y: ArrayLike, groups: Any, *, coverage: float = 0.9
) -> GroupCalibration:
    """Calibration within each group of rows.

    ``ecpe_g = mean_j |p_j - coverage_g(p_j)|``

    A forecast that is right on average can be too wide in one group and too narrow in another;
    each group g has a noise floor of its own.

    Parameters
    ----------
    groups : array of shape (n,)
        Labels of any type; missing labels form a group of their own.
    coverage : float
        Nominal coverage of the intervals whose empirical coverage is reported.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import calibration_by_group
    >>> found = calibration_by_group(
    ...     Normal([0.0] * 4, [1.0] * 4), [0.1, -0.2, 4.0, 5.0], ["a", "a", "b", "b"]
    ... )
    >>> found.names, found.coverage
    (('a', 'b'), array([1., 0.]))
    """
    draws = target_pit_draws(dist, y)
    return group_calibration(draws, groups, check_level(coverage, "coverage"))


def calibration_by_bins(
    dist: Distribution,
    y: ArrayLike,
    *,
    by: str | ArrayLike = "mean",
    bins: int = 10,
    coverage: float = 0.9,
) -> GroupCalibration:
    """Calibration within equally filled bins of the prediction or of a feature.

    ``ecpe_b = mean_j |p_j - coverage_b(p_j)|``

    It shows where a forecast that is right on average is wrong; each bin b has a noise floor of
    its own.

    Parameters
    ----------
    by : "mean", "stddev" or array of shape (n,)
        Values to cut at their quantiles. Equal values share a bin, so many ties give fewer
        bins.
    bins : int
        Number of bins; 10 gives deciles.
    coverage : float
        Nominal coverage of the intervals whose empirical coverage is reported.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import calibration_by_bins
    >>> rng = np.random.default_rng(0)
    >>> true = Normal(rng.normal(size=1000), rng.uniform(1, 3, size=1000))
    >>> y = true.sample(random_state=1)
    >>> flat = Normal(true.mean, np.full(1000, 2.0))
    >>> found = calibration_by_bins(flat, y, by=true.stddev, bins=4)
    >>> found.coverage.round(2)  # too wide in the first bins, too narrow in the last
    array([1.  , 0.96, 0.86, 0.78])
    """
    draws = target_pit_draws(dist, y)
    level = check_level(coverage, "coverage")
    if isinstance(by, str):
        if by not in ("mean", "stddev"):
            raise ParameterError(
                f"by must be 'mean', 'stddev' or an array with one value per row, got {by!r}."
            )
        values = dist.mean if by == "mean" else dist.stddev
    else:
        values = _finite(column(by, "by", len(dist)))
    return bin_calibration(draws, values, bins, level)


def worst_group_coverage(
    dist: Distribution, y: ArrayLike, groups: Any, *, coverage: float = 0.9, min_size: int = 1
) -> WorstGroup:
    """Group whose central intervals cover least, and whether chance explains it.

    ``min_g coverage_g(p)``

    Its coverage is compared with the binomial band of a group of that size, adjusted for having
    searched all groups (Bonferroni).

    Parameters
    ----------
    groups : array of shape (n,)
    coverage : float
        Nominal coverage of the intervals.
    min_size : int
        Groups with fewer rows are left out: the coverage of three rows says little.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import worst_group_coverage
    >>> worst = worst_group_coverage(
    ...     Normal([0.0] * 4, [1.0] * 4), [0.1, -0.2, 0.3, 5.0], ["a", "a", "b", "b"]
    ... )
    >>> worst.name, worst.coverage, worst.outside
    ('b', 0.5, False)
    """
    found = calibration_by_group(dist, y, groups, coverage=coverage)
    candidates = np.flatnonzero(found.n >= min_size)
    if not len(candidates):
        raise DataError(
            f"No group has min_size = {min_size} rows; the largest has {found.n.max()}. "
            "Use a smaller min_size."
        )
    # Among groups with equal coverage the largest is the most telling.
    worst = min(candidates, key=lambda g: (found.coverage[g], -found.n[g]))
    n = int(found.n[worst])
    low, high = binomial_band(n, coverage, 1.0 - 0.05 / len(candidates))
    return WorstGroup(
        found.names[worst], float(found.coverage[worst]), n, (float(low), float(high))
    )


# ---- from PIT values, for callers that already have them ----------------------------------------


def group_calibration(draws: Array, groups: Any, level: float) -> GroupCalibration:
    """Calibration of draws of PIT values, (R, n), within groups, sorted by their labels."""
    return coded_calibration(draws, *group_codes(column(groups, "groups", draws.shape[1])), level)


def bin_calibration(draws: Array, values: Array, bins: int, level: float) -> GroupCalibration:
    """Calibration of draws of PIT values, (R, n), within quantile bins of values, (n,)."""
    return coded_calibration(draws, *bin_codes(values, bins), level)


def group_codes(labels: NDArray[Any]) -> tuple[Index, list[Any]]:
    """Number of the group of each row, (n,), and the labels of all groups, sorted."""
    import pandas as pd

    codes, found = pd.factorize(labels, use_na_sentinel=False)
    # Python numbers and strings; a date in nanoseconds would become a bare integer.
    plain = found.dtype.kind not in "mM"
    names = [name.item() if plain and isinstance(name, np.generic) else name for name in found]
    order = sorted(range(len(names)), key=lambda g: sort_key(names[g], bool(pd.isna(names[g]))))
    return np.argsort(order)[codes], [names[g] for g in order]


def sort_key(name: Any, missing: bool) -> tuple[bool, str, Any]:
    """Sort labels by type, then by value; a missing label comes last."""
    return missing, type(name).__name__, "" if missing else name


def bin_codes(values: Array, bins: int) -> tuple[Index, list[str]]:
    """Number of the quantile bin of each value, (n,), and the ranges of all bins."""
    if bins < 1:
        raise ParameterError(f"bins must be at least 1, got {bins}.")
    edges = bin_edges(values, bins)
    _, codes = np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)
    members = [values[codes == b] for b in range(codes.max() + 1)]
    return codes, [range_name(part.min(), part.max()) for part in members]


def bin_edges(values: Array, bins: int) -> Array:
    """Inner edges of the quantile bins of values; fewer where many are equal."""
    return np.unique(np.quantile(values, np.linspace(0.0, 1.0, bins + 1)[1:-1]))


def range_name(low: float, high: float) -> str:
    """Name of a bin, by its smallest and largest value."""
    first, last = _plain(low), _plain(high)
    return first if first == last else f"{first} to {last}"


def _plain(value: float) -> str:
    # 48,450 reads better than 4.845e+04.
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def coded_calibration(
    draws: Array, codes: Index, names: Sequence[Any], level: float
) -> GroupCalibration:
    """Calibration of draws of PIT values, (R, n), in groups by number, (n,), none of them empty."""
    # One sort instead of one mask per group: there may be many groups.
    sizes = np.bincount(codes, minlength=len(names))
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    return counted_calibration([PitCounts.of(draws[:, own], level) for own in rows], names)


def counted_calibration(counts: Sequence[PitCounts], names: Sequence[Any]) -> GroupCalibration:
    """Calibration in groups whose PIT values have been counted."""
    n = np.array([each.n for each in counts])
    return GroupCalibration(
        names=tuple(names),
        n=n,
        coverage=np.array([each.coverage for each in counts]),
        level=counts[0].level,
        ecpe=np.array([each.ecpe for each in counts]),
        floor=expected_ecpe(n),
        below=np.array([each.below_median for each in counts]),
        curves=np.array([each.curves.mean(axis=0) for each in counts]),
    )


def _finite(values: NDArray[Any]) -> Array:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"by must hold numbers, but {error}. Use calibration_by_group for labels."
        ) from error
    if not np.all(np.isfinite(numbers)):
        raise DataError(
            "by must be finite, but some values are not. Drop these rows, or use "
            "calibration_by_group with labels, where missing ones form a group."
        )
    return numbers
