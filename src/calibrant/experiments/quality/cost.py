"""Bar 5: what it costs, in plain heteroscedastic fits."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from calibrant.experiments.quality.calibration import calibration_table, within
from calibrant.experiments.quality.runs import Runs
from calibrant.experiments.quality.sharpness import ahead_of_networks
from calibrant.experiments.quality.verdicts import Bar, Check, Table

_METHODS = ("mmd-fast", "mmd", "mmd-best")
_MOST = {
    ("cpu", "mmd-fast"): 1.5,
    ("cpu", "mmd"): 6.0,
    ("cuda", "mmd"): 2.0,
    ("cpu", "mmd-best"): 20.0,
    ("cuda", "mmd-best"): 4.0,
}


def cost(runs: Runs, timed: Mapping[str, Runs]) -> Bar:
    """Seconds of a fit over those of a plain network, and what they buy.

    Parameters
    ----------
    runs : Runs
        Those that are judged by calibration and CRPS.
    timed : mapping of "cpu" or "cuda" to Runs
        Fits that had the machine to themselves, or shared it alike.
    """
    checks = [
        within(runs, "mmd-fast", "ecpe", 1.8, 7),
        within(runs, "mmd", "ecpe", 1.6, 7),
        ahead_of_networks(runs, "mmd"),
    ]
    lines = []
    for device, measured in timed.items():
        found: dict[str, dict[str, tuple[bool, str]]] = {key: {} for key in _METHODS}
        for name in measured.datasets("hnn"):
            plain = measured.figure(name, "hnn", "seconds", "fit")
            line = [name, device, str(plain.trials), f"{plain.mean:.1f}"]
            for key in _METHODS:
                ratio = _in_plain_fits(measured, name, key)
                line.append("" if ratio is None else f"{ratio:.3g}")
                if ratio is not None and (device, key) in _MOST:
                    found[key][name] = (ratio <= _MOST[device, key], f"{ratio:.1f}")
            lines.append(line)
        checks += [
            Check(f"{key} at most {_MOST[device, key]:g} plain fits on {device}", found[key])
            for key in _METHODS
            if (device, key) in _MOST
        ]
    headings = ("data set", "device", "trials", "hnn, seconds", *_METHODS)
    return Bar(
        "Bar 5, cost",
        "In plain heteroscedastic fits on the same machine, medians over trials: "
        '"fast" at most 1.5 on a CPU, within '
        "1.8 x the limit on seven of nine; the default at most 6 on a CPU and 2 on a GPU, within "
        "1.6 x the limit on seven of nine and ahead of every network method in CRPS; "
        '"best" at most 20 on a CPU and 4 on a GPU.',
        [Table(headings, lines, left=2), calibration_table(runs, ["mmd-fast", "mmd"])],
        checks,
    )


def _in_plain_fits(runs: Runs, name: str, key: str) -> float | None:
    """Median over trials: the first fit on a GPU compiles its kernels, the others find them."""
    ours, plain = (runs.values(name, method, "seconds", "fit") for method in (key, "hnn"))
    ratios = [ours[trial] / plain[trial] for trial in ours.keys() & plain.keys()]
    return median(ratios) if ratios else None
