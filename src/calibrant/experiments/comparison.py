"""Ours beside the published figure and the floor, cell by cell."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.experiments.methods import METHODS
from calibrant.experiments.published import PublishedCell, published
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

METRICS = ("ecpe", "mcpe", "rmse", "epiw", "mpiw", "r2", "smape", "rse", "crps")
_MORE_IS_BETTER = ("r2",)
_OTHER_FORMULA = ("rse",)  # the published values divide by another spread than the formula says
_WIDTHS = ("epiw", "mpiw")  # narrower is better only at equal calibration: no verdict of worth
_PUBLISHED_TRIALS = 5
_CONFIDENCE = 0.95

Verdict = Literal["better", "tie", "worse", "narrower", "wider", ""]


@dataclass(frozen=True)
class Comparison:
    """One cell of the paper's tables and what we measured for it.

    Attributes
    ----------
    protocol, dataset, method, metric : str
    trials : int
    mean : float
    std_error : float or None
        Over trials; None with fewer than two.
    floor : float or None
        What a perfect forecaster scores, for ECPE and MCPE.
    published : PublishedCell or None
    verdict : {"better", "tie", "worse", "narrower", "wider", ""}
        Ours against the published figure; a tie differs by less than the 95% margin of the
        difference (see `margin`). Empty where one of them is unknown, and for RSE, whose
        published values follow another formula.
    """

    protocol: str
    dataset: str
    method: str
    metric: str
    trials: int
    mean: float
    std_error: float | None
    floor: float | None
    published: PublishedCell | None
    verdict: Verdict

    @property
    def split_alike(self) -> bool:
        """Whether rows were split as the paper's were, so that a verdict says what reproduces."""
        return self.protocol.removesuffix("-quick") == "published"


def compare_with_published(
    records: Iterable[Record], metrics: Sequence[str] = METRICS
) -> list[Comparison]:
    """Average the trials of every cell and set them beside the published figures.

    Parameters
    ----------
    records : iterable of dict
        As a `Store` holds them.
    metrics : sequence of str

    Returns
    -------
    list of Comparison
        By protocol, data set, metric and method, in the order of the paper.
    """
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        cell = record["cell"]
        # The depth study has a table of its own, and so has a user's own data.
        if cell["method"] not in METHODS or cell["dataset"] not in TASKS:
            continue
        groups[cell["protocol"], cell["dataset"], cell["method"]].append(record)
    rows = [
        _compare(key, metric, trials)
        for key, trials in groups.items()
        for metric in metrics
        if all(record["scores"].get(metric) is not None for record in trials)
    ]
    return sorted(rows, key=lambda row: _order(row, metrics))


def _compare(key: tuple[str, str, str], metric: str, trials: Sequence[Record]) -> Comparison:
    protocol, dataset, method = key
    values = np.array([record["scores"][metric] for record in trials])
    mean = float(values.mean())
    error = standard_error(values)
    floors = [record["floor"][metric] for record in trials if metric in record["floor"]]
    figure = published(dataset, method, metric)
    return Comparison(
        protocol=protocol,
        dataset=dataset,
        method=method,
        metric=metric,
        trials=len(values),
        mean=mean,
        std_error=error,
        floor=float(np.mean(floors)) if floors else None,
        published=figure,
        verdict=""
        if figure is None or error is None or metric in _OTHER_FORMULA
        else _judge(mean, error, figure, len(values)),
    )


def _judge(mean: float, error: float, figure: PublishedCell, trials: int) -> Verdict:
    # What rounding hides is uniform over the last printed digit.
    digits = len(figure.printed.partition(".")[2])
    rounding = 10.0**-digits / math.sqrt(12) if digits else 0.0
    clear = margin(
        (error, trials - 1), (figure.std_error or 0.0, _PUBLISHED_TRIALS - 1), (rounding, math.inf)
    )
    difference = mean - figure.mean
    if figure.metric in _MORE_IS_BETTER:
        difference = -difference
    if abs(difference) <= clear:
        return "tie"
    if figure.metric in _WIDTHS:
        return "narrower" if difference < 0 else "wider"
    return "better" if difference < 0 else "worse"


def margin(*parts: tuple[float, float]) -> float:
    """How far a difference must be from zero to be no chance, at 95% confidence.

    Student's quantile times the joint standard error: with five trials 2.8 standard errors, with
    two 12.7. The degrees of freedom of the sum follow Welch and Satterthwaite.

    Parameters
    ----------
    *parts : pair of float
        Standard errors that add up, each with its degrees of freedom.

    Examples
    --------
    >>> round(margin((1.0, 4)), 2), round(margin((0.6, 4), (0.8, math.inf)), 2)
    (2.78, 2.04)
    """
    from scipy.stats import t

    variance = sum(error**2 for error, _ in parts)
    if variance == 0.0:
        return 0.0
    doubt = sum(error**4 / freedom for error, freedom in parts)
    freedom = variance**2 / doubt if doubt else math.inf
    return float(t.ppf(0.5 + _CONFIDENCE / 2, freedom)) * math.sqrt(variance)


def standard_error(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """Standard error of a mean; None for fewer than two values."""
    n = len(values)
    return float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else None


def _order(row: Comparison, metrics: Sequence[str]) -> tuple[str, int, int, int]:
    return (
        row.protocol,
        list(TASKS).index(row.dataset),
        metrics.index(row.metric),
        list(METHODS).index(row.method),
    )
