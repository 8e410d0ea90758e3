"""One line that says what the calibration figures mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.checks import Array
from calibrant.metrics.floor import mean_ecpe_quantile
from calibrant.metrics.formatting import p_value_text
from calibrant.metrics.significance import CalibrationTest

if TYPE_CHECKING:
    from calibrant.metrics.evaluation_result import Evaluation


def verdict(found: Evaluation, draws: Array, share: float) -> str:
    """Say calibrated, biased, overconfident, underconfident or misshapen, with the evidence.

    "Not clearly miscalibrated" is an ECPE that a single test would reject, but not one of two
    tests that together may raise a false alarm in one of twenty cases.

    Parameters
    ----------
    found : Evaluation
        Its metrics may still be missing.
    draws : array of shape (R, n)
        Draws of the PIT values.
    share : float
        Empirical coverage of the intervals to quote.
    """
    test, floor = found.test, found.floor
    if not test.reject:
        return _calibrated(found)
    p_value, name = min((test.p_value, "ECPE"), (test.pit_p_value, "PIT"))
    evidence = (
        f"ECPE {test.ecpe:.4f}, floor {floor.ecpe:.4f} at n = {test.n:,}, "
        f"{name} test {p_value_text(p_value)}"
    )
    if _is_biased(draws):
        below = float(np.mean(draws < 0.5))
        side = "high" if below > 0.5 else "low"
        fault = f"Biased: predictions are too {side}, {below:.1%} of targets lie below the median"
    else:
        fault = _wrong_spread(test, found.level, share)
    return f"{fault} ({evidence})."


def _calibrated(found: Evaluation) -> str:
    test, floor = found.test, found.floor
    word, usual = "Calibrated", "is what chance gives"
    if not floor.explains(test.ecpe):
        word, usual = "Not clearly miscalibrated", "is more than chance mostly gives"
    chance = (
        f"ECPE {test.ecpe:.4f} {usual} at n = {test.n:,} (floor {floor.ecpe:.4f}, 95% of "
        f"perfect forecasters below {floor.ecpe_range[1]:.4f})"
    )
    deciles = {"predicted mean": found.by_mean, "predicted spread": found.by_stddev}
    of, worst = max(deciles.items(), key=lambda item: item[1].mean_ecpe / item[1].mean_floor)
    if worst.mean_ecpe <= mean_ecpe_quantile(worst.floor, 0.99):
        return f"{word}: {chance}."
    within = f"ECPE {worst.mean_ecpe:.4f}, floor {worst.mean_floor:.4f}"
    return f"{word} on average: {chance}, but not within deciles of the {of} ({within})."


def _is_biased(draws: Array) -> bool:
    # The first two Legendre components of the PIT, location and spread, are each standard
    # normal for a perfect forecast: the larger one names the fault.
    n, centred = draws.shape[1], draws - 0.5
    location = np.sqrt(12.0 * n) * centred.mean()
    spread = np.sqrt(180.0 * n) * (np.mean(centred**2) - 1.0 / 12.0)
    return bool(abs(location) > max(abs(spread), 2.0))


def _wrong_spread(test: CalibrationTest, level: float, share: float) -> str:
    excess = test.coverage - test.levels  # (99,)
    mean = float(excess.mean())
    # Neither word fits if the levels disagree, or if the quoted level would contradict it.
    if abs(mean) < 0.5 * test.ecpe or mean * (share - level) < 0:
        low, high = np.argmin(excess), np.argmax(excess)
        return (
            f"Misshapen: {_covers(test.levels[low], test.coverage[low])} "
            f"but {_covers(test.levels[high], test.coverage[high])}"
        )
    word = "Underconfident" if mean > 0 else "Overconfident"
    if abs(share - level) < 2.0 * np.sqrt(level * (1.0 - level) / test.n):
        # The given level is within chance: quote the one that shows the fault best.
        worst = np.argmax(np.sign(mean) * excess)
        level, share = float(test.levels[worst]), float(test.coverage[worst])
    return f"{word}: {_covers(level, share)}"


def _covers(level: float, share: float) -> str:
    return f"{100 * level:.4g}% intervals cover {share:.1%}"
