"""Bar 3: calibration given the prediction."""

from __future__ import annotations

from calibrant.experiments.quality.runs import Runs
from calibrant.experiments.quality.verdicts import Bar, Check, Table

_RECALIBRATED = ("isr", "conformal", "crepes", "lightgbm-crepes")
_KINDS = ("mean", "spread")


def conditional(runs: Runs, method: str = "mmd-best") -> Bar:
    """Mean ECPE within deciles of the predicted mean and of the predicted spread."""
    lines = []
    better: dict[str, dict[str, tuple[bool, str]]] = {kind: {} for kind in _KINDS}
    near: dict[str, dict[str, tuple[bool, str]]] = {kind: {} for kind in _KINDS}
    for name in runs.datasets(method):
        for kind in _KINDS:
            path = ("deciles", kind, "ecpe")
            ours = runs.figure(name, method, *path)
            floor = runs.figure(name, method, "deciles", kind, "floor")
            ratio = runs.in_floors(name, method, kind).mean
            near[kind][name] = (ratio <= 2.0, f"{ratio:.2f}")
            line = [name, kind, str(ours.trials), f"{ours}", f"{floor.mean:.4f}"]
            line.append(f"{ratio:.2f}")
            gaps = [(runs.gap(name, method, key, *path), key) for key in _RECALIBRATED]
            known = [(gap, key) for gap, key in gaps if gap is not None]
            if known:
                gap, key = max(known, key=lambda each: each[0].mean)
                doubt = "" if abs(gap.mean) > gap.noise else ", within noise"
                better[kind][name] = (gap.mean < 0, f"{gap.mean:+.2g} to {key}{doubt}")
                line += [key, f"{runs.figure(name, key, *path)}", f"{gap}"]
            else:
                line += ["", "", ""]
            lines.append(line)
    headings = (
        *("data set", "deciles of the", "trials", "ECPE", "floor", "x floor"),
        *("best recalibration", "its ECPE", "difference"),
    )
    return Bar(
        f"Bar 3, calibration given the prediction, {runs.protocol}",
        f"Mean ECPE of `{method}` within deciles of the predicted mean and of the predicted "
        "spread better than isotonic, conformal and crepes recalibration of the plain network, and "
        "than LightGBM with crepes, on seven of nine data sets, and at most 2 x its own floor on "
        "six.",
        [Table(headings, lines, left=2)],
        [
            *(
                Check(
                    f"better in deciles of the {kind} than all of these",
                    better[kind],
                    runs.of_nine(7),
                )
                for kind in _KINDS
            ),
            *(
                Check(
                    f"at most 2 x the floor in deciles of the {kind}", near[kind], runs.of_nine(6)
                )
                for kind in _KINDS
            ),
        ],
    )
