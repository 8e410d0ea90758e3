"""What the calibration figures mean, in words: the worst first, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from calibrant.metrics.floor import mean_ecpe_quantile
from calibrant.metrics.formatting import p_value_text
from calibrant.metrics.group_result import GroupCalibration
from calibrant.metrics.significance import CalibrationTest
from calibrant.metrics.slices import Slice, differing_sources, rank_slices, worst_sentence

if TYPE_CHECKING:
    from calibrant.metrics.evaluation_result import Evaluation

State = Literal["good", "mixed", "bad"]
_TOLERATED_ECPE = 0.02  # two points of coverage on average, beyond the noise floor
_MOST_SOURCES = 3  # named in the advice


class Verdict(NamedTuple):
    """The verdict of an `Evaluation`; its attributes are described there."""

    verdict: str
    state: State
    worst: Slice | None
    advice: str
    about_all: str  # the first part of the verdict
    about_slices: str  # the second


def judge(found: Evaluation, ways: Mapping[str, GroupCalibration]) -> Verdict:
    """Weigh effect size and chance, over all rows and within slices.

    1. All rows: "calibrated" where chance explains the errors, "nearly calibrated" where it does
       not but they are small (below 2 points of coverage on average), else the kind of error.
    2. Slices: one is clearly off if its error exceeds what is tolerated by more than chance
       explains, adjusted for the number of slices (`rank_slices`).

    The state is "good" only if neither finds anything.

    Parameters
    ----------
    found : Evaluation
        Its metrics may still be missing.
    ways : mapping from sources to GroupCalibration
        How the rows were sliced: deciles of the prediction, groups.
    """
    ranked = rank_slices(ways)
    off = list(dict.fromkeys(each.source for each in ranked if each.clearly_off))
    small, rejected = _is_small(found), found.test.reject
    bad = rejected and not small
    # Errors of either sign at other levels than the quoted one, in many deciles at once.
    scattered = None if off or bad else _scattered(ways)
    where = _where(off, scattered)
    sentence = _miscalibrated(found, where, small=small) if rejected else _calibrated(found, where)
    state: State = "good"
    if bad:
        state = "bad"
    elif off or scattered or (not small and not found.floor.explains(found.test.ecpe)):
        state = "mixed"
    sources = off or ([scattered[0]] if scattered else [])
    if bad:  # slices that are off like all other rows are corrected with them
        pit = found.pit_counts
        sources = differing_sources(ways, coverage=pit.coverage, below=pit.below_median)
    about_slices = worst_sentence(ranked, errors_found=bad or scattered is not None)
    return Verdict(
        verdict=f"{sentence} {about_slices}".rstrip(),
        state=state,
        worst=ranked[0] if ranked else None,
        advice=advice(sources) if sources or bad else "",
        about_all=sentence,
        about_slices=about_slices,
    )


def advice(sources: list[str]) -> str:
    """Say how to recalibrate, within groups by these sources, in Python and as a command."""
    named = sources[:_MOST_SOURCES]
    labels = ", ".join(f'"{name}"' for name in named)
    # Labels that came without a name have to be given again, for the other rows.
    groups = "groups_cal" if "group" in named else f"[{labels}]"
    python = f"calibrant.recalibrate(model, X_cal, y_cal{f', groups={groups}' if named else ''})"
    options = "".join(f" --group {shlex.quote(name)}" for name in named)
    command = f"calibrant recalibrate MODEL CALIBRATION.csv{options} --out NEW"
    return f"To correct it, recalibrate on other held-out rows: {python}, or {command}"


def _is_small(found: Evaluation) -> bool:
    """Whether the errors of central and one-sided intervals are tolerable, on average."""
    error = max(found.test.ecpe, found.pit_counts.quantile_error)
    # Both have the same floor; chance and miscalibration add up like independent errors.
    return error**2 - found.floor.ecpe**2 < _TOLERATED_ECPE**2


def _where(off: list[str], scattered: tuple[str, GroupCalibration] | None) -> str:
    """Where a forecast that is fine over all rows is off; empty if nowhere."""
    if scattered is not None:
        of, deciles = scattered
        within = f"mean ECPE {deciles.mean_ecpe:.4f}, floor {deciles.mean_floor:.4f}"
        return f" on average, but not within deciles of the {of} ({within})"
    return " on average, but off in some slices" if off else ""


def _miscalibrated(found: Evaluation, where: str, *, small: bool) -> str:
    test, pit = found.test, found.pit_counts
    p_value, name = min((test.p_value, "ECPE"), (test.pit_p_value, "PIT"))
    evidence = (
        f"ECPE {test.ecpe:.4f}, floor {found.floor.ecpe:.4f} at n = {test.n:,}, "
        f"{name} test {p_value_text(p_value)}"
    )
    if pit.is_biased:
        below = pit.below_median
        word, side = "Biased", "high" if below > 0.5 else "low"
        fault = f"predictions are too {side}, {below:.1%} of targets lie below the median"
    else:
        word, fault = _wrong_spread(test, found.level, pit.coverage)
    if small:
        return f"Nearly calibrated{where}: {fault}, more than chance gives but little ({evidence})."
    return f"{word}: {fault} ({evidence})."


def _calibrated(found: Evaluation, where: str) -> str:
    test, floor = found.test, found.floor
    word, usual = "Calibrated", "is what chance gives"
    if not floor.explains(test.ecpe):
        word, usual = "Not clearly miscalibrated", "is more than chance mostly gives"
    return (
        f"{word}{where}: ECPE {test.ecpe:.4f} {usual} at n = {test.n:,} (floor {floor.ecpe:.4f}, "
        f"95% of perfect forecasters below {floor.ecpe_range[1]:.4f})."
    )


def _scattered(ways: Mapping[str, GroupCalibration]) -> tuple[str, GroupCalibration] | None:
    """Deciles of the prediction whose mean ECPE is neither chance nor small, the worst."""
    deciles = [(name, way) for name, way in ways.items() if name.startswith("predicted ")]
    name, worst = max(deciles, key=lambda item: item[1].mean_ecpe / item[1].mean_floor)
    excess = worst.mean_ecpe**2 - worst.mean_floor**2
    if excess < _TOLERATED_ECPE**2 or worst.mean_ecpe <= mean_ecpe_quantile(worst.floor, 0.99):
        return None
    return name, worst


def _wrong_spread(test: CalibrationTest, level: float, share: float) -> tuple[str, str]:
    """Word for the fault, and the intervals that show it."""
    excess = test.coverage - test.levels  # (99,)
    mean = float(excess.mean())
    # Neither word fits if the levels disagree, or if the quoted level would contradict it.
    if abs(mean) < 0.5 * test.ecpe or mean * (share - level) < 0:
        low, high = np.argmin(excess), np.argmax(excess)
        shown = (_covers(test.levels[k], test.coverage[k]) for k in (low, high))
        return "Misshapen", " but ".join(shown)
    word = "Underconfident" if mean > 0 else "Overconfident"
    if abs(share - level) < 2.0 * np.sqrt(level * (1.0 - level) / test.n):
        # The given level is within chance: quote the one that shows the fault best.
        worst = np.argmax(np.sign(mean) * excess)
        level, share = float(test.levels[worst]), float(test.coverage[worst])
    return word, _covers(level, share)


def _covers(level: float, share: float) -> str:
    return f"{100 * level:.4g}% intervals cover {share:.1%}"
