"""The default and "best" beside tuned forests and boosted quantiles, on twelve tables.

    python benchmarks/frontier.py run                     # measure what is missing
    python benchmarks/frontier.py                         # print what is stored
    python benchmarks/frontier.py --readme README.md      # update the table of the README

Splits are ``RandomState(split).permutation``, 80% to train on, at most 4,000 of the others to test
on; CRPS by the quantiles .01, ..., .99. Splits 0 to 4 are reported; on 100 and 101 rivals choose
their settings, and ours were chosen there as well.
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
from quality_pages import (
    between_marks,
    frontier_sentences,
    frontier_summary,
    frontier_table,
    read_frontier,
    reported,
)

from calibrant.experiments.layout import Table

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


def fitted_forest(x: np.ndarray, y: np.ndarray, settings: dict[str, Any]) -> Any:
    import quantile_forest

    own = dict(settings)
    extra = own.pop("extra", False)
    kind = "ExtraTreesQuantileRegressor" if extra else "RandomForestQuantileRegressor"
    return getattr(quantile_forest, kind)(random_state=0, **own).fit(x, y)


def forest(x: np.ndarray, y: np.ndarray, _: np.ndarray | None, **settings: Any) -> Quantiles:
    model = fitted_forest(x, y, settings)
    return lambda new: model.predict(new, quantiles=LEVELS.tolist())


def mapped_forest(x: np.ndarray, y: np.ndarray, _: np.ndarray | None, **settings: Any) -> Quantiles:
    """The tuned forest with our calibration map, learned from predictions out of bag."""
    from calibrant.recalibration import fit_pit_map

    model = fitted_forest(x, y, settings | {"bootstrap": True})
    unseen = model.predict(x, quantiles=LEVELS.tolist(), oob_score=True)
    # Between two levels, or within an atom, the PIT value is only known up to these ends.
    left = (unseen < y[:, None]).sum(axis=1) / 100
    right = ((unseen <= y[:, None]).sum(axis=1) + 1) / 100
    levels = np.clip(fit_pit_map(right, left=left).inverse(LEVELS), 0.0, 1.0)
    return lambda new: model.predict(new, quantiles=levels.tolist())


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
    "forest, mapped": (mapped_forest, FOREST),
    "lightgbm": (boosted, BOOSTED),
}
TUNED_AS = {"forest, mapped": "forest"}  # takes the settings that another method has chosen


# ---- one measurement -----------------------------------------------------------------------------


def scores(quantiles: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """CRPS, ECPE with its floor, and the mean width of 90% intervals.

    Parameters
    ----------
    quantiles : ndarray of shape (n_rows, 99)
        Quantiles at `LEVELS`.
    y : ndarray of shape (n_rows,)
        What came.
    """
    from calibrant.metrics import noise_floor

    target = y[:, None]
    miss = target - quantiles
    crps = 2.0 * np.maximum(LEVELS * miss, (LEVELS - 1.0) * miss).mean()
    below, above = (quantiles < target).sum(axis=1), (quantiles <= target).sum(axis=1)
    # Within a step between two levels, or within an atom, at random.
    pit = (below + np.random.default_rng(0).random(len(y)) * (above - below + 1)) / 100
    covered = (2.0 * np.abs(pit[:, None] - 0.5) <= LEVELS).mean(axis=0)
    return {
        "crps": float(crps),
        "ecpe": float(np.abs(covered - LEVELS).mean()),
        "floor": float(noise_floor(len(y)).ecpe),
        "width": float((quantiles[:, 94] - quantiles[:, 4]).mean()),
    }


def measure(task: tuple[str, str, str, int]) -> dict[str, Any]:
    """CRPS, coverage errors, width and seconds of one method on one split."""
    import torch

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
    found = quantiles(x[test])
    end = time.perf_counter()
    return {
        "table": name, "method": method, "setting": setting, "split": split,
        **scores(found, y[test]),
        "fit_seconds": middle - start, "predict_seconds": end - middle,
        "device": "cuda" if torch.cuda.is_available() else "cpu",
    }  # fmt: skip


# ---- runs ----------------------------------------------------------------------------------------


def chosen(results: pd.DataFrame, name: str, method: str) -> str | None:
    """Setting with the lowest CRPS on the splits for choosing; None if some are missing."""
    settings = list(METHODS[method][1])
    if len(settings) == 1:
        return settings[0]
    tuned = TUNED_AS.get(method, method)
    own = results[(results["table"] == name) & (results.method == tuned)]
    scores = own[own.split.isin(CHOOSING)].groupby("setting").crps.agg(["mean", "size"])
    if len(scores) < len(settings) or (scores["size"] < len(CHOOSING)).any():
        return None
    return str(scores["mean"].idxmin())


def missing(names: Sequence[str], methods: Sequence[str]) -> Iterator[tuple[str, str, str, int]]:
    """Measurements to make: those for choosing, and the reported ones of what was chosen."""
    results = read_frontier(RESULTS)
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


def seconds(results: pd.DataFrame) -> Table:
    """Median seconds of a fit by device, which other work on the machine lengthens."""
    found = results.groupby(["method", "device"]).fit_seconds.median()
    lines = [[method, device, f"{value:.1f}"] for (method, device), value in found.items()]
    return Table(["method", "device", "median seconds to fit"], lines, right=[2])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--readme", type=Path, help="update the table between its marks")
    options = parser.parse_args()
    if options.what == "run":
        run(options.tables, options.methods, options.processes, options.minutes)
    results = reported(read_frontier(RESULTS))
    print(f"{frontier_table(results).render('text')}\n{frontier_sentences(results)}")
    print(seconds(results).render("text"))
    if options.readme:
        text = options.readme.read_text(encoding="utf-8")
        text = between_marks(text, frontier_summary(results), "frontier")
        options.readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
