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
from calibrant.experiments.tasks import TASKS

Answer = Literal["holds", "tie", "fails"]
_WORST: tuple[Answer, ...] = ("holds", "tie", "fails")


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper.

    Attributes
    ----------
    text : str
    metric : str
        Lower is better in all of them.
    on_par : bool
        Being clearly worse than no baseline is enough.
    """

    text: str
    metric: str
    on_par: bool = False


CLAIMS = (
    Claim("calibration (ECPE) better than all baselines", "ecpe"),
    Claim("worst-level calibration (MCPE) better than all baselines", "mcpe"),
    Claim("accuracy (RMSE) on par with every baseline", "rmse", on_par=True),
)


@dataclass(frozen=True)
class Finding:
    """A claim about one method on one data set.

    Attributes
    ----------
    claim : Claim
    protocol, dataset, method : str
    answer : {"holds", "tie", "fails"}
        "holds": clearly better than every baseline; "fails": clearly worse than one of them;
        "tie": neither, by the 95% margin of the paired difference.
    rival : str
        The baseline that decides: one that beats the method, else one that ties, else the best.
    difference, std_error : float
        Of the method minus that baseline, paired by trial.
    baselines : int
        How many it was compared with; the paper has seven.
    """

    claim: Claim
    protocol: str
    dataset: str
    method: str
    answer: Answer
    rival: str
    difference: float
    std_error: float
    baselines: int


def check_claims(records: Iterable[Record], claims: Sequence[Claim] = CLAIMS) -> list[Finding]:
    """Check every claim on every data set where the method and a baseline share two trials.

    Rivals that the paper does not have are no part of its claims.
    """
    trials: dict[tuple[str, str], dict[str, dict[int, Record]]] = defaultdict(dict)
    for record in records:
        cell = record["cell"]
        if cell["method"] in METHODS and cell["dataset"] in TASKS:
            methods = trials[cell["protocol"], cell["dataset"]]
            methods.setdefault(cell["method"], {})[cell["trial"]] = record
    return [
        finding
        for claim in claims
        for (protocol, dataset), methods in trials.items()
        for ours in _with_role("ours", methods)
        if (finding := _check(claim, protocol, dataset, ours, methods)) is not None
    ]


def _with_role(role: str, methods: Iterable[str]) -> list[str]:
    return [key for key in METHODS if METHODS[key].role == role and key in methods]


def _check(
    claim: Claim,
    protocol: str,
    dataset: str,
    ours: str,
    methods: dict[str, dict[int, Record]],
) -> Finding | None:
    found = []
    for rival in _with_role("baseline", methods):
        # Same split, same trial: the difference is freer of noise than either figure.
        gaps = _gaps(methods[ours], methods[rival], claim.metric)
        error = standard_error(gaps)
        if error is not None:
            difference = float(gaps.mean())
            answer = _answer(difference, margin((error, len(gaps) - 1)), claim)
            found.append((_WORST.index(answer), difference, error, rival))
    if not found:
        return None
    worst, difference, error, rival = max(found)
    return Finding(
        claim, protocol, dataset, ours, _WORST[worst], rival, difference, error, len(found)
    )


def _gaps(
    ours: dict[int, Record], theirs: dict[int, Record], metric: str
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    pairs = [
        (ours[trial]["scores"].get(metric), theirs[trial]["scores"].get(metric))
        for trial in sorted(ours.keys() & theirs.keys())
    ]
    return np.array([a - b for a, b in pairs if a is not None and b is not None])


def _answer(difference: float, clear: float, claim: Claim) -> Answer:
    if difference > clear:
        return "fails"
    return "holds" if difference < -clear or claim.on_par else "tie"
