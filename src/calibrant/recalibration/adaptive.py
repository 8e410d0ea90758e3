"""Recalibration that follows a stream: adaptive conformal inference over all levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from calibrant.distributions import Distribution, Warped
from calibrant.errors import DataError, ModelFileError, ParameterError
from calibrant.recalibration._models import finite_numbers

Array = NDArray[np.float64]

# Levels whose quantiles are tracked, (35,): evenly spaced, and some towards both ends.
_TAIL = np.array([0.001, 0.003, 0.01])
LEVELS: Array = np.concatenate([_TAIL, np.arange(1, 30) / 30, 1.0 - _TAIL[::-1]])
SCORES: Array = ndtri(LEVELS)
_DENSITY: Array = np.exp(-0.5 * SCORES**2) / math.sqrt(2.0 * math.pi)
# The part of [0, 1] that each level stands for: pinball losses weighted so add up to a CRPS.
_SHARES: Array = np.diff(np.concatenate([[0.0], 0.5 * (LEVELS[1:] + LEVELS[:-1]), [1.0]]))

_FARTHEST = 36.0  # scores beyond this are beyond the smallest numbers
_APART = 1e-6  # least distance of two quantiles, in scores: a map must have an inverse
_SPREADS = 0.05, 20.0  # a tracker is never slower, or faster, than at these spreads
_OUTER = 2, -3  # columns of the levels 1% and 99%: their distance is the spread
_LOSS_MEMORY = 300  # rows after which a past loss counts 1 / e
_EAGERNESS = 3.0  # a third more of lost score costs a tracker a factor e of its weight


class AdaptiveRecalibrator:
    """Recalibration in time: distributions in, outcomes one by one, distributions out.

    A model that was calibrated yesterday need not be so tomorrow. With
    ``z_t = Phi^{-1}(F_t(y_t))`` the normal score of outcome t under the model's own (static)
    distribution, the quantile ``theta_j`` of z of each of 35 levels ``a_j`` is tracked by

        theta_j <- theta_j + s / (m_j phi(z_{a_j})) (a_j - 1{z_t <= theta_j}),

    which is adaptive conformal inference (Gibbs and Candes, 2021) over all levels: a level that
    covers too little moves until it does not, whatever the series does. The step gives every
    level a memory of about m rows in units of the present spread s; a far level is met in so few
    rows that its m_j is at least ``1 / min(a_j, 1 - a_j)``. Quantiles are sorted after each step.

    No memory is right for every series, so several are tracked at once and averaged (Gibbs and
    Candes, 2024), level by level, with weights ``exp(-3 L)``, L their CRPS in normal scores
    summed over the past with a memory of 300 rows. One of them never moves: where the model is
    calibrated as it is, its weight grows and little noise is added.

    The result is ``Warped``: the quantile of level a_j is that of the static distribution at
    ``Phi(theta_j)``. Nothing is refitted.

    Parameters
    ----------
    memory : sequence of float
        Rows that each tracker remembers; ``inf`` stays with the model's own distribution. One
        number gives plain adaptive conformal inference.

    Notes
    -----
    An outcome that is an atom of its distribution gets a PIT value drawn uniformly over the jump,
    from a stream of numbers with a fixed seed that continues from call to call: feeding rows
    one by one or all at once is the same to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import AdaptiveRecalibrator
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import coverage
    >>> y = np.random.default_rng(0).normal(scale=np.linspace(1.0, 4.0, 3000))
    >>> static = Normal(np.zeros(3000), np.ones(3000))
    >>> adapted = AdaptiveRecalibrator().follow(static, y)
    >>> round(coverage(static, y), 2), round(coverage(adapted, y), 2)
    (0.57, 0.9)
    """

    def __init__(self, memory: Sequence[float] = (10.0, 30.0, 100.0, math.inf)) -> None:
        rows = np.atleast_1d(np.asarray(memory, dtype=np.float64))
        if rows.ndim != 1 or not rows.size or not np.all(rows >= 1):
            raise ParameterError(
                f"memory must be one or several numbers of rows, each at least 1, got {memory!r}."
            )
        self.memory: tuple[float, ...] = tuple(rows.tolist())
        least = 1.0 / np.minimum(LEVELS, 1.0 - LEVELS)
        self._steps: Array = 1.0 / (np.maximum(rows[:, None], least) * _DENSITY)  # (K, 35)
        self._reset()

    def _reset(self) -> None:
        self._quantiles: Array = np.tile(SCORES, (len(self.memory), 1))  # (K, 35)
        self._losses: Array = np.zeros(len(self.memory))
        self._seen = 0

    # ---- learning ---------------------------------------------------------------------------

    def start(self, dist: Distribution, y: ArrayLike) -> Self:
        """Forget everything and begin from held-out rows, in time order.

        Without it the first rows are recalibrated by the identity.
        """
        self._reset()
        return self.update(dist, y)

    def update(self, dist: Distribution, y: ArrayLike) -> Self:
        """Learn from newly observed rows, in time order.

        Parameters
        ----------
        dist : Distribution of n rows
            What the model said of them, not recalibrated.
        y : array of shape (n,)
            What came.
        """
        for score in self._scores(dist, y):
            self._learn(score)
        return self

    def _learn(self, score: float) -> None:
        # Few operations: this runs once for every row of a stream.
        theta, (low, high) = self._quantiles, _OUTER
        gap = score - theta
        self._losses *= 1.0 - 1.0 / _LOSS_MEMORY
        self._losses += np.maximum(LEVELS * gap, (LEVELS - 1.0) * gap) @ _SHARES
        spread = (theta[:, high] - theta[:, low]) / (SCORES[high] - SCORES[low])
        spread = np.minimum(np.maximum(spread, _SPREADS[0]), _SPREADS[1])
        theta += spread[:, None] * self._steps * (LEVELS - (gap <= 0.0))
        np.clip(theta, -_FARTHEST, _FARTHEST, out=theta)
        theta.sort(axis=1)

    def _scores(self, dist: Distribution, y: ArrayLike) -> Array:
        """Normal scores of the outcomes, (n,), from the nearer tail."""
        _check(dist)
        target = finite_numbers(y, "y")
        if len(target) != len(dist):
            raise DataError(
                f"Expected one outcome for each of {len(dist)} rows, got {len(target)}."
            )
        cdf, left, above = dist.cdf(target), dist.cdf_left(target), dist.prob_above(target)
        uniform = np.random.Generator(np.random.PCG64(0).advance(self._seen)).random(len(target))
        self._seen += len(target)
        drawn = ndtri(left + uniform * (cdf - left))
        continuous = np.where(cdf < 0.5, ndtri(cdf), -ndtri(above))
        scores = np.where(cdf > left, drawn, continuous)
        return np.clip(scores, -_FARTHEST, _FARTHEST)

    # ---- predicting -------------------------------------------------------------------------

    def transform(self, dist: Distribution) -> Distribution:
        """Recalibrate rows that have not been observed, with what is known now."""
        _check(dist)
        return Warped(dist, np.tile(self._knots(), (len(dist), 1)), LEVELS)

    def follow(self, dist: Distribution, y: ArrayLike, lag: int = 1) -> Distribution:
        """Go through a stream: recalibrate each row, then learn from it.

        The same as ``transform`` of each row before ``update`` with it, but fast.

        Parameters
        ----------
        dist : Distribution of n rows
            Static distributions, in time order.
        y : array of shape (n,)
        lag : int, default 1
            Row i is recalibrated with the outcomes of rows up to ``i - lag``; forecasts made h
            steps ahead need ``lag=h``.

        Returns
        -------
        Distribution of n rows
            The recalibrator is left as it is after the whole stream.
        """
        if not isinstance(lag, int | np.integer) or lag < 1:
            raise ParameterError(f"lag must be a whole number of at least 1 row, got {lag!r}.")
        scores = self._scores(dist, y)
        knots = np.empty((len(scores) + 1, len(LEVELS)))  # after 0, 1 ... n outcomes
        knots[0] = self._knots()
        for i, score in enumerate(scores, start=1):
            self._learn(score)
            knots[i] = self._knots()
        known = np.maximum(np.arange(len(scores)) - (lag - 1), 0)
        return Warped(dist, knots[known], LEVELS)

    def _knots(self) -> Array:
        weights = np.exp(-_EAGERNESS * (self._losses - self._losses.min()))
        mean = weights @ self._quantiles / weights.sum()
        steps = _APART * np.arange(len(LEVELS))
        knots: Array = np.maximum.accumulate(mean - steps) + steps
        return knots

    # ---- saving -----------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learned, as plain arrays."""
        return {
            "memory": np.array(self.memory),
            "quantiles": self._quantiles.copy(),
            "losses": self._losses.copy(),
            "seen": np.array(self._seen),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Return the recalibrator that `state` came from."""
        try:
            made = cls(np.asarray(state["memory"]).tolist())
            quantiles = np.array(state["quantiles"], dtype=np.float64)
            losses = np.array(state["losses"], dtype=np.float64)
            seen = int(state["seen"])
        except (KeyError, TypeError, ValueError) as cause:
            raise ModelFileError(f"Not the state of a recalibrator: {cause!r}.") from cause
        right = quantiles.shape == made._quantiles.shape and losses.shape == made._losses.shape
        if not right or not np.all(np.isfinite(quantiles)) or not np.all(np.isfinite(losses)):
            raise ModelFileError(
                f"Expected finite quantiles of shape {made._quantiles.shape} and one loss for each "
                f"memory, got shapes {quantiles.shape} and {losses.shape}."
            )
        made._quantiles, made._losses, made._seen = quantiles, losses, seen
        return made


def _check(dist: Distribution) -> None:
    if not isinstance(dist, Distribution):
        raise ParameterError(
            f"Expected a predictive distribution, such as model.predict_dist(X), got "
            f"{type(dist).__name__}."
        )
