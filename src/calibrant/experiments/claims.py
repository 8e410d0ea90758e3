"""The claims of the paper, and on which data sets they hold in our runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from calibrant.experiments.estimates import Estimate, paired_difference, ratio_of_test_rows
from calibrant.experiments.methods import METHODS
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS

Answer = Literal["holds", "tie", "fails"]
_BEST_FIRST: tuple[Answer, ...] = ("holds", "tie", "fails")


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes
    ----------
    text : str
    metric : str
        Lower is better for all of them.
    on_par : bool
        Whether it is enough not to be clearly worse than any baseline.
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
    """Whether a claim holds for one method on one data set.

    Attributes
    ----------
    claim : Claim
    protocol, dataset, method : str
    answer : {"holds", "tie", "fails"}
        "holds": clearly better than every baseline; "fails": clearly worse than one of them;
        "tie": neither. Clear means beyond the 95% margin of `paired_difference`.
    rival : str
        The deciding baseline: one that beats the method, else one that ties, else the best.
    difference, std_error : float
        Method minus that baseline, paired by trial.
    baselines : int
        Number of baselines compared with; the paper has seven.
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

    Only the paper's baselines count.
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
    ratio = ratio_of_test_rows(list(methods[ours].values()))
    for rival in _with_role("baseline", methods):
        mine, theirs = (_values(methods[key], claim.metric) for key in (ours, rival))
        gap = paired_difference(mine, theirs, ratio)
        if gap is not None and gap.std_error is not None:
            found.append((_BEST_FIRST.index(_answer(gap, claim)), gap.mean, gap.std_error, rival))
    if not found:
        return None
    worst, difference, error, rival = max(found)
    return Finding(
        claim, protocol, dataset, ours, _BEST_FIRST[worst], rival, difference, error, len(found)
    )


def _values(trials: dict[int, Record], metric: str) -> dict[int, float]:
    return {
        trial: record["scores"][metric]
        for trial, record in trials.items()
        if metric in record["scores"]
    }


def _answer(gap: Estimate, claim: Claim) -> Answer:
    clear = gap.margin or 0.0
    if gap.mean > clear:
        return "fails"
    return "holds" if gap.mean < -clear or claim.on_par else "tie"
