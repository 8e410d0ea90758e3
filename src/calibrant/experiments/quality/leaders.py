"""The short answer: nine data sets, this library's method and the best of the others."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.experiments.methods import METHODS
from calibrant.experiments.quality.runs import Runs
from calibrant.experiments.quality.sharpness import OTHERS, best_other
from calibrant.experiments.quality.verdicts import Table
from calibrant.experiments.store import Record

_OURS = {"mmd": "`MMDRegressor()`", "mmd-best": '`quality="best"`'}
# What recalibrates a network of this library is no tree, whoever wrote it.
_TREES = [key for key in OTHERS if METHODS[key].role == "rival" and not METHODS[key].recalibrated]
_NETWORKS = [key for key in OTHERS if key not in _TREES]
_OTHERS = {"best other network": _NETWORKS, "best trees": _TREES}
_WORDS = """CRPS with its standard error, and in brackets ECPE in limits: 1 is what recalibration
on all training rows, out of fold, could reach on as many test rows. The best are chosen by CRPS
among {networks} other network methods and {trees} tree methods, after the fact; the lowest CRPS
is bold.
"""


def quality_summary(records: Sequence[Record]) -> str:
    """Where the method stands on random splits, as Markdown."""
    runs = Runs(records, "shuffled")
    networks, trees = (sum(bool(runs.datasets(key)) for key in keys) for keys in _OTHERS.values())
    return f"{_WORDS.format(networks=networks, trees=trees)}\n{leaders(runs)('markdown')}"


def leaders(runs: Runs) -> Table:
    """CRPS and ECPE of the method and of the best others, a data set a line."""
    lines = []
    for name in runs.datasets("mmd-best"):
        best = [best_other(runs, name, "mmd-best", others) for others in _OTHERS.values()]
        keys = [*_OURS, *(found[0] if found else "" for found in best)]
        scores = [runs.find(name, key, "scores", "crps") for key in keys]
        least = min(score.mean for score in scores if score)
        cells = []
        for key, score in zip(keys, scores, strict=True):
            if score is None:
                cells.append("")
                continue
            mean, blank, error = str(score).partition(" ")
            mean = f"**{mean}**" if score.mean == least else mean
            limits = runs.in_limits(name, key, "ecpe").mean
            title = "" if key in _OURS else f" {key}"
            cells.append(f"{mean}{blank}{error} ({limits:.1f}){title}")
        lines.append([name, *cells])
    headings = ("data set", *_OURS.values(), *_OTHERS)
    return Table(headings, lines, left=len(headings))
