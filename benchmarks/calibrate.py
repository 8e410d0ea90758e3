"""What `calibrate` gains around LightGBM and a quantile forest, beside conformal prediction.

``python benchmarks/calibrate.py run`` measures what is missing, ``python benchmarks/calibrate.py``
prints the tables. The nine sets of the paper as plain tables (rows of series are not windows here)
and seven development sets; five random splits, at most 2,000 rows to train on and 2,000 to test on,
so that all fits on all sets take about half an hour on one core. Every method gets the same
training rows, and divides them itself.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frontier import table as development_table

RESULTS = Path(__file__).parent / "results" / "calibrate.jsonl"
PAPER = (
    "power_plant", "protein", "naval", "wine", "bike_sharing", "pickups", "pm25", "metro_traffic",
    "air_quality",
)  # fmt: skip
DEVELOPMENT = (
    "california", "diamonds", "kin8nm", "pumadyn32nm", "elevators", "abalone", "skillcraft",
)  # fmt: skip
TABLES = (*PAPER, *DEVELOPMENT)
SPLITS = range(5)
MOST_ROWS = 2_000


def rows_of(name: str, split: int) -> tuple[np.ndarray, ...]:
    """Inputs and targets to train on, and to test on."""
    from calibrant import datasets

    if name in PAPER:
        data = datasets.load(name)
        codes = data.X.apply(lambda c: c.cat.codes if c.dtype == "category" else c)
        x, y = codes.to_numpy(float), np.asarray(data.y, float)
        x = np.where(np.isnan(x), np.nanmedian(x, axis=0), x)
    else:
        x, y = development_table(name)
    known = np.flatnonzero(np.isfinite(y))
    order = np.random.RandomState(split).permutation(known)
    train, test = order[:MOST_ROWS], order[max(MOST_ROWS, int(0.8 * len(order))) :][:MOST_ROWS]
    if len(order) < 2 * MOST_ROWS:
        cut = int(0.8 * len(order))
        train, test = order[:cut][:MOST_ROWS], order[cut:]
    return x[train], y[train], x[test], y[test]


# ---- methods: each fits and returns a model with predict_dist ------------------------------------


def lightgbm() -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)


def ours(x: np.ndarray, y: np.ndarray, **options: Any) -> Any:
    from calibrant import calibrate

    return calibrate(lightgbm(), x, y, **options)


def learned(x: np.ndarray, y: np.ndarray) -> Any:
    return ours(x, y, location="learn")


def split_conformal(x: np.ndarray, y: np.ndarray) -> Any:
    from calibrant import ConformalRecalibrator

    cut = int(0.8 * len(y))
    return ConformalRecalibrator().fit(lightgbm().fit(x[:cut], y[:cut]), x[cut:], y[cut:])


def rival(name: str) -> Callable[[np.ndarray, np.ndarray], Any]:
    def fit(x: np.ndarray, y: np.ndarray) -> Any:
        from calibrant.experiments import rivals

        return getattr(rivals, name)(random_state=0).fit(x, y)

    return fit


def calibrated_forest(x: np.ndarray, y: np.ndarray) -> Any:
    from quantile_forest import RandomForestQuantileRegressor

    from calibrant import calibrate

    return calibrate(RandomForestQuantileRegressor(100, random_state=0, n_jobs=1), x, y)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "calibrate": ours,
    "learn": learned,
    "split": split_conformal,
    "crepes": rival("ConformalLightGBM"),
    "catboost": rival("CatBoostNormal"),
    "ngboost": rival("NGBoostNormal"),
    "forest": rival("QuantileForest"),
    "forest, cal.": calibrated_forest,
}


def measure(name: str, method: str, split: int) -> dict[str, Any]:
    """CRPS, ECPE, width and seconds of one method on one split."""
    from calibrant.metrics import ecpe, noise_floor

    x, y, x_test, y_test = rows_of(name, split)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method](x, y)
    seconds = time.perf_counter() - start
    dist = model.predict_dist(x_test)
    floor = noise_floor(len(y_test))
    low, high = dist.interval(0.9).T
    return {
        "table": name, "method": method, "split": split, "rows": len(y), "test_rows": len(y_test),
        "crps": float(dist.crps(y_test).mean()), "ecpe": float(ecpe(dist, y_test)),
        "floor": float(floor.ecpe), "limit": float(floor.ecpe_range[1]),
        "width": float((high - low).mean()), "seconds": seconds,
        "chosen": getattr(model, "chosen", None),
    }  # fmt: skip


# ---- runs and tables -----------------------------------------------------------------------------


def known() -> pd.DataFrame:
    """All stored measurements."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    columns = ["table", "method", "split", "crps", "ecpe", "limit", "seconds", "width", "chosen"]
    return pd.DataFrame([json.loads(line) for line in lines], columns=None if lines else columns)


def missing(names: Sequence[str], methods: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Measurements to make: all sets of a method and split before the next split."""
    results = known()
    done = set(zip(results["table"], results.method, results.split, strict=True))
    tasks = ((name, method, split) for split in SPLITS for method in methods for name in names)
    yield from (task for task in tasks if task not in done)


def run(names: Sequence[str], methods: Sequence[str], minutes: float) -> None:
    """Measure what is missing, and store every measurement as it comes."""
    import torch

    torch.set_num_threads(1)
    end = time.monotonic() + 60.0 * minutes
    for task in list(missing(names, methods)):
        if time.monotonic() > end:
            return
        result = measure(*task)
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{result['table']:<16}{result['method']:<14}{result['crps']:.5g}", flush=True)


def versus(crps: pd.DataFrame, ours: str, theirs: str) -> str:
    """Sets on which a method is better or worse by more than two standard errors."""
    better = worse = clearly_better = clearly_worse = 0
    ratios = []
    for _, own in crps[[ours, theirs]].dropna().groupby("table"):
        log = np.log(own[ours] / own[theirs])
        error = log.std(ddof=1) / np.sqrt(len(log)) if len(log) > 1 else np.inf
        ratios.append(log.mean())
        better += log.mean() < 0
        worse += log.mean() >= 0
        clearly_better += log.mean() < -2 * error
        clearly_worse += log.mean() > 2 * error
    pairs = len(crps[[ours, theirs]].dropna())
    return (
        f"{np.exp(np.mean(ratios)):.3f} of its CRPS on the {pairs} splits of both; better on "
        f"{better} of {better + worse} sets "
        f"({clearly_better} beyond two standard errors), worse on {worse} ({clearly_worse})"
    )


def show() -> None:
    """Print CRPS, ECPE in limits and what `calibrate` gains."""
    results = known().drop_duplicates(["table", "method", "split"], keep="last")
    methods = [method for method in METHODS if method in set(results.method)]
    names = [name for name in TABLES if name in set(results["table"])]
    rows = f"{int(results.rows.min()):,} to {int(results.rows.max()):,} training rows"
    print(f"CRPS, mean of the splits that were measured (their number in the last line); {rows}\n")
    print(f"{'':<16}" + "".join(f"{method:>13}" for method in methods))
    for name in names:
        own = results[results["table"] == name].groupby("method").crps.mean()
        print(f"{name:<16}" + "".join(f"{own.get(method, np.nan):>13.4g}" for method in methods))
    counts = results.groupby(["method", "table"]).size().groupby("method").agg(["min", "max"])
    shown = {m: "-".join(str(n) for n in sorted(set(counts.loc[m]))) for m in methods}
    print(f"{'splits':<16}" + "".join(f"{shown[method]:>13}" for method in methods))
    print("\nECPE in limits: 1 is what 95% of perfect forecasters stay below\n")
    print(f"{'':<16}" + "".join(f"{method:>13}" for method in methods))
    limits = (results.ecpe / results.limit).groupby([results["table"], results.method]).mean()
    for name in names:
        own = limits[name]
        print(f"{name:<16}" + "".join(f"{own.get(method, np.nan):>13.2f}" for method in methods))
    print()
    for method in methods:
        own = limits[:, method]
        seconds = results[results.method == method].seconds.median()
        print(
            f"{method:<14}ECPE at most 1.3 limits on {(own <= 1.3).sum()}, at most 1.5 on "
            f"{(own <= 1.5).sum()} of {len(own)} sets; median {seconds:.1f} s to fit"
        )
    crps = results.pivot(index=["table", "split"], columns="method", values="crps")
    print()
    pairs = [
        (a, b) for a in ("calibrate", "learn") for b in ("split", "crepes", "catboost", "ngboost")
    ]
    for first, second in [*pairs, ("forest, cal.", "forest")]:
        if first in crps and second in crps:
            print(f"{first} against {second}: {versus(crps, first, second)}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    if options.what == "run":
        run(options.tables, options.methods, options.minutes)
    show()


if __name__ == "__main__":
    main()
