"""The default and "best" beside tuned trees, RealMLP and TabM, on sixteen data sets.

    python benchmarks/frontier.py run                     # measure what is missing
    python benchmarks/frontier.py                         # print what is stored
    python benchmarks/frontier.py --readme README.md      # update the table of the README

Tables: splits are ``RandomState(split).permutation``, 80% to train on, at most 4,000 of the others
to test on. Series: windows of five rows, flattened, 70% to train on; shuffled, or in the order of
time ("in time"), which leaves a single split. CRPS by the quantiles .01, ..., .99. Splits 0 to 4
are reported; on 100 and 101 rivals choose their settings, and ours were chosen there as well; in
time, settings are chosen on the last fifth of the training rows.

RealMLP and TabM are those of pytabkit 1.7.3 with a loss over the 99 quantiles.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from quality_pages import (
    between_marks,
    frontier_summary,
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
SERIES = {
    "PM2.5": "pm25",
    "pickups": "pickups",
    "bike": "bike_sharing",
    "air quality": "air_quality",
    "metro": "metro_traffic",
}
IN_TIME = {f"{name}, in time": task for name, task in SERIES.items()}
NAMES = (*TABLES, *SERIES, *IN_TIME)
REPORTED, CHOOSING = range(5), (100, 101)
MOST_TEST_ROWS = 4_000
MOST_ROWS_TO_CHOOSE = 8_000  # settings of rivals are chosen on fewer rows, in less time

Quantiles = Callable[[], np.ndarray]  # (n_test, 99)


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


@dataclass(frozen=True)
class Task:
    """Rows to train on and to test on, and how to hold some of the former out."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    hold_out: dict[str, Any]


def task(name: str, split: int) -> Task:
    """Rows of a split."""
    found = table_task(name, split) if name in TABLES else series_task(name, split)
    if split not in CHOOSING or name in IN_TIME:
        return found
    few = slice(MOST_ROWS_TO_CHOOSE)
    hold_out = {key: value[few] for key, value in found.hold_out.items()}
    return replace(found, x=found.x[few], y=found.y[few], hold_out=hold_out)


def table_task(name: str, split: int) -> Task:
    x, y = table(name)
    train, test = split_rows(name, x, split)
    hold_out = {"groups": twins(x)[train]} if "twins" in name else {}
    return Task(x[train], y[train], x[test], y[test], hold_out)


def series_task(name: str, split: int) -> Task:
    """Flattened windows, shuffled or in the order of time."""
    from calibrant.experiments import TASKS, make_split

    protocol = "honest" if name in IN_TIME else "shuffled"
    source = TASKS[(IN_TIME | SERIES)[name]]
    windows = make_split(source, protocol, split, os.environ["CALIBRANT_DATA"])
    x, x_test = (
        np.asarray(each).reshape(len(each), -1) for each in (windows.X_train, windows.X_test)
    )
    y, y_test = windows.y_train, windows.y_test
    if name not in IN_TIME:
        return Task(x, y, x_test[:MOST_TEST_ROWS], y_test[:MOST_TEST_ROWS], {})
    if split in CHOOSING:
        cut = int(0.8 * len(y))
        x, x_test, y, y_test = x[:cut], x[cut:], y[:cut], y[cut:]
    cut = int(0.8 * len(y))
    return Task(x, y, x_test, y_test, {"cv": [(np.arange(cut), np.arange(cut, len(y)))]})


# ---- methods: each fits and returns what predicts the test rows at LEVELS ------------------------


def ours(task: Task, **settings: Any) -> Quantiles:
    from calibrant import MMDRegressor

    model = MMDRegressor(random_state=0, **settings).fit(task.x, task.y, **task.hold_out)
    return lambda: model.predict_quantiles(task.x_test, alpha=LEVELS)


def adaptive(task: Task, **settings: Any) -> Quantiles:
    """Ours, recalibrated as time goes on: every outcome is known before the next forecast."""
    from calibrant import AdaptiveRecalibrator, MMDRegressor

    model = MMDRegressor(random_state=0, **settings).fit(task.x, task.y, **task.hold_out)
    return lambda: (
        AdaptiveRecalibrator().follow(model.predict_dist(task.x_test), task.y_test).ppf(LEVELS)
    )


def fitted_forest(x: np.ndarray, y: np.ndarray, settings: dict[str, Any]) -> Any:
    import quantile_forest

    own = dict(settings)
    extra = own.pop("extra", False)
    kind = "ExtraTreesQuantileRegressor" if extra else "RandomForestQuantileRegressor"
    return getattr(quantile_forest, kind)(random_state=0, **own).fit(x, y)


def forest(task: Task, **settings: Any) -> Quantiles:
    model = fitted_forest(task.x, task.y, settings)
    return lambda: model.predict(task.x_test, quantiles=LEVELS.tolist())


def mapped_forest(task: Task, **settings: Any) -> Quantiles:
    """The tuned forest with our calibration map, learned from predictions out of bag."""
    from calibrant.recalibration import fit_pit_map

    model = fitted_forest(task.x, task.y, settings | {"bootstrap": True})
    unseen = model.predict(task.x, quantiles=LEVELS.tolist(), oob_score=True)
    # Between two levels, or within an atom, the PIT value is only known up to these ends.
    left = (unseen < task.y[:, None]).sum(axis=1) / 100
    right = ((unseen <= task.y[:, None]).sum(axis=1) + 1) / 100
    levels = np.clip(fit_pit_map(right, left=left).inverse(LEVELS), 0.0, 1.0)
    return lambda: model.predict(task.x_test, quantiles=levels.tolist())


def boosted(task: Task, **settings: Any) -> Quantiles:
    from lightgbm import LGBMRegressor

    fitted = np.r_[0.01, np.arange(1, 20) / 20, 0.99]
    common: dict[str, Any] = {"objective": "quantile", "verbose": -1, "learning_rate": 0.05}
    models = [
        LGBMRegressor(alpha=a, n_jobs=1, **common | settings).fit(task.x, task.y) for a in fitted
    ]
    return lambda: _between(fitted, np.transpose([model.predict(task.x_test) for model in models]))


def catboost(task: Task, **settings: Any) -> Quantiles:
    from catboost import CatBoostRegressor
    from torch import get_num_threads

    fitted = np.arange(1, 20) / 20
    loss = f"MultiQuantile:alpha={','.join(f'{a:.2f}' for a in fitted)}"
    model = CatBoostRegressor(
        loss_function=loss, random_seed=0, verbose=False, allow_writing_files=False,
        thread_count=get_num_threads(), **settings,
    ).fit(task.x, task.y)  # fmt: skip
    return lambda: _between(fitted, model.predict(task.x_test))


def _between(levels: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Quantiles at LEVELS, (n, 99), between sorted ones at fewer levels, (n, len(levels))."""
    return np.array([np.interp(LEVELS, levels, row) for row in np.sort(quantiles, axis=1)])


def natural_gradient(task: Task, **settings: Any) -> Quantiles:
    from ngboost import NGBRegressor

    model = NGBRegressor(random_state=0, verbose=False, **settings).fit(task.x, task.y)
    return lambda: np.transpose([model.pred_dist(task.x_test).ppf(level) for level in LEVELS])


def pytabkit(task: Task, kind: str, **settings: Any) -> Quantiles:
    """RealMLP and TabM, which minimise the pinball loss of all levels."""
    import pytabkit
    import torch

    loss = f"multi_pinball({','.join(f'{a:.2f}' for a in LEVELS)})"
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    model = getattr(pytabkit, kind)(
        device=device, random_state=0, n_threads=torch.get_num_threads(), verbosity=0,
        train_metric_name=loss, val_metric_name=loss, **settings,
    ).fit(task.x.astype(np.float32), task.y)  # fmt: skip
    return lambda: np.sort(np.asarray(model.predict(task.x_test.astype(np.float32))), axis=1)


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
realmlp = partial(pytabkit, kind="RealMLP_TD_Regressor")
tabm = partial(pytabkit, kind="TabM_D_Regressor")
METHODS: dict[str, tuple[Callable[..., Quantiles], dict[str, dict[str, Any]]]] = {
    "default": (ours, {"": {}}),
    "default, adaptive": (adaptive, {"": {}}),
    "best": (ours, {"": {"quality": "best"}}),
    "forest": (forest, FOREST),
    "forest, mapped": (mapped_forest, FOREST),
    "lightgbm": (boosted, BOOSTED),
    "catboost": (catboost, {"": {"iterations": 1000}}),
    "ngboost": (natural_gradient, {"": {}}),
    "realmlp": (realmlp, {"": {"n_cv": 1}}),
    "realmlp-8": (realmlp, {"": {"n_cv": 8}}),
    "tabm": (tabm, {"": {"n_cv": 1}}),
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


def measure(job: tuple[str, str, str, int]) -> dict[str, Any]:
    """CRPS, coverage errors, width and seconds of one method on one split."""
    import torch

    name, method, setting, split = job
    torch.set_num_threads(1)
    fit, settings = METHODS[method]
    rows = task(name, split)
    start = time.perf_counter()
    predict = fit(rows, **settings[setting])
    middle = time.perf_counter()
    found = predict()
    end = time.perf_counter()
    return {
        "table": name, "method": method, "setting": setting, "split": split,
        **scores(found, rows.y_test),
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
    scores = (
        own[own.split.isin(_splits_to_choose(name))].groupby("setting").crps.agg(["mean", "size"])
    )
    if len(scores) < len(settings) or (scores["size"] < len(_splits_to_choose(name))).any():
        return None
    return str(scores["mean"].idxmin())


def _splits_to_choose(name: str) -> Sequence[int]:
    return CHOOSING[:1] if name in IN_TIME else CHOOSING


def missing(
    names: Sequence[str], methods: Sequence[str], splits: Sequence[int], path: Path
) -> list[tuple[str, str, str, int]]:
    """Measurements to make: those for choosing, and the reported ones of what was chosen.

    All first splits come before all second ones, so that an early end leaves whole rows.
    """
    results = read_frontier(path)
    done = set(zip(results["table"], results.method, results.setting, results.split, strict=True))
    jobs = []
    for name in names:
        for method in methods:
            if method == "default, adaptive" and name not in IN_TIME:
                continue
            setting = chosen(results, name, method)
            if setting is None:
                choosing = _splits_to_choose(name)
                jobs += [(name, method, s, i) for s in METHODS[method][1] for i in choosing]
            else:
                own = splits[:1] if name in IN_TIME else splits
                jobs += [(name, method, setting, i) for i in own]
    return sorted((job for job in jobs if job not in done), key=lambda job: job[-1])


def run(
    names: Sequence[str],
    methods: Sequence[str],
    splits: Sequence[int],
    processes: int,
    minutes: float,
    path: Path,
) -> None:
    """Measure what is missing, and store every measurement as it comes."""
    end = time.monotonic() + 60.0 * minutes
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        while jobs := missing(names, methods, splits, path):
            for result in pool.imap_unordered(measure, jobs):
                with path.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(
                    f"{result['table']:<22}{result['method']:<10}{result['crps']:<11.5g}"
                    f"{result['fit_seconds']:.1f} s",
                    flush=True,
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
    parser.add_argument("--tables", nargs="*", default=list(NAMES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--splits", type=int, default=len(REPORTED), help="how many of them")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--readme", type=Path, help="update the table between its marks")
    options = parser.parse_args()
    if options.what == "run":
        splits = REPORTED[: options.splits]
        run(
            options.tables,
            options.methods,
            splits,
            options.processes,
            options.minutes,
            options.results,
        )
    results = reported(read_frontier(options.results))
    print(frontier_summary(results))
    print(seconds(results).render("text"))
    if options.readme:
        text = options.readme.read_text(encoding="utf-8")
        text = between_marks(text, frontier_summary(results), "frontier")
        options.readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
