"""What the paper claims, and where our runs agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.experiments.comparison import margin, standard_error
from calibrant.experiments.methods import METHODS
from calibrant.experiments.store import Record

_OURS = ("mmd", "mmd-as-published")

Answer = Literal["holds", "tie", "fails"]


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper.

    Attributes
    ----------
    text : str
    metric : str
        Lower is better in all of them.
    on_par : bool
        Being no worse than the best baseline is enough.
    """

    text: str
    metric: str
    on_par: bool = False


CLAIMS = (
    Claim("calibration (ECPE) better than all baselines", "ecpe"),
    Claim("worst-level calibration (MCPE) better than all baselines", "mcpe"),
    Claim("accuracy (RMSE) on par with the best baseline", "rmse", on_par=True),
)


@dataclass(frozen=True)
class Finding:
    """A claim about one method on one data set.

    Attributes
    ----------
    claim : Claim
    protocol, dataset, method : str
    answer : {"holds", "tie", "fails"}
        "tie": the difference is within its 95% margin.
    rival : str
        The best baseline.
    difference, std_error : float
        Of the method minus the rival, paired by trial.
    """

    claim: Claim
    protocol: str
    dataset: str
    method: str
    answer: Answer
    rival: str
    difference: float
    std_error: float


def check_claims(records: Iterable[Record], claims: Sequence[Claim] = CLAIMS) -> list[Finding]:
    """Check every claim on every data set where the method and a baseline have two trials."""
    scores: dict[tuple[str, str], dict[str, dict[int, Record]]] = defaultdict(dict)
    for record in records:
        cell = record["cell"]
        methods = scores[cell["protocol"], cell["dataset"]]
        methods.setdefault(cell["method"], {})[cell["trial"]] = record
    return [
        finding
        for claim in claims
        for (protocol, dataset), methods in scores.items()
        for ours in _OURS
        if ours in methods
        and (finding := _check(claim, protocol, dataset, ours, methods)) is not None
    ]


def _check(
    claim: Claim,
    protocol: str,
    dataset: str,
    ours: str,
    methods: dict[str, dict[int, Record]],
) -> Finding | None:
    paired = []
    for rival in (methods.keys() & METHODS.keys()) - set(_OURS):
        # Same split, same trial: the difference is freer of noise than either figure.
        trials = sorted(methods[ours].keys() & methods[rival].keys())
        gaps = np.array(
            [_score(methods[ours][t], claim) - _score(methods[rival][t], claim) for t in trials]
        )
        error = standard_error(gaps)
        if error is not None:
            paired.append((float(gaps.mean()), error, rival, margin((error, len(gaps) - 1))))
    if not paired:
        return None
    difference, error, rival, clear = max(paired)  # the largest difference is the strongest rival
    answer: Answer = "tie"
    if abs(difference) > clear:
        answer = "holds" if difference < 0 else "fails"
    elif claim.on_par:
        answer = "holds"
    return Finding(claim, protocol, dataset, ours, answer, rival, difference, error)


def _score(record: Record, claim: Claim) -> float:
    return float(record["scores"][claim.metric])
