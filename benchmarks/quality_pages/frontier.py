"""The default and "best" beside tuned trees: a table, and what it says."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

from calibrant.experiments.estimates import paired_difference
from calibrant.experiments.layout import Table

HEADINGS = {
    "default": "`MMDRegressor()`",
    "best": '`quality="best"`',
    "forest": "tuned forest",
    "forest, mapped": "the same with our map",
    "lightgbm": "tuned LightGBM",
}
TREES = ("forest", "forest, mapped", "lightgbm")


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


def _measured(results: pd.DataFrame) -> list[str]:
    """Names of the tables that the default was measured on, in the order of the results."""
    return list(dict.fromkeys(results["table"][results.method == "default"]))


def frontier_table(results: pd.DataFrame) -> Table:
    """CRPS and ECPE of every method on every table; the lowest CRPS and ties with it are bold."""
    methods = [method for method in HEADINGS if (results.method == method).any()]
    lines = []
    for name in _measured(results):
        own = results[results["table"] == name]
        crps = {m: own[own.method == m].set_index("split").crps.to_dict() for m in methods}
        floors = {m: (own.ecpe / own.floor)[own.method == m].mean() for m in methods}
        measured = {m: np.mean(list(crps[m].values())) for m in methods if crps[m]}
        lowest = min(measured, key=lambda m: measured[m])
        cells = []
        for method in methods:
            text = ""
            if method in measured:
                mark = "**" if _tied(crps[method], crps[lowest]) else ""
                known = "" if np.isnan(floors[method]) else f" ({floors[method]:.1f})"
                text = f"{mark}{_four_digits(measured[method])}{mark}{known}"
            cells.append(text)
        lines.append([name, *cells])
    return Table(["table", *(HEADINGS[m] for m in methods)], lines)


def _four_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _tied(ours: dict[int, float], lowest: dict[int, float]) -> bool:
    gap = paired_difference(ours, lowest, test_ratio=0.25)
    return gap is not None and gap.mean <= (gap.margin or 0.0)


def frontier_sentences(results: pd.DataFrame) -> str:
    """Each of our methods relative to the best tree, which is chosen after the fact."""
    crps = results.pivot(index=["table", "split"], columns="method", values="crps").map(np.log)
    trees = crps[[method for method in TREES if method in crps]].min(axis=1)
    told = []
    for method in (method for method in ("default", "best") if method in crps):
        against = (crps[method] - trees).dropna().groupby("table").mean()
        own = results[results.method == method]
        floors = (own.ecpe / own.floor).groupby(own["table"]).mean()
        mean, worst = np.exp(against.mean()), np.exp(against.max())
        told.append(
            f"CRPS of {HEADINGS[method]} relative to the best tree: {mean:.2f} in the geometric "
            f"mean of {len(against)} tables, {worst:.2f} at worst ({against.idxmax()}); its ECPE: "
            f"{np.exp(np.log(floors).mean()):.2f} floors in the geometric mean, {floors.max():.2f} "
            f"at worst ({floors.idxmax()})."
        )
    return fill(" ".join(told), 100, break_on_hyphens=False, break_long_words=False) + "\n"


def frontier_summary(results: pd.DataFrame) -> str:
    """The table and what it says, as Markdown."""
    return f"{frontier_table(results).render('markdown')}\n{frontier_sentences(results)}"
