"""Bar 6: few training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.experiments.quality.runs import Figure, Runs
from calibrant.experiments.quality.verdicts import Bar, Check, Table

_LEAST, _MOST = 0.86, 0.94
_CRPS, _COVERAGE = ("scores", "crps"), ("scores", "coverage")


def small_data(sizes: Sequence[Runs], method: str = "mmd", rival: str = "ngboost") -> Bar:
    """CRPS against NGBoost and coverage of 90% intervals, on average over the data sets."""
    lines = []
    crps: dict[str, tuple[bool, str]] = {}
    coverage: dict[str, tuple[bool, str]] = {}
    for runs in sizes:
        ratios, shares = [], []
        for name in runs.datasets(method):
            ours, theirs = runs.figure(name, method, *_CRPS), runs.find(name, rival, *_CRPS)
            covered = runs.figure(name, method, *_COVERAGE)
            other = runs.find(name, rival, *_COVERAGE)
            shares.append(covered.mean)
            line = [name, runs.protocol, str(ours.trials), f"{ours}"]
            if theirs is not None:
                ratios.append(ours.mean / theirs.mean)
                line += [f"{theirs}", f"{ratios[-1]:.3f}"]
            else:
                line += ["", ""]
            lines.append([*line, _percent(covered), _percent(other)])
        if ratios:
            mean = float(np.mean(ratios))
            crps[runs.protocol] = (mean <= 1.0, f"{mean:.3f}")
        if shares:
            mean = float(np.mean(shares))
            coverage[runs.protocol] = (_LEAST <= mean <= _MOST, f"{mean:.1%}")
            average = f"{np.mean(ratios):.3f}" if ratios else ""
            lines.append(["mean", runs.protocol, "", "", "", average, f"{mean:.1%}", ""])
    headings = (
        *("data set", "rows", "trials", f"CRPS, {method}", f"CRPS, {rival}", "ratio"),
        *(f"90% intervals cover, {method}", rival),
    )
    return Bar(
        "Bar 6, small data",
        f"With 200 and with 50 training rows CRPS of `{method}` no worse than NGBoost on average, "
        "and 90% intervals that cover 86% to 94% on average.",
        [Table(headings, lines, left=2)],
        [
            Check(f"mean ratio of CRPS to {rival} at most 1", crps),
            Check("mean coverage of 90% intervals from 86% to 94%", coverage),
        ],
    )


def _percent(found: Figure | None) -> str:
    if found is None:
        return ""
    return f"{found.mean:.1%}" + ("" if found.error is None else f" ± {found.error:.1%}")
