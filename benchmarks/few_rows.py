"""The default on 50 and 200 rows beside rivals, and what its steps do to the CRPS on 2,000.

    python benchmarks/few_rows.py run                  # measure what is missing
    python benchmarks/few_rows.py                      # print what is stored

The data sets, splits and rivals of `frontier.py`, with the first rows of every training part and at
most 2,000 test rows; series are shuffled windows. The forest chooses among its twelve settings on
splits 100 and 101, with as many rows. "without its map" is the same fit without the calibration map
and the stretch of its networks; "likelihood alone" is a fit that ends after stage 1, without a map.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frontier import (
    CHOOSING,
    FOREST,
    LEVELS,
    SERIES,
    TABLES,
    Task,
    forest,
    natural_gradient,
    realmlp,
    scores,
    task,
)

from calibrant import Matching, MMDRegressor
from calibrant.experiments.layout import Table

RESULTS = Path(__file__).parent / "results" / "few_rows.jsonl"
NAMES = (*TABLES, *SERIES)
FEW, MANY = (50, 200), 2_000
MOST_TEST_ROWS = 2_000
SPLITS = range(5)

Scores = dict[str, dict[str, float]]  # by what predicts


def few(name: str, split: int, rows: int) -> Task:
    """A task with so many training rows."""
    found = task(name, split)
    first, test = slice(rows), slice(MOST_TEST_ROWS)
    hold_out = {key: value[first] for key, value in found.hold_out.items()}
    return Task(found.x[first], found.y[first], found.x_test[test], found.y_test[test], hold_out)


def default(rows: Task) -> Scores:
    """The default, and the same fit without its map."""
    model = MMDRegressor(random_state=0).fit(rows.x, rows.y, **rows.hold_out)
    whole = model.predict_quantiles(rows.x_test, alpha=LEVELS)
    predictor = model.predictor_
    combine = replace(predictor.combine, stretch=1.0)
    plain = replace(predictor, combine=combine, map=None).predict(rows.x_test).ppf(LEVELS)
    return {
        "default": scores(whole, rows.y_test),
        "without its map": scores(plain, rows.y_test),
    }


def likelihood(rows: Task) -> Scores:
    """The default as stage 1 leaves it: the steps of stage 2 are too small to move a weight."""
    model = MMDRegressor(
        matching=Matching(epochs=1, lr=1e-12), recalibrate=False, random_state=0
    ).fit(rows.x, rows.y, **rows.hold_out)
    found = scores(model.predict_quantiles(rows.x_test, alpha=LEVELS), rows.y_test)
    return {"likelihood alone": found}


def tuned_forest(name: str, count: int) -> Callable[[Task], Scores]:
    """The forest with the setting that is best on the splits for choosing, found when fitted."""

    def fitted(rows: Task) -> Scores:
        def crps(setting: dict[str, Any]) -> float:
            tasks = (few(name, split, count) for split in CHOOSING)
            return float(np.mean([_scored(forest, each, **setting)["crps"] for each in tasks]))

        best = min(FOREST.values(), key=crps)
        return {"forest": _scored(forest, rows, **best)}

    return fitted


def _scored(method: Callable[..., Any], rows: Task, **settings: Any) -> dict[str, float]:
    return scores(method(rows, **settings)(), rows.y_test)


def methods(name: str, count: int) -> dict[str, Callable[[Task], Scores]]:
    """What is measured on a data set with so many rows."""
    if count == MANY:
        return {"default": default, "likelihood alone": likelihood}
    return {
        "default": default,
        "forest": tuned_forest(name, count),
        "ngboost": lambda rows: {"ngboost": _scored(natural_gradient, rows)},
        "realmlp": lambda rows: {"realmlp": _scored(realmlp, rows, n_cv=1)},
    }


# ---- runs and tables -----------------------------------------------------------------------------


def stored() -> list[dict[str, Any]]:
    """All measurements."""
    return (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )


def run(chosen: Sequence[str], sizes: Sequence[int], splits: int, minutes: float) -> None:
    """Measure what is missing: all first splits before the second ones."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    end = time.monotonic() + 60.0 * minutes
    done = {(r["table"], r["rows"], r["method"], r["split"]) for r in stored()}
    for split in SPLITS[:splits]:
        for count in sizes:
            for name in NAMES:
                for method, fit in methods(name, count).items():
                    if method not in chosen or (name, count, method, split) in done:
                        continue
                    if time.monotonic() > end:
                        return
                    rows = few(name, split, count)
                    start = time.process_time()
                    found = fit(rows)
                    seconds = time.process_time() - start
                    with RESULTS.open("a") as file:
                        for label, values in found.items():
                            key = {"table": name, "rows": count, "method": label, "split": split}
                            more = {"test_rows": len(rows.y_test), "cpu_seconds": seconds}
                            file.write(json.dumps({**key, **values, **more}) + "\n")
                    print(name, count, split, method, f"{seconds:.1f} s", flush=True)


def few_rows_table(results: pd.DataFrame, count: int) -> str:
    """CRPS of the default, ECPE in attainable floors, and the CRPS of rivals relative to it."""
    own = results[results.rows == count]
    rivals = [m for m in ("forest", "ngboost", "realmlp") if (own.method == m).any()]
    lines, ratios = [], {m: [] for m in rivals}
    for name, of_table in own.groupby("table", sort=False):
        crps = of_table.pivot_table(index="split", columns="method", values="crps")
        # What a map that is learned from so many rows can attain.
        floor = of_table.floor * np.sqrt(1 + of_table.test_rows / count)
        ecpe = (of_table.ecpe / floor)[of_table.method == "default"].mean()
        cells = []
        for m in rivals:
            both = crps[["default", m]].dropna() if m in crps else crps.iloc[:0]
            ratio = both[m].mean() / both["default"].mean() if len(both) else np.nan
            ratios[m].append(ratio)
            cells.append(f"{ratio:.2f}" if len(both) else "")
        lines.append([str(name), f"{crps['default'].mean():.4g} ({ecpe:.1f})", *cells])
    means = [f"{np.exp(np.nanmean(np.log(ratios[m]))):.3f}" for m in rivals]
    lines.append(["geometric mean", "", *means])
    table = Table([f"{count} rows", "default", *rivals], lines, right=range(1, 2 + len(rivals)))
    return table.render("text")


def steps_table(results: pd.DataFrame) -> str:
    """What a step does to the CRPS: mean differences with two standard errors of the splits."""
    lines = []
    for count, of_size in results.groupby("rows"):
        for name, of_table in of_size.groupby("table", sort=False):
            crps = of_table.pivot_table(index="split", columns="method", values="crps")
            cells = []
            for before, after in (
                ("likelihood alone", "without its map"),
                ("without its map", "default"),
            ):
                if before not in crps or after not in crps:
                    cells.append("")
                    continue
                change = (100 * (crps[after] / crps[before] - 1)).dropna()
                noise = f" +- {2 * _standard_error(change):.1f}" if len(change) > 1 else ""
                cells.append(f"{change.mean():+.1f}%{noise}")
            lines.append([f"{count:,}", str(name), *cells])
    return Table(["rows", "table", "stage 2", "map"], lines, right=(0, 2, 3)).render("text")


def _standard_error(values: pd.Series[float]) -> float:
    """Of a mean over splits of four to one, which share rows (Nadeau and Bengio, 2003)."""
    return float(values.std(ddof=1) * np.sqrt(1 / len(values) + 0.25))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument(
        "--methods", nargs="*", default=["default", "forest", "ngboost", "likelihood alone"]
    )
    parser.add_argument("--rows", nargs="*", type=int, default=[*FEW, MANY])
    parser.add_argument("--splits", type=int, default=len(SPLITS))
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    if options.what == "run":
        run(options.methods, options.rows, options.splits, options.minutes)
    results = pd.DataFrame(stored())
    for count in FEW:
        print(few_rows_table(results, count))
    print(steps_table(results))


if __name__ == "__main__":
    main()
