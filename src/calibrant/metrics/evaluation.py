"""Every metric of a forecast in one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, check_level, group_columns
from calibrant.distributions import Distribution, JointDistribution
from calibrant.metrics.calibration import pit_bounds
from calibrant.metrics.conditional import bin_calibration, group_calibration
from calibrant.metrics.evaluation_result import Evaluation
from calibrant.metrics.floor import noise_floor
from calibrant.metrics.group_result import GroupCalibration
from calibrant.metrics.inputs import check_target
from calibrant.metrics.joint_evaluation import (
    JointEvaluation,
    joint_evaluation,
    observed_outputs,
)
from calibrant.metrics.pit_counts import PitCounts
from calibrant.metrics.quantile_pass import QuantileSummary, quantile_summary
from calibrant.metrics.registry import METRICS
from calibrant.metrics.row_sums import RowSums
from calibrant.metrics.row_values import RowValues
from calibrant.metrics.significance import pit_calibration_test
from calibrant.metrics.verdict import judge


@overload
def evaluate(
    dist: Distribution, y: ArrayLike, groups: Any = None, *, coverage: float = 0.9
) -> Evaluation: ...
@overload
def evaluate(
    dist: JointDistribution, y: Any, groups: Any = None, *, coverage: float = 0.9
) -> JointEvaluation: ...
def evaluate(
    dist: Distribution | JointDistribution, y: Any, groups: Any = None, *, coverage: float = 0.9
) -> Evaluation | JointEvaluation:
    """Compute every metric of a forecast, with the noise floor and a verdict in words.

    Parameters
    ----------
    dist : Distribution or JointDistribution of n rows
    y : array of shape (n,) or (n, 1); for m outputs an array or frame of shape (n, m)
        Observed targets.
    groups : array or series of shape (n,), frame or mapping of n rows, optional
        Labels of groups to check calibration in. Several columns are checked one by one, so
        groups may overlap.
    coverage : float
        Nominal coverage of the intervals that `coverage` and `interval_score` report.

    Returns
    -------
    Evaluation
        The metrics are attributes; the values of each row are kept in `rows`.
    JointEvaluation
        For several outputs: the evaluation of each, their mean, and scores of the joint forecast.

    Notes
    -----
    The metrics are those of `calibrant.metrics.METRICS`.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import evaluate
    >>> dist = Normal(np.linspace(0, 9, 1000), np.full(1000, 2.0))
    >>> result = evaluate(dist, dist.sample(random_state=0))
    >>> print(result.verdict)  # doctest: +ELLIPSIS
    Calibrated: ECPE 0.0... is what chance gives at n = 1,000 (floor 0.0100, ...
    """
    if isinstance(dist, JointDistribution):
        observed = observed_outputs(dist, y)
        each = {
            name: evaluate(dist.marginal(name), observed[:, j], groups, coverage=coverage)
            for j, name in enumerate(dist.names)
        }
        return joint_evaluation(dist, observed, each)
    target = check_target(dist, y)
    level = check_level(coverage, "coverage")
    rows, quantiles = row_values(dist, target, level)
    draws = rows.pit_draws()
    columns = {} if groups is None else group_columns(groups, len(target))
    ways = {name: group_calibration(draws, labels, level) for name, labels in columns.items()}
    by_mean, by_stddev = (
        bin_calibration(draws, values, 10, level) for values in (rows.mean, rows.stddev)
    )
    found = Evaluation(
        rows=rows,
        pit_counts=PitCounts.of(draws, level),
        sums=RowSums.of(rows),
        quantiles=quantiles,
        level=level,
        floor=noise_floor(len(target)),
        test=pit_calibration_test(draws, 0.95),
        by_mean=by_mean,
        by_stddev=by_stddev,
        groups=all_groups(ways),
    )
    return judged(found, ways)


def row_values(dist: Distribution, y: Array, level: float) -> tuple[RowValues, QuantileSummary]:
    """Values of each row, and what one pass over their quantiles gives."""
    left, right = pit_bounds(dist, y)
    mean, variance, crps = dist.moments_and_crps(y)
    quantiles = quantile_summary(dist, y, level)
    rows = RowValues(
        dist=dist,
        y=y,
        mean=mean,
        stddev=np.sqrt(variance),
        median=quantiles.median,
        interval=quantiles.interval,
        cdf_left=left,
        cdf=right,
        crps=crps,
        log_prob=dist.log_prob(y),
    )
    return rows, quantiles


def judged(found: Evaluation, ways: dict[str, GroupCalibration]) -> Evaluation:
    """Return the evaluation with its metrics and its verdict."""
    values = {name: metric.compute(found) for name, metric in METRICS.items()}
    metrics = {name: value for name, value in values.items() if value is not None}
    deciles = {"predicted mean": found.by_mean, "predicted spread": found.by_stddev}
    verdict = judge(found, deciles | ways)
    return replace(
        found,
        metrics=metrics,
        verdict=verdict.verdict,
        state=verdict.state,
        worst=verdict.worst,
        advice=verdict.advice,
    )


def all_groups(ways: dict[str, GroupCalibration]) -> GroupCalibration | None:
    """Groups of all columns; with more than one column, names are ``column = label``."""
    if len(ways) > 1:
        named = [
            replace(way, names=tuple(f"{column} = {name}" for name in way.names))
            for column, way in ways.items()
        ]
        return GroupCalibration.joined(named)
    return next(iter(ways.values()), None)
