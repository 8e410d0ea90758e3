"""Recalibration over time: adaptive conformal inference at all levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.checks import Array, finite_numbers
from calibrant.distributions import Distribution, ScoreRecalibrated
from calibrant.distributions.pit import normal_scores
from calibrant.distributions.score_recalibrated import END
from calibrant.errors import DataError, ModelFileError, ParameterError
from calibrant.recalibration.quantile_tracking import (
    FARTHEST,
    LEVELS,
    SCORES,
    QuantileTrackers,
    moved_apart,
)

_LOSS_MEMORY = 300  # rows after which a past loss counts 1 / e
_LEARNING_RATE = 3.0  # a tracker whose loss is a third larger has a weight smaller by e
_FEEDBACK_MEMORY = 400.0  # slow: what is left to correct is small and one-sided


def _ended(scores: Array) -> Array:
    """Scores with both ends, which no correction moves, (37,)."""
    return np.concatenate([[-END], scores, [END]])


_ENDED = _ended(SCORES)


class AdaptiveRecalibrator:
    """Recalibration over time: takes distributions and outcomes, returns distributions.

    A model that was calibrated yesterday may not be calibrated tomorrow. With
    ``z_t = Phi^{-1}(F_t(y_t))`` the normal score of outcome t under the model's own (static)
    distribution, the quantile ``theta_j`` of z of each of 35 levels ``a_j`` is tracked by

        theta_j <- theta_j + s / (m_j phi(z_{a_j})) (a_j - 1{z_t <= theta_j}),

    which is adaptive conformal inference (Gibbs and Candes, 2021) at all levels: a level that
    covers too little moves until it does not, however the series behaves. The step gives every
    level a memory of about m rows, in units of the present spread s; so few rows inform an
    extreme level that its m_j is at least ``1 / min(a_j, 1 - a_j)``. Quantiles are sorted after
    each step.

    No memory is right for every series, so several are tracked at once and averaged, level by
    level (as in DtACI, Gibbs and Candes, 2024), with weights ``exp(-3 L)``, L their CRPS in normal
    scores summed over the past with a memory of 300 rows. One of them never moves: where the
    model is already calibrated, its weight grows and little noise is added.

    The average of trackers has no coverage guarantee, and lags behind a steady drift. Its own
    normal scores are therefore tracked once more, slowly (400 rows), and corrected.

    The result is a `ScoreRecalibrated`: the quantile of level a_j is that of the static
    distribution at ``Phi(theta_j)``, corrected. Nothing is refitted.

    Parameters
    ----------
    memory : sequence of float
        Rows that each tracker remembers; ``inf`` keeps the model's own distribution.
    symmetric : bool, default False
        Follow the absolute scores: correct the width of central intervals, the same on both
        sides, and leave the median. For outcomes that come late, whose bias is past by the time
        it is corrected.
    overlap : float, default 1
        Rows that say as much as one independent row, at least 1. Forecasts many steps ahead from
        neighbouring origins share most of their errors: a run of them is one piece of evidence,
        so memories are as many times longer and losses as many times smaller.

    Attributes
    ----------
    levels : array of shape (35,)
        Levels whose quantiles are tracked.

    Notes
    -----
    An outcome that is an atom of its distribution gets a PIT value drawn uniformly over the jump,
    from a random stream with a fixed seed that continues from call to call: updating row by row
    or all at once gives the same result to the last bit.

    Coverage is corrected by its own errors, so over a long stream it comes closer to nominal
    than the binomial noise of a perfect forecaster. That holds for the average over time; it does
    not mean that every hour, or every kind of row, is calibrated.

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
    (0.52, 0.9)
    """

    levels: ClassVar[Array] = LEVELS

    def __init__(
        self,
        memory: Sequence[float] = (10.0, 30.0, 100.0, math.inf),
        *,
        symmetric: bool = False,
        overlap: float = 1.0,
    ) -> None:
        rows = np.asarray(memory, dtype=np.float64)
        if rows.ndim != 1 or not rows.size or not np.all(rows >= 1):
            raise ParameterError(
                f"memory must be a list of numbers of rows, each at least 1, got {memory!r}."
            )
        self.memory: tuple[float, ...] = tuple(rows.tolist())
        if not overlap >= 1.0:
            raise ParameterError(f"overlap must be a number of rows, at least 1, got {overlap!r}.")
        self.symmetric = bool(symmetric)
        self.overlap = float(overlap)
        self._reset()

    def for_delay(self, origins: int, rows: int = 1) -> AdaptiveRecalibrator:
        """Return one that has learned nothing yet, for outcomes that come late.

        An outcome that is known before the next forecast corrects its bias too. A later one
        corrects the spread alone, and half of the forecasts made until then count as one: this was
        chosen on hours of electricity transformers, 1 to 168 steps ahead.

        Parameters
        ----------
        origins : int
            Forecasts from one origin to the first whose maker knows the outcome, at least 1.
        rows : int, default 1
            Rows of every origin, such as the series of a panel.
        """
        return AdaptiveRecalibrator(
            [each * rows for each in self.memory],
            symmetric=self.symmetric or origins > 1,
            overlap=max(self.overlap, origins / 2),
        )

    def _reset(self) -> None:
        memory = [self.overlap * rows for rows in self.memory]
        feedback = [self.overlap * _FEEDBACK_MEMORY]
        self._trackers = QuantileTrackers(memory, symmetric=self.symmetric)
        self._losses: Array = np.zeros(len(self.memory))
        self._feedback = QuantileTrackers(feedback, symmetric=self.symmetric)
        self._seen = 0
        self._average = self._averaged()

    # ---- learning ---------------------------------------------------------------------------

    def start(self, dist: Distribution, y: ArrayLike) -> Self:
        """Forget everything and start with held-out rows, in time order.

        Without it the first rows are not changed.
        """
        self._reset()
        return self.update(dist, y)

    def update(self, dist: Distribution, y: ArrayLike) -> Self:
        """Learn from newly observed rows, in time order.

        Parameters
        ----------
        dist : Distribution of n rows
            The model's predictions, not recalibrated.
        y : array of shape (n,)
            Outcomes.
        """
        for score in self._scores(dist, y):
            self._learn(score)
        return self

    def _learn(self, score: float) -> None:
        self._feedback.learn(float(np.interp(score, self._average, _ENDED)))
        kept = 1.0 - 1.0 / (_LOSS_MEMORY * self.overlap)
        self._losses = kept * self._losses + self._trackers.losses(score) / self.overlap
        self._trackers.learn(score)
        self._average = self._averaged()

    def _scores(self, dist: Distribution, y: ArrayLike) -> Array:
        """Normal scores of the outcomes, (n,), from the nearer tail."""
        _check(dist)
        target = finite_numbers(y, "y")
        if len(target) != len(dist):
            raise DataError(
                f"Expected one outcome for each of {len(dist)} rows, got {len(target)}."
            )
        stream = np.random.Generator(np.random.PCG64(0).advance(self._seen))
        self._seen += len(target)
        return np.clip(normal_scores(dist, target, stream), -FARTHEST, FARTHEST)

    # ---- predicting -------------------------------------------------------------------------

    def transform(self, dist: Distribution) -> Distribution:
        """Recalibrate rows whose outcomes are not known yet."""
        _check(dist)
        return ScoreRecalibrated(dist, np.tile(self._knots(), (len(dist), 1)), LEVELS)

    def follow(self, dist: Distribution, y: ArrayLike, lag: int = 1) -> Distribution:
        """Recalibrate each row of a stream, then learn from it.

        The same as calling ``transform`` and then ``update`` row by row, but fast.

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
            The recalibrator has then learned from the whole stream.
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
        return ScoreRecalibrated(dist, knots[known], LEVELS)

    @property
    def knots(self) -> Array:
        """Normal scores of the static distribution at the recalibrated `levels`, (35,)."""
        return self._knots()

    def _averaged(self) -> Array:
        """Quantiles of all trackers, weighted by their past losses, with both ends, (37,)."""
        weights = np.exp(-_LEARNING_RATE * (self._losses - self._losses.min()))
        return _ended(moved_apart(weights @ self._trackers.quantiles / weights.sum()))

    def _knots(self) -> Array:
        """Scores of the static distribution at the recalibrated levels, (35,)."""
        return moved_apart(np.interp(self._feedback.quantiles[0], _ENDED, self._average))

    # ---- saving -----------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learned, as plain arrays."""
        return {
            "memory": np.array(self.memory),
            "symmetric": np.array(self.symmetric),
            "overlap": np.array(self.overlap),
            "quantiles": self._trackers.quantiles.copy(),
            "losses": self._losses.copy(),
            "feedback": self._feedback.quantiles.copy(),
            "seen": np.array(self._seen),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Return the recalibrator that `state` came from."""
        try:
            made = cls(
                np.asarray(state["memory"]).tolist(),
                symmetric=bool(state["symmetric"]),
                overlap=float(state["overlap"]),
            )
            for name, blank in made.state().items():
                if np.shape(state[name]) != blank.shape:
                    raise ValueError(f"{name} of shape {np.shape(state[name])}, not {blank.shape}")
            made._trackers.quantiles = np.array(state["quantiles"], dtype=np.float64)
            made._losses = np.array(state["losses"], dtype=np.float64)
            made._feedback.quantiles = np.array(state["feedback"], dtype=np.float64)
            made._seen = int(state["seen"])
            made._average = made._averaged()
            if not np.all(np.isfinite(made._knots())):
                raise ValueError("numbers that are not finite")
        except (KeyError, TypeError, ValueError) as cause:
            raise ModelFileError(f"Not the state of an AdaptiveRecalibrator: {cause!r}.") from cause
        return made


def _check(dist: Distribution) -> None:
    if not isinstance(dist, Distribution):
        raise ParameterError(
            "Expected a predictive distribution, such as model.predict_dist(X), got "
            f"{type(dist).__name__}."
        )
