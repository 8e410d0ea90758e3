"""One line that says what the calibration figures mean."""

from __future__ import annotations

import numpy as np

from calibrant.metrics._group_results import GroupCalibration
from calibrant.metrics._inputs import Array
from calibrant.metrics.floor import NoiseFloor, mean_ecpe_quantile
from calibrant.metrics.significance import CalibrationTest, p_text


def verdict(
    u: Array,
    test: CalibrationTest,
    floor: NoiseFloor,
    level: float,
    share: float,
    bins: dict[str, GroupCalibration],
) -> str:
    """Say calibrated, biased, overconfident, underconfident or misshapen, with the evidence.

    Between calibrated and the others is an ECPE that one test would reject by itself, but not as
    one of two, which together may raise a false alarm in one of twenty cases.

    Parameters
    ----------
    u : array of shape (n,)
        PIT values.
    level, share : float
        Nominal and empirical coverage of the intervals to quote.
    bins : dict of GroupCalibration
        Calibration in deciles of the predicted mean and spread, by what they are deciles of.
    """
    if not test.reject:
        found, usual = "Calibrated", "is what chance gives"
        if not floor.explains(test.ecpe):
            found, usual = "Not clearly miscalibrated", "is more than chance mostly gives"
        chance = (
            f"ECPE {test.ecpe:.4f} {usual} at n = {test.n:,} (floor {floor.ecpe:.4f}, 95% of "
            f"perfect forecasters below {floor.ecpe_range[1]:.4f})"
        )
        of, worst = max(bins.items(), key=lambda item: item[1].mean_ecpe / item[1].mean_floor)
        if worst.mean_ecpe <= mean_ecpe_quantile(worst.floor, 0.99):
            return f"{found}: {chance}."
        within = f"ECPE {worst.mean_ecpe:.4f}, floor {worst.mean_floor:.4f}"
        return f"{found} on average: {chance}, but not within deciles of the {of} ({within})."
    p_value, judge = min((test.p_value, "ECPE"), (test.pit_p_value, "PIT"))
    evidence = (
        f"ECPE {test.ecpe:.4f}, floor {floor.ecpe:.4f} at n = {test.n:,}, "
        f"{judge} test {p_text(p_value)}"
    )
    if _is_biased(u):
        below = float(np.mean(u < 0.5))
        side = "high" if below > 0.5 else "low"
        found = f"Biased: predictions are too {side}, {below:.1%} of targets lie below the median"
    else:
        found = _spread(test, level, share)
    return f"{found} ({evidence})."


def _is_biased(u: Array) -> bool:
    # The first two Legendre components of the PIT, location and spread, are each standard
    # normal for a perfect forecast: the larger one names the fault.
    n, centred = len(u), u - 0.5
    location = np.sqrt(12.0 * n) * centred.mean()
    spread = np.sqrt(180.0 * n) * (np.mean(centred**2) - 1.0 / 12.0)
    return bool(abs(location) > max(abs(spread), 2.0))


def _spread(test: CalibrationTest, level: float, share: float) -> str:
    excess = test.coverage - test.levels  # (99,)
    mean = float(excess.mean())
    # Neither word fits where the levels disagree, or where the quoted one would contradict it.
    if abs(mean) < 0.5 * test.ecpe or mean * (share - level) < 0:
        low, high = np.argmin(excess), np.argmax(excess)
        return (
            f"Misshapen: {_covers(test.levels[low], test.coverage[low])} "
            f"but {_covers(test.levels[high], test.coverage[high])}"
        )
    word = "Underconfident" if mean > 0 else "Overconfident"
    if abs(share - level) < 2.0 * np.sqrt(level * (1.0 - level) / test.n):
        # The level asked for is within chance: quote the one that shows what the word says.
        worst = np.argmax(np.sign(mean) * excess)
        level, share = float(test.levels[worst]), float(test.coverage[worst])
    return f"{word}: {_covers(level, share)}"


def _covers(level: float, share: float) -> str:
    return f"{100 * level:.4g}% intervals cover {share:.1%}"
