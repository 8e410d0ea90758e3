"""Requirement 6: few training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.experiments.estimates import Estimate
from calibrant.experiments.layout import Table

from .requirements import Check, Requirement, Result, passed
from .runs import Runs

_LEAST, _MOST = 0.86, 0.94
_CRPS, _COVERAGE = ("scores", "crps"), ("scores", "coverage")


def small_data(sizes: Sequence[Runs], method: str = "mmd", rival: str = "ngboost") -> Requirement:
    """CRPS against NGBoost and coverage of 90% intervals, on average over the data sets."""
    lines = []
    crps: dict[str, Result] = {}
    coverage: dict[str, Result] = {}
    for runs in sizes:
        ratios, shares = [], []
        for name in runs.datasets(method):
            ours, theirs = runs.mean(name, method, *_CRPS), runs.find(name, rival, *_CRPS)
            covered = runs.mean(name, method, *_COVERAGE)
            shares.append(covered.mean)
            ratio = "" if theirs is None else f"{ours.mean / theirs.mean:.3f}"
            if theirs is not None:
                ratios.append(ours.mean / theirs.mean)
            lines.append(
                [
                    *(name, runs.protocol, str(ours.trials), str(ours)),
                    *("" if theirs is None else str(theirs), ratio),
                    *(_percent(covered), _percent(runs.find(name, rival, *_COVERAGE))),
                ]
            )
        average = ""
        if ratios:
            average = f"{np.mean(ratios):.3f}"
            crps[runs.protocol] = passed(bool(np.mean(ratios) <= 1.0), average)
        if shares:
            mean = float(np.mean(shares))
            coverage[runs.protocol] = passed(_LEAST <= mean <= _MOST, f"{mean:.1%}")
            lines.append(["mean", runs.protocol, "", "", "", average, f"{mean:.1%}", ""])
    headings = (
        *("data set", "rows", "trials", f"CRPS, {method}", f"CRPS, {rival}", "ratio"),
        *(f"90% intervals cover, {method}", rival),
    )
    return Requirement(
        "Requirement 6, small data",
        f"With 200 and with 50 training rows CRPS of `{method}` no worse than NGBoost on average, "
        "and 90% intervals that cover 86% to 94% on average.",
        [Table(headings, lines, right=range(2, len(headings)))],
        [
            Check(f"mean ratio of CRPS to {rival} at most 1", crps),
            Check("mean coverage of 90% intervals from 86% to 94%", coverage),
        ],
    )


def _percent(found: Estimate | None) -> str:
    if found is None:
        return ""
    return f"{found.mean:.1%}" + ("" if found.std_error is None else f" ± {found.std_error:.1%}")
