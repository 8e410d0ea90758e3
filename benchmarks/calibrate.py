"""What `calibrate` gains around LightGBM, a quantile forest and RealMLP, beside rivals.

    python benchmarks/calibrate.py run                    # measure what is missing
    python benchmarks/calibrate.py chance                 # simulate what chance alone does to ECPE
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
CHANCE = RESULTS.with_name("calibrate_chance.json")
PAPER = (
    "power_plant", "protein", "naval", "wine", "bike_sharing", "pickups", "pm25", "metro_traffic",
    "air_quality",
)  # fmt: skip
DEVELOPMENT = (
    "california", "diamonds", "kin8nm", "pumadyn32nm", "elevators", "abalone", "skillcraft",
)  # fmt: skip
TABLES = (*PAPER, *DEVELOPMENT)
ROWS = {  # whose target is known
    "power_plant": 9568, "protein": 45730, "naval": 11934, "wine": 4898, "bike_sharing": 17379,
    "pickups": 29101, "pm25": 41757, "metro_traffic": 48204, "air_quality": 7718,
    "california": 20640, "diamonds": 53940, "kin8nm": 8192, "pumadyn32nm": 8192,
    "elevators": 16599, "abalone": 4177, "skillcraft": 3338,
}  # fmt: skip
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
    train, test = divided(np.flatnonzero(np.isfinite(y)), split)
    return x[train], y[train], x[test], y[test]


def divided(known: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and to test on, of those whose target is known."""
    order = np.random.RandomState(split).permutation(known)
    train, test = order[:MOST_ROWS], order[max(MOST_ROWS, int(0.8 * len(order))) :][:MOST_ROWS]
    if len(order) < 2 * MOST_ROWS:
        cut = int(0.8 * len(order))
        train, test = order[:cut][:MOST_ROWS], order[cut:]
    return train, test


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
    # Every fit of it has another calibration: one fit, and rows of its own.
    cut = int((1 - KEPT) * len(y))
    return calibrate(network.fit(x[:cut], y[:cut]), x[cut:], y[cut:], levels=levels)


KEPT = 0.3  # share of the training rows that RealMLP is calibrated on, without being fitted to them
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


# ---- what chance alone does ---------------------------------------------------------------------

# Name of a forecaster -> share of the training rows that its map is learned from, and splits.
PERFECT = {
    "calibrated by construction": (0.0, 5),
    "but for a map learned from all training rows (`calibrate`)": (1.0, 5),
    "but for a map learned from all training rows, 2 splits (forest)": (1.0, 2),
    "but for a map learned from 30% of them (RealMLP)": (KEPT, 5),
}


def chance_ecpe(name: str, share: float, splits: int, rng: np.random.Generator) -> float:
    """Mean ECPE, in limits, of one perfect forecaster on the splits of a set.

    Its PIT values are uniform, those of a row the same in all splits. With a share above 0 they go
    through a map that is learned from so many training rows, not shrunk: the noise that any map
    brings where the model needs one.
    """
    from calibrant.metrics import noise_floor
    from calibrant.recalibration import fit_pit_map

    levels, found = np.arange(1, 100) / 100, []
    pit = rng.random(ROWS[name])
    for split in range(splits):
        train, test = divided(np.arange(ROWS[name]), split)
        own = pit[test]
        if share:
            own = fit_pit_map(pit[train[-round(share * len(train)) :]], shrink=False)(own)
        covered = np.searchsorted(np.sort(np.abs(2 * own - 1)), levels, side="right") / len(own)
        found.append(np.mean(np.abs(covered - levels)) / noise_floor(len(own)).ecpe_range[1])
    return float(np.mean(found))


def simulate(draws: int) -> None:
    """Store on how many sets perfect forecasters stay below 1.3 and 1.5 limits."""
    rng, stored = np.random.default_rng(0), {}
    for title, (share, splits) in PERFECT.items():
        limits = np.array(
            [[chance_ecpe(name, share, splits, rng) for name in TABLES] for _ in range(draws)]
        )
        sets = {str(most): np.sum(limits <= most, axis=1) for most in (1.3, 1.5)}
        stored[title] = {
            "mean": float(limits.mean()),
            "sets": {
                most: [float(n.mean()), *np.quantile(n, [0.05, 0.95]).tolist()]
                for most, n in sets.items()
            },
        }
        print(title, stored[title], flush=True)
    CHANCE.write_text(json.dumps(stored, indent=2) + "\n")


def chance_lines() -> list[str]:
    """What was simulated, one line for each forecaster."""
    lines = []
    for title, each in json.loads(CHANCE.read_text()).items():
        counts = [
            f"at most {most} on {mean:.1f} ({low:.0f} to {high:.0f})"
            for most, (mean, low, high) in each["sets"].items()
        ]
        lines.append(
            f"by chance, a perfect forecaster {title}: mean ECPE {each['mean']:.2f} limits, "
            f"{', '.join(counts)} of {len(TABLES)} sets"
        )
    return lines


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
    lines += chance_lines()
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
    parser.add_argument("what", nargs="?", choices=["show", "run", "chance"], default="show")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--splits", type=int, default=5, help="only the first so many")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--draws", type=int, default=50, help="of chance")
    parser.add_argument("--docs", type=Path, help="page to update between its marks")
    options = parser.parse_args()
    if options.what == "run":
        run(options.tables, options.methods, options.splits, options.minutes)
    if options.what == "chance":
        simulate(options.draws)
    show(options.docs)


if __name__ == "__main__":
    main()
