"""Our results beside the published figures and the noise floor, cell by cell."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.experiments.estimates import Estimate, estimate, margin
from calibrant.experiments.methods import METHODS
from calibrant.experiments.published import PublishedCell, published
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

METRICS = ("ecpe", "mcpe", "rmse", "epiw", "mpiw", "r2", "smape", "rse", "crps")
_MORE_IS_BETTER = ("r2",)
_OTHER_FORMULA = ("rse",)  # the published values do not follow the printed formula
_WIDTHS = ("epiw", "mpiw")  # narrower is better only at equal calibration
_PUBLISHED_TRIALS = 5

Verdict = Literal["better", "tie", "worse", "narrower", "wider", ""]


@dataclass(frozen=True)
class Comparison:
    """One cell of the paper's tables and our result for it.

    Attributes
    ----------
    protocol, dataset, method, metric : str
    trials : int
    mean : float
    std_error : float or None
        Over trials; None with fewer than two.
    floor : float or None
        Expected value for a perfect forecaster, for ECPE and MCPE.
    published : PublishedCell or None
    verdict : {"better", "tie", "worse", "narrower", "wider", ""}
        Ours against the published figure; a tie is a difference within its 95% margin (see
        `estimates.margin`). Empty where one of them is unknown, and for RSE, whose published
        values follow another formula.
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
        """Whether the split is the paper's, so that the verdict is about reproduction."""
        return self.protocol.removesuffix("-quick") == "published"


def compare_with_published(
    records: Iterable[Record], metrics: Sequence[str] = METRICS
) -> list[Comparison]:
    """Average the trials of every cell and compare them with the published figures.

    Parameters
    ----------
    records : iterable of dict
        Records of a `Store`.
    metrics : sequence of str

    Returns
    -------
    list of Comparison
        Ordered by protocol, data set, metric and method, as in the paper.
    """
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        cell = record["cell"]
        # The depth study and comparisons on a user's own table are reported elsewhere.
        if cell["method"] not in METHODS or cell["dataset"] not in TASKS:
            continue
        groups[cell["protocol"], cell["dataset"], cell["method"]].append(record)
    rows = [
        _compare(key, metric, trials)
        for key, trials in groups.items()
        for metric in metrics
        if all(metric in record["scores"] for record in trials)
    ]
    return sorted(rows, key=lambda row: _order(row, metrics))


def _compare(key: tuple[str, str, str], metric: str, trials: Sequence[Record]) -> Comparison:
    protocol, dataset, method = key
    found = estimate(record["scores"][metric] for record in trials)
    assert found is not None  # a group has at least one trial
    floors = [record["floor"][metric] for record in trials if metric in record["floor"]]
    figure = published(dataset, method, metric)
    return Comparison(
        protocol=protocol,
        dataset=dataset,
        method=method,
        metric=metric,
        trials=found.trials,
        mean=found.mean,
        std_error=found.std_error,
        floor=float(np.mean(floors)) if floors else None,
        published=figure,
        verdict="" if figure is None or metric in _OTHER_FORMULA else _verdict(found, figure),
    )


def _verdict(ours: Estimate, figure: PublishedCell) -> Verdict:
    if ours.std_error is None:
        return ""
    # The rounding error is uniform over the last printed digit.
    digits = len(figure.printed.partition(".")[2])
    rounding = 10.0**-digits / math.sqrt(12) if digits else 0.0
    clear = margin(
        (ours.std_error, ours.trials - 1),
        (figure.std_error or 0.0, _PUBLISHED_TRIALS - 1),
        (rounding, math.inf),
    )
    difference = ours.mean - figure.mean
    if figure.metric in _MORE_IS_BETTER:
        difference = -difference
    if abs(difference) <= clear:
        return "tie"
    if figure.metric in _WIDTHS:
        return "narrower" if difference < 0 else "wider"
    return "better" if difference < 0 else "worse"


def _order(row: Comparison, metrics: Sequence[str]) -> tuple[str, int, int, int]:
    return (
        row.protocol,
        list(TASKS).index(row.dataset),
        metrics.index(row.metric),
        list(METHODS).index(row.method),
    )
