"""Tables nobody tuned on: the default and "best" beside tuned forests and boosted quantiles.

``python benchmarks/frontier.py run`` measures what is missing (development splits first, on which
every rival chooses its settings), ``python benchmarks/frontier.py`` prints the tables. Splits are
``RandomState(split).permutation``, 80% to train on, at most 4,000 of the others to test on; CRPS by
the quantiles .01, ..., .99. Splits 0 to 4 are reported, 100 and 101 are for choosing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "frontier.jsonl"
LEVELS = np.arange(1, 100) / 100
TARGETS = {
    "california_housing": "median_house_value",
    "diamonds": "price",
    "abalone": "rings",
    "power_plant": "PE",
    "protein_structure": "RMSD",
    "naval_propulsion": "GT_Compressor_decay",
    "wine_quality_white": "quality",
}  # the others' target is their last column
TABLES = {
    "california": "development/california_housing",
    "diamonds": "development/diamonds",
    "kin8nm": "development/kin8nm",
    "pumadyn32nm": "development/pumadyn32nm",
    "elevators": "development/elevators",
    "abalone": "development/abalone",
    "skillcraft": "development/skillcraft",
    "power_plant": "power_plant",
    "protein": "protein_structure",
    "naval": "naval_propulsion",
    "wine": "wine_quality_white",
    "wine, twins together": "wine_quality_white",
}
REPORTED, CHOOSING = range(5), (100, 101)
MOST_TEST_ROWS = 4_000
MOST_ROWS_TO_CHOOSE = 8_000  # settings of rivals are chosen on fewer rows, in less time

Quantiles = Callable[[np.ndarray], np.ndarray]


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, text one-hot and gaps by the median, and target."""
    path = Path(os.environ["CALIBRANT_DATA"]) / f"{TABLES[name]}.csv.gz"
    frame = pd.read_csv(path)
    y = frame.pop(TARGETS.get(path.name.split(".")[0], frame.columns[-1])).to_numpy(float)
    frame = frame.drop(columns="GT_Turbine_decay", errors="ignore")
    x = pd.get_dummies(frame, dtype=float)
    return x.fillna(x.median()).to_numpy(), y


def twins(x: np.ndarray) -> np.ndarray:
    """One label for all rows with the same inputs."""
    labels: np.ndarray = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)
    return labels


def split_rows(name: str, x: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and to test on."""
    rng = np.random.RandomState(split)
    if "twins" not in name:
        order = rng.permutation(len(x))
        cut = int(0.8 * len(x))
        return order[:cut], order[cut:][:MOST_TEST_ROWS]
    labels = twins(x)
    chosen = rng.permutation(labels.max() + 1)[: int(0.8 * (labels.max() + 1))]
    train = np.isin(labels, chosen)
    order = rng.permutation(len(x))
    return order[train[order]], order[~train[order]][:MOST_TEST_ROWS]


# ---- methods: each fits and returns quantiles of new rows at LEVELS ------------------------------


def ours(x: np.ndarray, y: np.ndarray, groups: np.ndarray | None, **settings: Any) -> Quantiles:
    from calibrant import MMDRegressor

    model = MMDRegressor(random_state=0, **settings).fit(x, y, groups=groups)
    return lambda new: model.predict_quantiles(new, alpha=LEVELS)


def forest(x: np.ndarray, y: np.ndarray, _: np.ndarray | None, **settings: Any) -> Quantiles:
    import quantile_forest

    extra = settings.pop("extra", False)
    kind = "ExtraTreesQuantileRegressor" if extra else "RandomForestQuantileRegressor"
    model = getattr(quantile_forest, kind)(random_state=0, **settings).fit(x, y)
    return lambda new: model.predict(new, quantiles=LEVELS.tolist())


def boosted(x: np.ndarray, y: np.ndarray, _: np.ndarray | None, **settings: Any) -> Quantiles:
    from lightgbm import LGBMRegressor

    fitted = np.r_[0.01, np.arange(1, 20) / 20, 0.99]
    common: dict[str, Any] = {"objective": "quantile", "verbose": -1, "learning_rate": 0.05}
    models = [LGBMRegressor(alpha=a, n_jobs=1, **common | settings).fit(x, y) for a in fitted]

    def quantiles(new: np.ndarray) -> np.ndarray:
        found = np.sort([model.predict(new) for model in models], axis=0)
        return np.array([np.interp(LEVELS, fitted, row) for row in found.T])

    return quantiles


FOREST = {
    f"{'extra' if extra else 'forest'} {share:.2f} {leaf}": {
        "extra": extra, "max_features": share, "min_samples_leaf": leaf,
    }
    for extra in (False, True) for share in (0.33, 0.5, 1.0) for leaf in (1, 5)
}  # fmt: skip
BOOSTED = {
    f"leaves {leaves} x {trees}": {"num_leaves": leaves, "n_estimators": trees}
    for leaves, trees in ((31, 150), (31, 500), (127, 300))
}
METHODS: dict[str, tuple[Callable[..., Quantiles], dict[str, dict[str, Any]]]] = {
    "default": (ours, {"": {}}),
    "best": (ours, {"": {"quality": "best"}}),
    "forest": (forest, FOREST),
    "lightgbm": (boosted, BOOSTED),
}


# ---- one measurement -----------------------------------------------------------------------------


def measure(task: tuple[str, str, str, int]) -> dict[str, Any]:
    """CRPS, coverage errors, width and seconds of one method on one split."""
    import torch

    from calibrant.metrics import noise_floor

    name, method, setting, split = task
    torch.set_num_threads(1)
    fit, settings = METHODS[method]
    x, y = table(name)
    train, test = split_rows(name, x, split)
    if split in CHOOSING:
        train = train[:MOST_ROWS_TO_CHOOSE]
    groups = twins(x)[train] if "twins" in name else None
    start = time.perf_counter()
    quantiles = fit(x[train], y[train], groups, **settings[setting])
    middle = time.perf_counter()
    found, target = quantiles(x[test]), y[test][:, None]
    end = time.perf_counter()
    miss = target - found
    crps = 2.0 * np.maximum(LEVELS * miss, (LEVELS - 1.0) * miss).mean()
    below, above = (found < target).sum(axis=1), (found <= target).sum(axis=1)
    # Within a step between two levels, or within an atom, at random.
    pit = (below + np.random.default_rng(0).random(len(test)) * (above - below + 1)) / 100
    nominal = np.arange(1, 100) / 100
    covered = (2.0 * np.abs(pit[:, None] - 0.5) <= nominal).mean(axis=0)
    return {
        "table": name, "method": method, "setting": setting, "split": split,
        "crps": float(crps), "ecpe": float(np.abs(covered - nominal).mean()),
        "floor": float(noise_floor(len(test)).ecpe),
        "width": float((found[:, 94] - found[:, 4]).mean()),
        "fit_seconds": middle - start, "predict_seconds": end - middle,
        "device": "cuda" if torch.cuda.is_available() else "cpu",
    }  # fmt: skip


# ---- runs ----------------------------------------------------------------------------------------


def known() -> pd.DataFrame:
    """All stored measurements."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    columns = ["table", "method", "setting", "split", "crps", "ecpe", "floor", "fit_seconds"]
    return pd.DataFrame([json.loads(line) for line in lines], columns=None if lines else columns)


def chosen(results: pd.DataFrame, name: str, method: str) -> str | None:
    """Setting with the lowest CRPS on the splits for choosing; None if some are missing."""
    settings = list(METHODS[method][1])
    if len(settings) == 1:
        return settings[0]
    own = results[(results["table"] == name) & (results.method == method)]
    scores = own[own.split.isin(CHOOSING)].groupby("setting").crps.agg(["mean", "size"])
    if len(scores) < len(settings) or (scores["size"] < len(CHOOSING)).any():
        return None
    return str(scores["mean"].idxmin())


def missing(names: Sequence[str], methods: Sequence[str]) -> Iterator[tuple[str, str, str, int]]:
    """Measurements to make: those for choosing, and the reported ones of what was chosen."""
    results = known()
    done = set(zip(results["table"], results.method, results.setting, results.split, strict=True))
    for name in names:
        for method in methods:
            setting = chosen(results, name, method)
            if setting is None:
                tasks = [(name, method, s, i) for s in METHODS[method][1] for i in CHOOSING]
            else:
                tasks = [(name, method, setting, i) for i in REPORTED]
            yield from (task for task in tasks if task not in done)


def run(names: Sequence[str], methods: Sequence[str], processes: int, minutes: float) -> None:
    """Measure what is missing, and store every measurement as it comes."""
    end = time.monotonic() + 60.0 * minutes
    RESULTS.parent.mkdir(exist_ok=True)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        while tasks := list(missing(names, methods)):
            for result in pool.imap_unordered(measure, tasks):
                with RESULTS.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(
                    f"{result['table']:<22}{result['method']:<10}{result['crps']:.5g}", flush=True
                )
                if time.monotonic() > end:
                    pool.terminate()
                    return


# ---- tables --------------------------------------------------------------------------------------


def reported() -> pd.DataFrame:
    """Reported measurements of the chosen settings."""
    results = known()
    results = results[results.split.isin(REPORTED)]
    return results.drop_duplicates(["table", "method", "split"], keep="last")


def show() -> None:
    """Print CRPS relative to the best tuned tree, ECPE in floors, and seconds."""
    results = reported()
    crps = results.pivot(index=["table", "split"], columns="method", values="crps")
    methods = [method for method in METHODS if method in crps]
    trees = crps[[m for m in ("forest", "lightgbm") if m in crps]].min(axis=1)
    print(
        "CRPS, mean of the splits; the default relative to the best tuned tree (two deviations)\n"
    )
    print(f"{'table':<22}" + "".join(f"{m:>11}" for m in methods) + "   default / tree")
    for name in [name for name in TABLES if name in crps.index.get_level_values(0)]:
        own = crps.loc[name]
        values = "".join(f"{own[method].mean():>11.5g}" for method in methods)
        ratio = (own["default"] / trees.loc[name]).dropna().map(np.log)
        mean, error = ratio.mean(), 2.0 * ratio.std(ddof=1) / np.sqrt(max(1, len(ratio)))
        print(f"{name:<22}{values}   {np.exp(mean):.3f} +- {np.exp(mean) * error:.3f}")
    print()
    for method in methods:
        own = results[results.method == method]
        floors = (own.ecpe / own.floor).groupby(own["table"]).mean()
        seconds = own.groupby("device").fit_seconds.median().round(1).to_dict()
        against = (crps[method] / trees).dropna().map(np.log).groupby("table").mean()
        print(f"{method}, {len(floors)} tables, {len(own)} fits")
        if len(against):
            print(
                f"  CRPS {np.exp(against.mean()):.3f} of the best tree in the geometric mean, at most "
                f"{np.exp(against.max()):.3f} ({against.idxmax()})"
            )
        print(
            f"  ECPE {np.exp(np.log(floors).mean()):.2f} floors in the geometric mean, at most "
            f"{floors.max():.2f} ({floors.idxmax()}); median seconds to fit {seconds}"
        )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0)
    options = parser.parse_args()
    if options.what == "run":
        run(options.tables, options.methods, options.processes, options.minutes)
    show()


if __name__ == "__main__":
    main()
