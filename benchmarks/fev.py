"""Two tasks of fev-bench on their own protocol: 168 hours ahead, 20 windows, SQL and coverage.

    python benchmarks/fev.py --data ../shared/data                    # all that is not stored yet
    python benchmarks/fev.py --tasks uci_air_quality_1H --seeds 3
    python benchmarks/fev.py --show                                   # prints what is there
    python benchmarks/fev.py --development                            # earlier origins

The check of the protocol comes first: the MASE of seasonal naive must be the published one. A
`Forecaster` is fitted once on the rows before the first window; after each window its 168 hours
are given to `update`, which leaves the weights and moves the recalibration. "refitted" also goes
on training before every second window (`refit(warm=True)`). Settings were chosen with
--development, on the windows before the 20 that count. Finished runs are kept in --out and not
repeated.

SQL is twice the pinball loss of the levels .1 ... .9 over the mean absolute seasonal difference of
the history; WQL the same over the mean absolute outcome. Joint paths are scored over days, the
blocks of 24 steps: PIT values of their sums and maxima, energy and variogram score in units of the
seasonal difference, each beside paths of independent steps.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Record = dict[str, Any]
Array = NDArray[np.float64]

HORIZON, WINDOWS, SEASON, WINDOW = 168, 20, 24, 336
LEVELS = np.arange(1, 10) / 10
PATHS = 500
REFIT_EVERY = 2  # windows
ETT = ["HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"]
AIR = ["CO(GT)", "C6H6(GT)", "NOx(GT)", "NO2(GT)"]
KNOWN = ["T", "RH", "AH"]
# MASE of seasonal naive, and SQL of the best trained and the best pretrained model.
PUBLISHED = {
    "ETT_1H": {"naive MASE": 1.322716, "seasonal naive": 1.207, "TFT": 0.951, "TS-ICL": 0.854},
    "uci_air_quality_1H": {
        "naive MASE": 1.442474,
        "seasonal naive": 1.384,
        "DeepAR": 1.111,
        "Chronos-2": 0.798,
    },
}
MODES = ("updated", "refitted")


class Task(NamedTuple):
    """Targets (items, T, m) on a common clock, and covariates known ahead, (T, c)."""

    values: Array
    names: list[str]
    times: pd.DatetimeIndex
    known: pd.DataFrame | None


def read_task(name: str, data: Path) -> Task:
    """Read the series of a task."""
    if name == "ETT_1H":
        frames = [pd.read_csv(data / "ett" / f"{item}.csv.gz") for item in ("ETTh1", "ETTh2")]
        values = np.stack([frame[ETT].to_numpy(float) for frame in frames])
        return Task(values, ETT, pd.DatetimeIndex(pd.to_datetime(frames[0].iloc[:, 0])), None)
    frame = pd.read_csv(data / "air_quality.csv.gz").replace(-200, np.nan)
    times = pd.date_range("2004-03-10 18:00", periods=len(frame), freq="h")
    known = frame[KNOWN].ffill().set_axis(times)
    return Task(frame[AIR].to_numpy(float)[None], AIR, times, known)


def long_frame(task: Task, rows: slice) -> pd.DataFrame:
    """Rows of all items as a frame of id, time and targets."""
    parts = [
        pd.DataFrame(item[rows], columns=task.names).assign(id=f"item {i}", time=task.times[rows])
        for i, item in enumerate(task.values)
    ]
    return pd.concat(parts, ignore_index=True)


def known_frame(task: Task, rows: slice) -> pd.DataFrame | None:
    """Covariates of all items as a frame of id, time and columns."""
    if task.known is None:
        return None
    found = task.known.iloc[rows].assign(time=task.times[rows])
    parts = [found.assign(id=f"item {i}") for i in range(len(task.values))]
    return pd.concat(parts, ignore_index=True)


# ---- running ------------------------------------------------------------------------------------


def run(name: str, mode: str, seed: int, data: Path, cuts: list[int], settings: Record) -> Record:
    """Fit once, then forecast and update window by window."""
    from calibrant import Forecaster, GlobalNetwork

    task = read_task(name, data)
    model = Forecaster(
        GlobalNetwork(**settings),
        window=WINDOW,
        horizon=HORIZON,
        future=None if task.known is None else KNOWN,
        series_id="id",
        time="time",
        random_state=seed,
    )
    start = time.process_time()
    first = slice(0, cuts[0])
    model.fit(long_frame(task, first), known_frame(task, first))
    fitted = time.process_time() - start
    forecasts, days = [], []
    for window, cut in enumerate(cuts):
        if window:
            new = slice(cut - HORIZON, cut)
            model.update(long_frame(task, new), known_frame(task, new))
            if mode == "refitted" and window % REFIT_EVERY == 0:
                model.refit(warm=True)
        ahead = slice(cut, cut + HORIZON)
        known = known_frame(task, ahead)
        forecasts.append(model.predict_dist(X=known))
        days.append(score_days(model.predict_paths(PATHS, X=known, random_state=0), task, cut))
    seconds = time.process_time() - start
    scores = score(task, cuts, forecasts) | average_days(days)
    return {"seconds_fit": fitted, "seconds": seconds, **scores}


def score_days(paths: Array, task: Task, cut: int) -> dict[str, Array]:
    """Scores of complete days by joint paths, and by paths of independent steps."""
    from calibrant.metrics import energy_score, variogram_score

    rng = np.random.default_rng(0)
    scale = seasonal_scale(task.values[:, :cut]).reshape(-1, 1, 1)  # items x targets
    y = task.values[:, cut : cut + HORIZON].transpose(0, 2, 1)
    y = y.reshape(len(scale), -1, SEASON) / scale
    complete = np.isfinite(y).all(axis=2)
    y = y[complete]  # days, steps
    found = {}
    for name, drawn in (("joint", paths), ("independent", rng.permuted(paths, axis=0))):
        days = drawn.reshape(PATHS, len(scale), -1, SEASON) / scale
        days = days[:, complete].transpose(1, 0, 2)  # days, paths, steps
        for what, of in (("totals", np.sum), ("maxima", np.max)):
            below = np.sum(of(days, axis=2) < of(y, axis=1)[:, None], axis=1)
            found[f"{what}_{name}"] = (below + rng.random(len(y))) / (PATHS + 1)
        few = days[:, :100]
        found[f"energy_{name}"] = energy_score(few, y) if len(y) else np.zeros(0)
        found[f"variogram_{name}"] = variogram_score(few, y) if len(y) else np.zeros(0)
    return found


def average_days(days: list[dict[str, Array]]) -> Record:
    """Calibration of sums and maxima, and mean scores of paths, over all days."""
    scores: Record = {}
    for name in days[0]:
        values = np.concatenate([window[name] for window in days])
        if name.startswith(("totals", "maxima")):
            found = calibration(values[:, None])
            scores[name] = {key: found[key] for key in ("coverage", "ecpe", "floor")}
        else:
            scores[name] = float(values.mean())
    return scores


def score(task: Task, cuts: list[int], forecasts: list[Any]) -> Record:
    """SQL, WQL, coverage and calibration of all windows."""
    items, _, m = task.values.shape
    sql, wql, pits = [], [], []
    for cut, dist in zip(cuts, forecasts, strict=True):
        y = task.values[:, cut : cut + HORIZON].transpose(0, 2, 1)  # items, targets, steps
        quantiles = dist.ppf(LEVELS).reshape(items, m, HORIZON, len(LEVELS))
        away = y[..., None] - quantiles
        loss = 2 * np.maximum(LEVELS * away, (LEVELS - 1) * away).mean(axis=-1)
        past = task.values[:, :cut]
        scaled = loss / seasonal_scale(past)[..., None]
        sql.append(np.nanmean(scaled, axis=(0, 2)).mean())
        wql.append(np.mean(np.nansum(loss, axis=(0, 2)) / np.nansum(np.abs(y), axis=(0, 2))))
        pit = dist.cdf(np.nan_to_num(y.ravel())).reshape(-1, HORIZON)
        pits.append(np.where(np.isfinite(y.reshape(-1, HORIZON)), pit, np.nan))
    scores: Record = {"sql": float(np.mean(sql)), "wql": float(np.mean(wql))}
    return scores | calibration(np.concatenate(pits))


def calibration(pits: Array) -> Record:
    """Coverage of 90% intervals and ECPE, by step, from PIT values (windows x series, steps)."""
    from calibrant import noise_floor

    there = np.isfinite(pits)
    distance = np.where(there, 2 * np.abs(pits - 0.5), np.nan)
    covered = np.where(there, distance <= 0.9, np.nan)
    by_step = np.nanmean(covered, axis=0)
    levels = np.arange(1, 100) / 100
    inside = [np.nanmean(np.where(there, distance <= p, np.nan), axis=0) - p for p in levels]
    n = round(float(there.sum(axis=0).mean()))
    days = np.array_split(covered, max(1, len(by_step) // SEASON), axis=1)
    return {
        "coverage": [float(by_step.min()), float(by_step.mean()), float(by_step.max())],
        "coverage_by_step": by_step.round(4).tolist(),
        "coverage_by_day": [float(np.nanmean(day)) for day in days],
        "ecpe": float(np.abs(inside).mean()),
        "floor": noise_floor(n).ecpe,
        "outcomes_per_step": n,
    }


def seasonal_scale(past: Array) -> Array:
    """Mean absolute seasonal difference of each item and target, gaps left out."""
    return np.asarray(np.nanmean(np.abs(past[:, SEASON:] - past[:, :-SEASON]), axis=1))


def naive_mase(task: Task, cuts: list[int]) -> float:
    """MASE of the last day repeated, its gaps filled with the value before."""
    errors = []
    for cut in cuts:
        past, future = task.values[:, :cut], task.values[:, cut : cut + HORIZON]
        last = np.stack([pd.DataFrame(item).ffill().to_numpy()[-SEASON:] for item in past])
        away = np.abs(future - np.tile(last, (1, HORIZON // SEASON, 1)))
        errors.append(np.nanmean(away / seasonal_scale(past)[:, None], axis=(0, 1)).mean())
    return float(np.mean(errors))


def window_starts(task: Task, development: bool) -> list[int]:
    """First rows of the 20 windows, or of those before them on which settings were chosen."""
    end = task.values.shape[1]
    first = end - WINDOWS * HORIZON
    if not development:
        return list(range(first, end, HORIZON))
    # Half of a short history stays for training.
    count = min(WINDOWS, first // 2 // HORIZON - 5)
    return list(range(first - count * HORIZON, first, HORIZON))


# ---- storing and printing -----------------------------------------------------------------------


def describe_machine() -> str:
    """What a figure was measured on and with."""
    import torch

    where = f"{torch.get_num_threads()} of {os.cpu_count()} CPU cores"
    if torch.cuda.is_available():
        where = torch.cuda.get_device_name()
    return f"{date.today()}, Python {platform.python_version()}, torch {torch.__version__}, {where}"


def stored(path: Path) -> list[Record]:
    """Records of finished runs."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_missing(options: argparse.Namespace, path: Path) -> None:
    """Run what is not stored, and add each record the moment it is there."""
    done = {(r["task"], r["mode"], r["seed"]) for r in stored(path)}
    for seed in range(options.seeds):
        for name in options.tasks:
            for mode in options.modes:
                if (name, mode, seed) in done:
                    continue
                cuts = window_starts(read_task(name, options.data), options.development)
                settings = json.loads(options.settings)
                found = run(name, mode, seed, options.data, cuts, settings)
                key = {"task": name, "mode": mode, "seed": seed}
                record = {**key, **found, "machine": describe_machine()}
                print(json.dumps(record), flush=True)
                if not options.development:
                    with open(path, "a") as file:
                        print(json.dumps(record), file=file)


def check_protocol(tasks: list[str], data: Path) -> None:
    """Print the MASE of seasonal naive beside the published one."""
    for name in tasks:
        task = read_task(name, data)
        found, wanted = naive_mase(task, window_starts(task, False)), PUBLISHED[name]["naive MASE"]
        print(f"{name}: MASE of seasonal naive {found:.6f}, published {wanted:.6f}")
        if abs(found - wanted) > 1e-6:
            raise SystemExit("The protocol is not the published one.")


def show(records: list[Record]) -> None:
    """Print the mean over seeds, and their standard deviation."""
    if not records:
        return
    table = pd.DataFrame(records)
    for name, of_task in table.groupby("task", sort=False):
        figures = ", ".join(f"{who} {sql:.3f}" for who, sql in list(PUBLISHED[name].items())[1:])
        print(f"\n{name}; published SQL: {figures}")
        for mode, runs in of_task.groupby("mode", sort=False):
            show_runs(str(mode), runs)
            print(
                f"    {runs['seconds_fit'].mean():.0f} s to fit, {runs['seconds'].mean():.0f} s "
                "in all"
            )
    print("\n" + "\n".join(dict.fromkeys(table["machine"])))


def show_runs(mode: str, runs: pd.DataFrame) -> None:
    """Print the scores and the calibration of one mode."""
    spread = f" +- {runs['sql'].std():.4f}" if len(runs) > 1 else ""
    print(f"  {mode}, {len(runs)} seeds: SQL {runs['sql'].mean():.4f}{spread}, WQL "
          f"{runs['wql'].mean():.4f}")  # fmt: skip
    n = runs["outcomes_per_step"].iloc[0]
    by_step = np.mean(runs["coverage_by_step"].tolist(), axis=0)
    band = 1.96 * np.sqrt(0.9 * 0.1 / n)
    print(
        f"    90% intervals cover {by_step.min():.1%} / {by_step.mean():.1%} / {by_step.max():.1%} "
        f"(least, mean, most of 168 steps); {np.mean(np.abs(by_step - 0.9) <= band):.0%} of the "
        f"steps lie within 90% +- {band:.1%}, where 95% of them would if calibrated and the {n} "
        "outcomes independent"
    )
    days = np.mean(runs["coverage_by_day"].tolist(), axis=0)
    print(f"    by day: {', '.join(f'{day:.1%}' for day in days)}")
    ecpe, floor = runs["ecpe"].mean(), runs["floor"].mean()
    print(f"    ECPE of a step {ecpe:.4f}, {ecpe / floor:.2f} floors of {floor:.4f}")
    for how in ("joint", "independent"):
        parts = []
        for what in ("totals", "maxima"):
            found = pd.DataFrame(runs[f"{what}_{how}"].tolist())
            parts.append(
                f"{what} ECPE {found['ecpe'].mean():.4f} "
                f"({found['ecpe'].mean() / found['floor'].mean():.1f} floors)"
            )
        print(
            f"    days, {how} steps: {', '.join(parts)}, energy score "
            f"{runs[f'energy_{how}'].mean():.3f}, variogram score "
            f"{runs[f'variogram_{how}'].mean():.1f}"
        )


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("CALIBRANT_DATA", "../shared/data"))
    )
    parser.add_argument("--tasks", nargs="+", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument("--modes", nargs="+", default=["updated"], choices=MODES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--settings", default="{}", help="JSON: parameters of GlobalNetwork")
    parser.add_argument("--development", action="store_true", help="windows before the 20")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/fev.jsonl"))
    options = parser.parse_args()
    check_protocol(options.tasks, options.data)
    if not options.show:
        run_missing(options, options.out)
    if not options.development:
        show(stored(options.out))


if __name__ == "__main__":
    main()
