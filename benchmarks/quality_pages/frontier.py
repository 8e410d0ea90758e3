"""The default and "best" beside their rivals: two tables, and what they say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

from calibrant.experiments.estimates import paired_difference
from calibrant.experiments.layout import Table

HEADINGS = {
    "default": "`MMDRegressor()`",
    "default, adaptive": "and adaptive",
    "best": '`quality="best"`',
    "forest": "tuned forest",
    "forest, mapped": "the same with our map",
    "lightgbm": "tuned LightGBM",
    "catboost": "CatBoost",
    "ngboost": "NGBoost",
    "realmlp": "RealMLP",
    "realmlp-8": "RealMLP x 8",
    "tabm": "TabM",
}
RIVALS = {
    "the best tree": ("forest", "forest, mapped", "lightgbm", "catboost"),
    "RealMLP": ("realmlp",),
    "TabM": ("tabm",),
}
LEAST_SPLITS = 3  # that tell a difference from noise
IN_TIME = ", in time"  # ends the names of series whose rows are not shuffled


FIRST_FOR_CHOOSING = 100  # splits from here on are not reported


def read_frontier(path: Path) -> pd.DataFrame:
    """All measurements that `benchmarks/frontier.py` has stored."""
    lines = path.read_text().splitlines() if path.exists() else []
    columns = ["table", "method", "setting", "split", "crps", "ecpe", "floor", "fit_seconds"]
    return pd.DataFrame([json.loads(line) for line in lines], columns=None if lines else columns)


def reported(results: pd.DataFrame) -> pd.DataFrame:
    """The measurements to report; a later one takes the place of an earlier one."""
    results = results[results.split < FIRST_FOR_CHOOSING]
    return results.drop_duplicates(["table", "method", "split"], keep="last")


def frontier_table(results: pd.DataFrame) -> Table:
    """CRPS of the default, that of the others relative to it, and ECPE in floors.

    Methods were measured on different numbers of splits; each is compared with the default on the
    splits that both have. The lowest is bold, and what is tied with it on three splits or more.
    """
    methods = [method for method in HEADINGS if (results.method == method).any()]
    lines = []
    for name in dict.fromkeys(results["table"][results.method == "default"]):
        own = results[results["table"] == name]
        crps = {m: own[own.method == m].set_index("split").crps.to_dict() for m in methods}
        floors = {m: (own.ecpe / own.floor)[own.method == m].mean() for m in methods}
        ratios = {m: _ratio(crps[m], crps["default"]) for m in methods if crps[m]}
        lowest = min(ratios, key=lambda m: ratios[m])
        cells = []
        for method in methods:
            text = ""
            if method in ratios:
                mark = "**" if method == lowest or _tied(crps[method], crps[lowest]) else ""
                known = "" if np.isnan(floors[method]) else f" ({floors[method]:.1f})"
                if method == "default":
                    value = _four_digits(float(np.mean(list(crps[method].values()))))
                else:
                    value = (
                        f"{ratios[method]:.3g}" if ratios[method] > 2 else f"{ratios[method]:.2f}"
                    )
                text = f"{mark}{value}{mark}{known}"
            cells.append(text)
        lines.append([name, *cells])
    return Table(["data", *(HEADINGS[m] for m in methods)], lines)


def _ratio(crps: dict[int, float], default: dict[int, float]) -> float:
    """Geometric mean of the ratios on the splits of both."""
    return float(np.exp(np.mean([np.log(crps[i] / default[i]) for i in crps.keys() & default])))


def _four_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _tied(one: dict[int, float], lowest: dict[int, float]) -> bool:
    return _verdict(one, lowest) == "tied"


def _verdict(one: dict[int, float], other: dict[int, float]) -> str:
    """Whether the one is clearly lower, tied or clearly higher; "" with too few splits to tell."""
    if len(one.keys() & other) < LEAST_SPLITS:
        return ""
    gap = paired_difference(one, other, test_ratio=0.25)
    if gap is None or abs(gap.mean) <= (gap.margin or 0.0):
        return "tied"
    return "clearly lower" if gap.mean < 0 else "clearly higher"


def frontier_sentences(results: pd.DataFrame) -> str:
    """Each of our methods relative to each kind of rivals, on the splits that both have."""
    crps = results.pivot(index=["table", "split"], columns="method", values="crps").map(np.log)
    told = [
        _relative(crps, method, name, [rival for rival in rivals if rival in crps])
        for method in ("default", "best")
        for name, rivals in RIVALS.items()
        if method in crps and any(rival in crps for rival in rivals)
    ]
    for method in ("default", "best"):
        own = results[results.method == method]
        floors = (own.ecpe / own.floor).groupby(own["table"]).mean().dropna()
        told.append(
            f"ECPE of {HEADINGS[method]}: {np.exp(np.log(floors).mean()):.2f} floors in the "
            f"geometric mean, {floors.max():.2f} at worst ({floors.idxmax()})."
        )
    return "".join(f"- {fill(each, 100, subsequent_indent='  ')}\n" for each in told)


def _relative(crps: pd.DataFrame, method: str, name: str, rivals: Sequence[str]) -> str:
    """CRPS of a method relative to the lowest of some rivals, chosen after the fact."""
    both = pd.DataFrame({"own": crps[method], "rival": crps[list(rivals)].min(axis=1)}).dropna()
    each = (both.own - both.rival).groupby("table").mean()
    verdicts = [
        _verdict(*(dict(zip(part.index, part[side], strict=True)) for side in ("own", "rival")))
        for _, part in both.groupby("table")
    ]
    counts = [(verdicts.count(v), v) for v in ("clearly lower", "tied", "clearly higher")]
    told = ", ".join(f"{verdict} on {count}" for count, verdict in counts if count)
    return (
        f"CRPS of {HEADINGS[method]} relative to {name}: {np.exp(each.mean()):.2f} in the "
        f"geometric mean of {len(each)} data sets, {np.exp(each.max()):.2f} at worst "
        f"({each.idxmax()})" + (f"; {told}." if told else "; on too few splits to tell the noise.")
    )


def frontier_summary(results: pd.DataFrame) -> str:
    """The tables and what they say, as Markdown."""
    in_time = results["table"].str.endswith(IN_TIME)
    shuffled = results[~in_time]
    return (
        f"{frontier_table(shuffled).render('markdown')}\n{frontier_sentences(shuffled)}\n"
        "The series in the order of time, one split:\n\n"
        f"{frontier_table(results[in_time]).render('markdown')}"
    )
