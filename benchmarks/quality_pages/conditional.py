"""Requirement 3: calibration given the prediction."""

from __future__ import annotations

from calibrant.experiments.estimates import Estimate
from calibrant.experiments.layout import Table

from .requirements import Check, Requirement, Result, compared, passed
from .runs import Runs

_RECALIBRATED = ("isr", "conformal", "crepes", "lightgbm-crepes")
_KINDS = ("mean", "spread")
_HEADINGS = (
    *("data set", "deciles of the", "trials", "ECPE", "floor", "x floor"),
    *("best recalibration", "its ECPE", "difference"),
)


def conditional(runs: Runs, method: str = "mmd-best") -> Requirement:
    """Mean ECPE within deciles of the predicted mean and of the predicted spread."""
    lines = []
    better: dict[str, dict[str, Result]] = {kind: {} for kind in _KINDS}
    near: dict[str, dict[str, Result]] = {kind: {} for kind in _KINDS}
    for name in runs.datasets(method):
        for kind in _KINDS:
            ours = runs.mean(name, method, "deciles", kind, "ecpe")
            floor = runs.mean(name, method, "deciles", kind, "floor")
            ratio = runs.in_floors(name, method, kind).mean
            near[kind][name] = passed(ratio <= 2.0, f"{ratio:.2f}")
            line = [name, kind, str(ours.trials), str(ours), f"{floor.mean:.4f}", f"{ratio:.2f}"]
            best = _best_recalibration(runs, name, method, kind)
            if best is None:
                line += [""] * 3
            else:
                key, theirs, difference = best
                better[kind][name] = compared(difference, f"{difference.mean:+.2g} to {key}")
                line += [key, str(theirs), str(difference)]
            lines.append(line)
    checks = [
        Check(f"better in deciles of the {kind} than all of these", better[kind], runs.of_nine(7))
        for kind in _KINDS
    ] + [
        Check(f"at most 2 x the floor in deciles of the {kind}", near[kind], runs.of_nine(6))
        for kind in _KINDS
    ]
    return Requirement(
        f"Requirement 3, calibration given the prediction, {runs.protocol}",
        f"Mean ECPE of `{method}` within deciles of the predicted mean and of the predicted "
        "spread better than isotonic, conformal and crepes recalibration of the plain network, and "
        "than LightGBM with crepes, on seven of nine data sets, and at most 2 x its own floor on "
        "six.",
        [Table(_HEADINGS, lines, right=range(2, len(_HEADINGS)))],
        checks,
    )


def _best_recalibration(
    runs: Runs, name: str, method: str, kind: str
) -> tuple[str, Estimate, Estimate] | None:
    """The strongest recalibration on the shared trials, its ECPE, and our difference to it."""
    path = ("deciles", kind, "ecpe")
    found = [
        (key, runs.mean(name, key, *path), difference)
        for key in _RECALIBRATED
        if (difference := runs.difference(name, method, key, *path)) is not None
    ]
    return max(found, key=lambda each: each[2].mean, default=None)
