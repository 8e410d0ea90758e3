"""Requirement 5: cost, in fits of a plain heteroscedastic network."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from calibrant.experiments.layout import Table

from .calibration import calibration_table, within
from .requirements import Check, Requirement, Result, passed
from .runs import Runs
from .sharpness import ahead_of_networks

_METHODS = ("mmd-fast", "mmd", "mmd-best")
_MOST = {
    ("cpu", "mmd-fast"): 1.5,
    ("cpu", "mmd"): 6.0,
    ("cuda", "mmd"): 2.0,
    ("cpu", "mmd-best"): 20.0,
    ("cuda", "mmd-best"): 4.0,
}
_DEVICES = {"cpu": "one core of a CPU", "cuda": "one H200"}


def cost(runs: Runs, timed: Mapping[str, Runs]) -> Requirement:
    """Seconds of a fit as a multiple of those of a plain network, and what they buy.

    Parameters
    ----------
    runs : Runs
        Results whose calibration and CRPS are checked.
    timed : mapping of "cpu" or "cuda" to Runs
        Fits that ran under equal conditions, one at a time.
    """
    checks = [
        within(runs, "mmd-fast", "ecpe", 1.8, 7),
        within(runs, "mmd", "ecpe", 1.6, 7),
        ahead_of_networks(runs, "mmd"),
    ]
    lines = []
    for device, measured in timed.items():
        ratios = {key: fits_of(measured, key) for key in _METHODS}
        for name in measured.datasets("hnn"):
            plain = measured.mean(name, "hnn", "seconds", "fit")
            cells = [f"{ratios[key][name]:.3g}" if name in ratios[key] else "" for key in _METHODS]
            lines.append([name, device, str(plain.trials), f"{plain.mean:.1f}", *cells])
        for key in _METHODS:
            if (device, key) in _MOST:
                checks.append(_at_most(ratios[key], key, device))
    headings = ("data set", "device", "trials", "hnn, seconds", *_METHODS)
    return Requirement(
        "Requirement 5, cost",
        "In fits of a plain heteroscedastic network on the same machine, medians over trials: "
        '"fast" at most 1.5 on a CPU, within 1.8 x the attainable floor on seven of nine; the '
        "default at most 6 on a CPU and 2 on a GPU, within 1.6 x the attainable floor on seven of "
        "nine and ahead of every network method in CRPS; "
        '"best" at most 20 on a CPU and 4 on a GPU.',
        [
            Table(headings, lines, right=range(2, len(headings))),
            calibration_table(runs, ["mmd-fast", "mmd"]),
        ],
        checks,
    )


def _at_most(ratios: Mapping[str, float], key: str, device: str) -> Check:
    most = _MOST[device, key]
    found: dict[str, Result] = {
        name: passed(ratio <= most, f"{ratio:.1f}") for name, ratio in ratios.items()
    }
    return Check(f"{key} at most {most:g} plain fits on {device}", found)


def fits_of(runs: Runs, key: str) -> dict[str, float]:
    """Cost of a method in plain fits by data set.

    The median over trials: the first fit on a GPU compiles kernels, later ones reuse them.
    """
    found = {}
    for name in runs.datasets("hnn"):
        ours, plain = (runs.values(name, method, "seconds", "fit") for method in (key, "hnn"))
        ratios = [ours[trial] / plain[trial] for trial in ours.keys() & plain.keys()]
        if ratios:
            found[name] = median(ratios)
    return found


def cost_sentence(timed: Mapping[str, Runs], key: str = "mmd-best") -> str:
    """What "best" costs, in one sentence from the stored timings."""
    parts = []
    for device, runs in timed.items():
        if ratios := fits_of(runs, key):
            least, most = (pick(ratios, key=ratios.__getitem__) for pick in (min, max))
            seconds = runs.mean(most, key, "seconds", "fit").mean
            parts.append(
                f"{ratios[least]:.2g} ({least}) to {ratios[most]:.3g} ({most}, {seconds:.0f} s) "
                f"times as long on {_DEVICES[device]}, where {len(ratios)} data sets were measured"
            )
    if not parts:
        return ""
    return f'Compared with a plain network, `quality="best"` takes {", and ".join(parts)}.'
