"""Everything about a forecast in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.distributions import Distribution
from calibrant.metrics._evaluation import Evaluation
from calibrant.metrics._inputs import check_level, check_target
from calibrant.metrics._quantile_pass import quantile_summary
from calibrant.metrics._verdict import verdict
from calibrant.metrics.accuracy import accuracy_scores
from calibrant.metrics.calibration import LEVELS, at_most, covered_counts, pit
from calibrant.metrics.conditional import bin_calibration, group_calibration
from calibrant.metrics.floor import noise_floor
from calibrant.metrics.significance import judge_pit


def evaluate(
    dist: Distribution, y: ArrayLike, groups: Any = None, *, coverage: float = 0.9
) -> Evaluation:
    """Gather every metric of a forecast, with the noise floor and a verdict in words.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)
        Observed targets.
    groups : array of shape (n,), optional
        Labels of groups to check calibration in.
    coverage : float
        Nominal coverage of the intervals that `coverage` and `interval_score` report.

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
    target = check_target(dist, y)
    level = check_level(coverage, "coverage")
    n, u = len(target), pit(dist, target)
    mean, variance, crps = dist.moments_and_crps(target)
    test, floor = judge_pit(u, 0.95), noise_floor(n)
    share = float(covered_counts(u, np.array([level]))[0] / n)
    by_mean = bin_calibration(u, mean, 10, level)
    by_stddev = bin_calibration(u, np.sqrt(variance), 10, level)
    deciles = {"predicted mean": by_mean, "predicted spread": by_stddev}
    quantiles = quantile_summary(dist, target, level)
    return Evaluation(
        n=n,
        verdict=verdict(u, test, floor, level, share, deciles),
        ecpe=test.ecpe,
        mcpe=test.mcpe,
        quantile_calibration_error=float(np.mean(np.abs(at_most(u, LEVELS) / n - LEVELS))),
        coverage=share,
        level=level,
        epiw=float(quantiles.widths.mean()),
        mpiw=float(quantiles.widths.max()),
        **accuracy_scores(mean, target),
        crps=float(np.mean(crps)),
        nll=-float(np.mean(dist.log_prob(target))),
        pinball=quantiles.pinball,
        interval_score=quantiles.interval_score,
        floor=floor,
        test=test,
        by_mean=by_mean,
        by_stddev=by_stddev,
        groups=None if groups is None else group_calibration(u, groups, level),
    )
