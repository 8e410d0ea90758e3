"""What `calibrate` gains around LightGBM, a quantile forest and RealMLP, beside rivals.

    python benchmarks/calibrate.py run                    # measure what is missing
    python benchmarks/calibrate.py                        # print what is stored
    python benchmarks/calibrate.py --docs docs/tutorials/calibrate.md

The nine sets of the paper as plain tables (rows of series are not windows here) and seven
development sets; five random splits, at most 2,000 rows to train on and 2,000 to test on, so that
all fits take about an hour on one core. Every method gets the same training rows, and divides them
itself. "realmlp" needs pytabkit 1.7.3, which is none of our extras.
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
from quality_pages import between_marks

from calibrant.experiments.layout import Table

RESULTS = Path(__file__).parent / "results" / "calibrate.jsonl"
PAPER = (
    "power_plant", "protein", "naval", "wine", "bike_sharing", "pickups", "pm25", "metro_traffic",
    "air_quality",
)  # fmt: skip
DEVELOPMENT = (
    "california", "diamonds", "kin8nm", "pumadyn32nm", "elevators", "abalone", "skillcraft",
)  # fmt: skip
TABLES = (*PAPER, *DEVELOPMENT)
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


def ours(x: np.ndarray, y: np.ndarray) -> Any:
    from calibrant import calibrate

    return calibrate(lightgbm(), x, y)


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


def calibrated_realmlp(x: np.ndarray, y: np.ndarray) -> Any:
    from pytabkit import RealMLP_TD_Regressor

    from calibrant import calibrate

    levels = np.arange(1, 100) / 100
    loss = f"multi_pinball({','.join(f'{level:.2f}' for level in levels)})"
    options = {"device": "cpu", "n_threads": 1, "n_epochs": 64, "random_state": 0}
    network = RealMLP_TD_Regressor(train_metric_name=loss, val_metric_name=loss, **options)
    cut = int(0.7 * len(y))  # every fit of it has another calibration: one fit, and rows of its own
    return calibrate(network.fit(x[:cut], y[:cut]), x[cut:], y[cut:], levels=levels)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "calibrate": ours,
    "split": split_conformal,
    "crepes": rival("ConformalLightGBM"),
    "catboost": rival("CatBoostNormal"),
    "ngboost": rival("NGBoostNormal"),
    "forest": calibrated_forest,
    "realmlp": calibrated_realmlp,
}
QUANTILE_MODELS = ("forest", "realmlp")  # have distributions of their own to compare with
RIVALS = ("split", "crepes", "catboost", "ngboost")
HEADINGS = {
    "calibrate": "`calibrate`", "split": "split conformal", "crepes": "crepes",
    "catboost": "CatBoost", "ngboost": "NGBoost",
    "forest": "forest", "forest, calibrated": "`calibrate`, forest",
    "realmlp": "RealMLP", "realmlp, calibrated": "`calibrate`, RealMLP",
}  # fmt: skip


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
    limit = float(noise_floor(len(y_test)).ecpe_range[1])
    result = {
        "table": name, "method": method, "split": split, "rows": len(y),
        "crps": float(dist.crps(y_test).mean()), "ecpe": float(ecpe(dist, y_test)) / limit,
        "seconds": seconds, "chosen": getattr(model, "chosen", None),
    }  # fmt: skip
    if method in QUANTILE_MODELS:
        before = model.source.predict(x_test)
        result["crps_before"] = float(before.crps(y_test).mean())
        result["ecpe_before"] = float(ecpe(before, y_test)) / limit
    return result


# ---- runs and tables -----------------------------------------------------------------------------


def known() -> pd.DataFrame:
    """All stored measurements."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return pd.DataFrame(
        [json.loads(line) for line in lines] or {"table": [], "method": [], "split": []}
    )


def missing(
    names: Sequence[str], methods: Sequence[str], splits: int
) -> Iterator[tuple[str, str, int]]:
    """Measurements to make: all sets of a method and split before the next split."""
    results = known()
    done = set(zip(results["table"], results.method, results.split, strict=True))
    tasks = (
        (name, method, split) for split in range(splits) for method in methods for name in names
    )
    yield from (task for task in tasks if task not in done)


def run(names: Sequence[str], methods: Sequence[str], splits: int, minutes: float) -> None:
    """Measure what is missing, and store every measurement as it comes."""
    import torch

    torch.set_num_threads(1)
    end = time.monotonic() + 60.0 * minutes
    for task in list(missing(names, methods, splits)):
        if time.monotonic() > end:
            return
        result = measure(*task)
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{result['table']:<16}{result['method']:<14}{result['crps']:.5g}", flush=True)


def versus(results: pd.DataFrame, ours: str, theirs: str) -> str:
    """CRPS of a method relative to another, and sets on which it is better, on common splits."""
    crps = results.pivot(index=["table", "split"], columns="method", values="crps")
    return _compared(crps[ours], crps[theirs], f"{ours} against {theirs}")


def never_worse(results: pd.DataFrame, method: str) -> str:
    """CRPS of a quantile model after calibration relative to before."""
    own = results[results.method == method].set_index(["table", "split"])
    ratio = own.crps / own.crps_before
    at_worst = "; at worst {:.3f} ({}, split {})".format(ratio.max(), *ratio.idxmax())
    return _compared(own.crps, own.crps_before, f"{method}, calibrated against before") + at_worst


def _compared(first: pd.Series, second: pd.Series, title: str) -> str:
    log = np.log(first / second).dropna()
    own = log.groupby("table").agg(["mean", "sem"])
    better, worse = own["mean"] < 0, own["mean"] > 0
    clear = own["mean"].abs() > 2 * own["sem"]  # never with one split
    return (
        f"{title}: {np.exp(own['mean'].mean()):.3f} of its CRPS on {len(log)} splits; better on "
        f"{better.sum()} of {len(own)} sets ({(better & clear).sum()} beyond two standard errors), "
        f"worse on {worse.sum()} ({(worse & clear).sum()})"
    )


def columns(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Measurements by the heading of their column; quantile models before and after."""
    found = {}
    for method, own in results.groupby("method"):
        if method in QUANTILE_MODELS:
            found[method] = own.assign(crps=own.crps_before, ecpe=own.ecpe_before)
            found[f"{method}, calibrated"] = own
        else:
            found[str(method)] = own
    return {name: found[name] for name in HEADINGS if name in found}


def table_of(results: pd.DataFrame) -> Table:
    """CRPS and ECPE in limits, means over splits, and the number of splits."""
    shown = columns(results)
    lines = []
    for name in TABLES:
        cells = [name.replace("_", " ")]
        for own in shown.values():
            here = own[own["table"] == name]
            cells.append(f"{here.crps.mean():.4g} · {here.ecpe.mean():.2f}" if len(here) else "")
        lines.append(cells)
    counts = [sorted(set(own.groupby("table").size())) for own in shown.values()]
    lines.append(
        ["splits", *("-".join(str(n) for n in each[:: len(each) - 1 or 1]) for each in counts)]
    )
    return Table(["", *(HEADINGS[name] for name in shown)], lines, right=range(1, len(shown) + 1))


def sentences(results: pd.DataFrame) -> str:
    """ECPE of all methods, and CRPS of `calibrate` relative to others, one line each."""
    lines = []
    for name, own in columns(results).items():
        limits = own.groupby("table").ecpe.mean()
        lines.append(
            f"{name}: ECPE at most 1.3 limits on {(limits <= 1.3).sum()}, at most 1.5 on "
            f"{(limits <= 1.5).sum()} of {len(limits)} sets"
            + ("" if name in QUANTILE_MODELS else f"; median {own.seconds.median():.1f} s")
        )
    others = [each for each in RIVALS if each in set(results.method)]
    lines += [versus(results, "calibrate", other) for other in others]
    lines += [never_worse(results, each) for each in QUANTILE_MODELS if each in set(results.method)]
    return "".join(f"- {line}\n" for line in lines)


def show(docs: Path | None) -> None:
    """Print the table and what `calibrate` gains, and write them into a page."""
    results = known().drop_duplicates(["table", "method", "split"], keep="last")
    print(f"{table_of(results).render('text')}\n{sentences(results)}")
    if docs is not None:
        content = f"{table_of(results).render('markdown')}\n{sentences(results)}"
        page = between_marks(docs.read_text(encoding="utf-8"), content, "calibrate")
        docs.write_text(page, encoding="utf-8")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--splits", type=int, default=5, help="only the first so many")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--docs", type=Path, help="page to update between its marks")
    options = parser.parse_args()
    if options.what == "run":
        run(options.tables, options.methods, options.splits, options.minutes)
    show(options.docs)


if __name__ == "__main__":
    main()
