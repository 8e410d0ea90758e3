"""Recommend a method by a stated rule, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.experiments.estimates import standard_error

RULE = (
    "The best CRPS among the methods whose calibration is not rejected (95% confidence, all "
    "out-of-fold rows); of those within one paired standard error of it the fastest to fit, if it "
    "takes at most two thirds of the time."
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


def recommend(
    standings: Sequence[Standing],
    folds: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]],
) -> tuple[str, str]:
    """Apply `RULE`.

    Parameters
    ----------
    standings : sequence of Standing
        Best CRPS first.
    folds : mapping from methods to arrays of shape (k,)
        CRPS per fold, for the paired standard error.

    Returns
    -------
    method, reason : str
    """
    candidates = [standing for standing in standings if not standing.rejected] or list(standings)
    best = candidates[0]
    ties = []
    for standing in candidates:
        gaps = folds[standing.method] - folds[best.method]
        if gaps.mean() <= (standard_error(gaps) or 0.0):
            ties.append(standing)
    fastest = min(ties, key=lambda standing: standing.seconds)
    # Smaller differences are within the variation of timings between runs.
    chosen = fastest if 1.5 * fastest.seconds <= best.seconds else best
    return chosen.method, _reason(chosen, best, candidates, standings)


def _reason(
    chosen: Standing, best: Standing, candidates: Sequence[Standing], standings: Sequence[Standing]
) -> str:
    reason = f"CRPS {chosen.crps:.4g}, ECPE {chosen.ecpe:.4f} (floor {chosen.floor:.4f}): "
    among = f"of all {len(standings)} methods"
    if not best.rejected:
        among = f"of the {len(candidates)} among {len(standings)} methods whose calibration is not"
        among += " rejected"
    if chosen is best:
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
