"""What a messy table costs a new user, on three tables: python benchmarks/first_hour.py.

A broken line, a text column, deciles that are off and bounds below zero. "Before" are the figures
that an earlier version had with files like these, where there are any.
"""

from __future__ import annotations

import argparse
import os
import warnings
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from calibrant import HeteroscedasticRegressor, MMDRegressor, evaluate, recalibrate
from calibrant.metrics import crps
from calibrant.tables import read_table

SEED = 0


def california(folder: Path, rows: int) -> list[tuple[str, str, str]]:
    """CRPS with one broken line, relative to that of the file as it is."""
    table = shuffled(read_table(folder / "california_housing.csv.gz"))
    y = table.pop("median_house_value").to_numpy()
    train, test = slice(rows), slice(rows, rows + 4000)
    broken = table.astype({"median_income": object})
    broken.iloc[7, broken.columns.get_loc("median_income")] = "3.2,,x"
    scores = [
        crps(fast().fit(X[train], y[train]).predict_dist(X[test]), y[test]) for X in (table, broken)
    ]
    return [("california, one broken line: CRPS", "+17%", f"{scores[1] / scores[0] - 1:+.1%}")]


def abalone(folder: Path, rows: int) -> list[tuple[str, str, str]]:
    """A frame with text, as it is and without that column."""
    table = shuffled(read_table(folder / "abalone.csv.gz"))
    y = table.pop("rings").to_numpy()
    train, test = slice(rows // 2), slice(rows // 2, None)
    scores = [
        crps(fast().fit(X[train], y[train]).predict_dist(X[test]), y[test])
        for X in (table, table.drop(columns="sex"))
    ]
    found = f"CRPS {scores[0]:.3f} (without the text {scores[1]:.3f})"
    return [("abalone, fit(frame) with text", "refused", found)]


def diamonds(folder: Path, rows: int) -> list[tuple[str, str, str]]:
    """The worst decile before and after recalibration, and bounds below zero."""
    table = shuffled(read_table(folder / "diamonds.csv.gz"))
    y = table.pop("price").to_numpy(dtype=float)
    train, held, test = slice(rows), slice(rows, 2 * rows), slice(2 * rows, 2 * rows + 10_788)
    model = HeteroscedasticRegressor(random_state=SEED).fit(table[train], y[train])
    mended = recalibrate(model, table[held], y[held], groups="predicted mean")
    dist = model.predict_dist(table[test])
    bounded = model.set_params(bounds=(0, None)).fit(table[train], y[train])
    before, after = evaluate(dist, y[test]), evaluate(mended.predict_dist(table[test]), y[test])
    below = [int((d.ppf(0.05) < 0).sum()) for d in (dist, bounded.predict_dist(table[test]))]
    return [
        ("diamonds, the verdict", "green", before.verdict.partition(" (")[0]),
        ("  worst decile of 90% intervals", "72.0%", f"{before.by_mean.coverage.min():.1%}"),
        ("  recalibrated by the predicted mean", "", f"{after.by_mean.coverage.min():.1%}"),
        ("  CRPS, before and after", "", f"{before.crps:.1f}, {after.crps:.1f}"),
        ("  lower bounds below zero", "8 of 1,287", f"{below[0]:,} of {len(dist):,}"),
        ("  with the bound that is offered", "", f"{below[1]:,}"),
    ]


def fast() -> MMDRegressor:
    """The smallest network: what is compared is the table."""
    return MMDRegressor(quality="fast", random_state=SEED)


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in random order."""
    return table.sample(frac=1.0, random_state=SEED).reset_index(drop=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("CALIBRANT_DATA", "../shared/data"))
    parser.add_argument("--rows", type=int, default=3000, help="rows to train on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(options.data, "development")
    print(f"python benchmarks/first_hour.py --rows {options.rows}")
    print(f"{date.today()}, calibrant {version('calibrant')}, torch {version('torch')}\n")
    print(f"{'':38}{'before':>12}  now")
    for table in (california, abalone, diamonds):
        for what, before, now in table(folder, options.rows):
            print(f"{what:38}{before:>12}  {now}", flush=True)


if __name__ == "__main__":
    main()
