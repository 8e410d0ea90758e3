"""What `evaluate` computes for each row, kept for reports and figures."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.metrics.calibration import pit_draws


@dataclass(frozen=True, eq=False, repr=False)
class RowValues:
    """A forecast of n rows, the observed targets, and the values of each row.

    Attributes
    ----------
    dist : Distribution of n rows
    y : array of shape (n,)
        Observed targets.
    mean, stddev, median : arrays of shape (n,)
    interval : array of shape (n, 2)
        Bounds of the central interval of the nominal coverage of the evaluation.
    cdf_left, cdf : arrays of shape (n,)
        ``F(y-)`` and ``F(y)``; they differ where a target is on an atom.
    crps, log_prob : arrays of shape (n,)
        Scores of each row; for log_prob higher is better.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import evaluate
    >>> rows = evaluate(Normal([0.0, 0.0], [1.0, 1.0]), [0.0, 1.0]).rows
    >>> rows.pit.round(3), rows.crps.round(3)
    (array([0.5  , 0.841]), array([0.234, 0.602]))
    """

    dist: Distribution
    y: Array
    mean: Array
    stddev: Array
    median: Array
    interval: Array
    cdf_left: Array
    cdf: Array
    crps: Array
    log_prob: Array

    @property
    def pit(self) -> Array:
        """PIT values, (n,): the first draw on atoms, as `calibrant.metrics.pit` gives it."""
        first: Array = self.pit_draws()[0]
        return first

    def pit_draws(self) -> Array:
        """Draws of the PIT values, (R, n): 20 of them if any target is on an atom, else one."""
        return pit_draws(self.cdf_left, self.cdf)
