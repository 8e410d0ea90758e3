"""The short answer: on nine data sets, this library's method and the best of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

from calibrant.experiments.layout import Table
from calibrant.experiments.methods import METHODS
from calibrant.experiments.store import Record

from .cost import cost_sentence
from .requirements import compared
from .runs import Runs
from .sharpness import OTHERS, ahead, best_other, more_accurate

_OURS = {"mmd": "`MMDRegressor()`", "mmd-best": '`quality="best"`'}
# crepes recalibrates a network of this library, so it counts as a network.
_TREES = [key for key in OTHERS if METHODS[key].role == "rival" and not METHODS[key].recalibrated]
_NETWORKS = [key for key in OTHERS if key not in _TREES]
_OTHERS = {"best other network": _NETWORKS, "best trees": _TREES}
_WORDS = """\
CRPS with its standard error over the splits, and in brackets ECPE as a multiple of its
attainable floor: 1 is the expected value of a perfect forecaster recalibrated on the training
rows. The best others are chosen by CRPS among {networks} other network methods and {trees} tree
methods, all with default settings, after the fact. Bold are the lowest CRPS and those tied with
it: their paired difference is within its 95% margin, with the standard error corrected for
splits that share rows (Nadeau and Bengio, 2003).
"""


def quality_summary(
    records: Sequence[Record], timed: Mapping[str, Sequence[Record]] | None = None
) -> str:
    """How the method compares on random splits, and what it costs, as Markdown."""
    runs = Runs(records, "shuffled")
    clocks = {device: Runs(found, "shuffled") for device, found in (timed or {}).items()}
    networks, trees = (sum(bool(runs.datasets(key)) for key in keys) for keys in _OTHERS.values())
    sentences = [_standing(runs), more_accurate(runs, "mmd-best"), cost_sentence(clocks)]
    parts = [
        _WORDS.format(networks=networks, trees=trees),
        leaders(runs).render("markdown"),
        fill(" ".join(filter(None, sentences)), 96, break_on_hyphens=False) + "\n",
    ]
    return "\n".join(parts)


def _standing(runs: Runs) -> str:
    """A sentence on where "best" leads clearly, ties and loses."""
    check = ahead(runs, "mmd-best", OTHERS, 0)
    text = (
        'The CRPS of `quality="best"` (`mmd-best`) is clearly lower than that of every other '
        f"method on {len(check.names('holds'))} of {len(check.found)} data sets"
    )
    for answer, words in (("tie", "tied with the best other on"), ("fails", "higher on")):
        if names := check.names(answer):
            text += f", {words} {', '.join(names)}"
    return f"{text}."


def leaders(runs: Runs) -> Table:
    """CRPS and ECPE of the method and of the best others, one line per data set."""
    lines = []
    for name in runs.datasets("mmd-best"):
        best = [best_other(runs, name, "mmd-best", others) for others in _OTHERS.values()]
        keys = [*_OURS, *(found[0] if found else "" for found in best)]
        bold = _lowest(runs, name, keys)
        lines.append([name, *(_cell(runs, name, key, bold) for key in keys)])
    return Table(("data set", *_OURS.values(), *_OTHERS), lines)


def _lowest(runs: Runs, name: str, keys: Sequence[str]) -> set[str]:
    """The method with the lowest CRPS, and those tied with it."""
    means = {key: found.mean for key in keys if (found := runs.find(name, key, "scores", "crps"))}
    lowest = min(means, key=means.__getitem__)
    tied = {
        key
        for key in means
        if (gap := runs.difference(name, key, lowest, "scores", "crps")) is not None
        and compared(gap, "").answer == "tie"
    }
    return {lowest} | tied


def _cell(runs: Runs, name: str, key: str, bold: set[str]) -> str:
    score = runs.find(name, key, "scores", "crps")
    if score is None:
        return ""
    mean, blank, error = str(score).partition(" ")
    mean = f"**{mean}**" if key in bold else mean
    multiple = runs.in_attainable_floors(name, key, "ecpe").mean
    title = "" if key in _OURS else f" {key}"
    return f"{mean}{blank}{error} ({multiple:.1f}){title}"
