"""Recommend a method by a stated rule, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calibrant.checks import Array
from calibrant.experiments.candidates import BASELINE, REFERENCES
from calibrant.experiments.estimates import standard_error

RULE = (
    "The best CRPS among the methods of calibrant fit whose calibration is not rejected (95% "
    "confidence, all out-of-fold rows); of those within one paired standard error of it "
    "the fastest to fit, if it takes at most two thirds of the time."
)


@dataclass(frozen=True)
class Standing:
    """Result of one method over all folds.

    Attributes
    ----------
    method : str
    ecpe, floor : float
        Calibration error over all out-of-fold rows; expected value for a perfect forecaster.
    rejected : bool
        Whether a test rejects that the forecasts are calibrated.
    epiw : float
        Sharpness: mean width of the central intervals.
    crps, crps_error : float
        Mean and its standard error over folds.
    skill : float or None
        Share of the CRPS of the baseline that the method saves; None without a baseline.
    rmse : float
    seconds : float
        Seconds to fit one fold.
    """

    method: str
    ecpe: float
    floor: float
    rejected: bool
    epiw: float
    crps: float
    crps_error: float
    rmse: float
    seconds: float
    skill: float | None = None


def recommend(
    standings: Sequence[Standing],
    folds: Mapping[str, Array],
) -> tuple[str, str]:
    """Apply `RULE`.

    Parameters
    ----------
    standings : sequence of Standing
        Best CRPS first. The baseline is never recommended, and a package that `calibrant fit` does
        not offer only if there is nothing else; where one is better, the reason says so.
    folds : mapping from methods to arrays of shape (k,)
        CRPS per fold, for the paired standard error.

    Returns
    -------
    method, reason : str
    """
    rated = [standing for standing in standings if standing.method != BASELINE]
    others = [standing for standing in rated if standing.method in REFERENCES]
    own = [standing for standing in rated if standing not in others] or rated
    candidates = [standing for standing in own if not standing.rejected] or own
    best = candidates[0]

    def gap(one: Standing, other: Standing) -> tuple[float, float]:
        """Mean paired difference and its standard error."""
        gaps = folds[one.method] - folds[other.method]
        return float(gaps.mean()), standard_error(gaps) or 0.0

    ties = [each for each in candidates if gap(each, best)[0] <= gap(each, best)[1]]
    fastest = min(ties, key=lambda standing: standing.seconds)
    # Smaller differences are within the variation of timings between runs.
    chosen = fastest if 1.5 * fastest.seconds <= best.seconds else best
    reason = _reason(chosen, best, candidates, own)
    ahead = [each for each in others if each.crps < chosen.crps and each is not chosen]
    if ahead and chosen not in others:
        mean, error = gap(chosen, ahead[0])
        noise = ", within one standard error" if mean <= error else ""
        verdict = " but its calibration is rejected" if ahead[0].rejected else ""
        reason += (
            f" {ahead[0].method}, which calibrant fit does not offer, has a CRPS of "
            f"{ahead[0].crps:.4g}{noise}{verdict}."
        )
    if chosen.skill is not None and chosen.skill <= 0:
        reason += (
            " No better than the baseline, which ignores the inputs: they say nothing about the "
            "target, or there are too few rows to learn it."
        )
    return chosen.method, reason


def _reason(
    chosen: Standing, best: Standing, candidates: Sequence[Standing], standings: Sequence[Standing]
) -> str:
    skill = "" if chosen.skill is None else f" ({chosen.skill:.0%} below the baseline)"
    reason = f"CRPS {chosen.crps:.4g}{skill}, ECPE {chosen.ecpe:.4f} (floor {chosen.floor:.4f}): "
    among = f"of all {len(standings)} methods"
    if not best.rejected:
        among = f"of the {len(candidates)} among {len(standings)} methods whose calibration is not"
        among += " rejected"
    if chosen is best and not best.rejected and len(candidates) == 1 < len(standings):
        reason += f"the only one of {len(standings)} methods whose calibration is not rejected."
    elif chosen is best:
        reason += f"the best CRPS {among}."
    else:
        reason += (
            f"within one paired standard error of {best.method}, the best {among} (CRPS "
            f"{best.crps:.4g}), and faster to fit: {chosen.seconds:.1f} s against "
            f"{best.seconds:.1f} s."
        )
    if best.rejected:
        reason += " The calibration of every method is rejected: recalibrate, then evaluate again."
    elif standings[0] is not best:
        reason += (
            f" {standings[0].method} has a better CRPS, {standings[0].crps:.4g}, but its "
            "calibration is rejected; recalibrated it may be the better choice."
        )
    return reason
