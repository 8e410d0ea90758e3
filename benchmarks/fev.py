"""Two tasks of fev-bench on their own protocol: 168 hours ahead, 20 windows, SQL and coverage.

    python benchmarks/fev.py --data ../shared/data                    # all that is not stored yet
    python benchmarks/fev.py --tasks uci_air_quality_1H --seeds 3
    python benchmarks/fev.py --modes updated refitted --seeds 10 --jobs 8
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
seasonal difference, each beside paths of independent steps; and sums over all series as well,
each in units of its seasonal difference, beside paths of independent series.

Outcomes of neighbouring hours and of series that move together say nearly the same, so a perfect
forecaster would miss 90% at many steps of 20 windows. How far is simulated: normal scores with the
correlations that the model found between steps and between series, where outcomes are known,
windows independent of each other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from datetime import date
from functools import partial
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
PERFECT = 100  # simulated perfect forecasters
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
LABELS = {"totals": "totals", "maxima": "maxima", "sums": "sums over all series"}


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


class Cell(NamedTuple):
    """One run."""

    task: str
    mode: str
    seed: int


def run(cell: Cell, data: Path, development: bool, settings: Record, threads: int) -> Record:
    """Fit once, then forecast and update window by window."""
    import torch

    from calibrant import Forecaster, GlobalNetwork
    from calibrant.errors import DataWarning

    warnings.simplefilter("ignore", DataWarning)  # the gaps of air quality are known
    torch.set_num_threads(threads)
    task = read_task(cell.task, data)
    cuts = window_starts(task, development)
    model = Forecaster(
        GlobalNetwork(**settings),
        window=WINDOW,
        horizon=HORIZON,
        future=None if task.known is None else KNOWN,
        series_id="id",
        time="time",
        random_state=cell.seed,
    )
    start, wall = time.process_time(), time.perf_counter()
    first = slice(0, cuts[0])
    model.fit(long_frame(task, first), known_frame(task, first))
    seconds = {
        "seconds_fit": time.process_time() - start,
        "wall_fit": time.perf_counter() - wall,
    }
    forecasts, days = [], []
    for window, cut in enumerate(cuts):
        if window:
            new = slice(cut - HORIZON, cut)
            model.update(long_frame(task, new), known_frame(task, new))
            if cell.mode == "refitted" and window % REFIT_EVERY == 0:
                model.refit(warm=True)
        ahead = slice(cut, cut + HORIZON)
        known = known_frame(task, ahead)
        forecasts.append(model.predict_dist(X=known))
        days.append(score_days(model.predict_paths(PATHS, X=known, random_state=0), task, cut))
    seconds["seconds"] = time.process_time() - start
    seconds["wall"] = time.perf_counter() - wall
    assert model.series_correlation_ is not None
    chance = by_chance(task, cuts, model.correlation_, model.series_correlation_)
    scores = score(task, cuts, forecasts) | average_days(days) | {"perfect": chance}
    return {**cell._asdict(), **seconds, **scores, "machine": describe_machine()}


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
    apart = np.stack([rng.permutation(series) for series in paths.swapaxes(0, 1)], axis=1)
    whole = complete.all(axis=0)  # days without a gap in any series
    truth = totals_by_day(task.values[:, cut : cut + HORIZON].transpose(0, 2, 1), scale)[0, whole]
    for name, drawn in (("joint", paths), ("independent", apart)):
        below = np.sum(totals_by_day(drawn, scale)[:, whole] < truth, axis=0)
        found[f"sums_{name}"] = (below + rng.random(len(truth))) / (PATHS + 1)
    return found


def totals_by_day(values: Array, scale: Array) -> Array:
    """Sums over series, in units of `scale` (n, 1, 1), and the hours of each day, (k, days)."""
    days = values.reshape(-1, len(scale), HORIZON // SEASON, SEASON)
    return np.asarray((days / scale).sum(axis=(1, 3)))


def average_days(days: list[dict[str, Array]]) -> Record:
    """Calibration of sums and maxima, and mean scores of paths, over all days."""
    scores: Record = {}
    for name in days[0]:
        values = np.concatenate([window[name] for window in days])
        if not len(values):  # no day without a gap
            continue
        if name.startswith(("totals", "maxima", "sums")):
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
    scores: Record = {
        "sql": float(np.mean(sql)),
        "wql": float(np.mean(wql)),
        "sql_by_window": np.round(sql, 5).tolist(),
    }
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


def by_chance(task: Task, cuts: list[int], steps: Array, series: Array) -> Record:
    """What perfect forecasters of dependent steps and series have in as many windows.

    Parameters
    ----------
    steps, series : arrays of shape (H, H) and (S, S)
        Correlation of normal scores; that of two outcomes is the product.
    """
    from scipy.special import ndtr

    rng = np.random.default_rng(0)
    gaps = np.isnan(
        np.stack([task.values[:, cut : cut + HORIZON].transpose(0, 2, 1) for cut in cuts])
    ).reshape(-1, HORIZON)
    left, right = np.linalg.cholesky(series), np.linalg.cholesky(steps)
    spread = np.sqrt(steps[:SEASON, :SEASON].sum())  # of the sum of a day
    found = []
    for _ in range(PERFECT):
        z = left @ rng.standard_normal((len(cuts), len(series), HORIZON)) @ right.T
        z = np.where(gaps, np.nan, z.reshape(-1, HORIZON))
        totals = z.reshape(len(z), -1, SEASON).sum(axis=2).ravel() / spread
        of_steps = calibration(ndtr(z))
        by_step = np.array(of_steps["coverage_by_step"])
        of_totals = calibration(ndtr(totals[np.isfinite(totals)])[:, None])
        near = np.mean(np.abs(by_step - 0.9) <= 0.02)
        found.append([*of_steps["coverage"], near, of_steps["ecpe"], of_totals["ecpe"]])
    names = ("least", "mean", "most", "within_2_points", "ecpe", "totals_ecpe")
    low, middle, high = np.quantile(found, [0.05, 0.5, 0.95], axis=0)
    return {
        name: [round(float(q[at]), 5) for q in (low, middle, high)] for at, name in enumerate(names)
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


def run_missing(options: argparse.Namespace) -> list[Record]:
    """Run what is not stored, and add each record the moment it is there."""
    from calibrant.engines import run_in_processes

    known = [] if options.development else stored(options.out)
    done = {Cell(r["task"], r["mode"], r["seed"]) for r in known}
    seeds, modes = range(options.seeds), options.modes
    wanted = [Cell(task, mode, seed) for seed in seeds for task in options.tasks for mode in modes]
    function = partial(
        run,
        data=options.data,
        development=options.development,
        settings=json.loads(options.settings),
        threads=options.threads,
    )
    missing = [cell for cell in wanted if cell not in done]
    found = []
    for cell, record in run_in_processes(function, missing, workers=options.jobs):
        if record is None:
            raise SystemExit(f"The process of {cell} died twice, mostly for lack of memory.")
        print(f"{cell}: SQL {record['sql']:.4f}, {record['wall']:.0f} s", file=sys.stderr)
        found.append(record)
        if not options.development:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            with open(options.out, "a") as file:
                print(json.dumps(record), file=file)
    return found


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
    for task, of_task in table.groupby("task", sort=False):
        name = str(task)
        figures = ", ".join(f"{who} {sql:.3f}" for who, sql in list(PUBLISHED[name].items())[1:])
        print(f"\n{name}; published SQL: {figures}")
        for mode, runs in of_task.groupby("mode", sort=False):
            show_runs(str(mode), runs)
            print(
                f"    CPU seconds: {runs['seconds_fit'].mean():.0f} to fit, "
                f"{runs['seconds'].mean():.0f} in all; {runs['wall'].mean():.0f} s went by"
            )
    print("\n" + "\n".join(dict.fromkeys(table["machine"])))


def show_runs(mode: str, runs: pd.DataFrame) -> None:
    """Print the scores and the calibration of one mode."""
    spread = f" +- {runs['sql'].std():.4f}" if len(runs) > 1 else ""
    print(f"  {mode}, {len(runs)} seeds: SQL {runs['sql'].mean():.4f}{spread}, WQL "
          f"{runs['wql'].mean():.4f}")  # fmt: skip
    by_step = np.mean(runs["coverage_by_step"].tolist(), axis=0)
    perfect = runs["perfect"].iloc[0]
    near = np.mean([np.abs(np.subtract(row, 0.9)) <= 0.02 for row in runs["coverage_by_step"]])
    print(
        f"    90% intervals cover {by_step.min():.1%} / {by_step.mean():.1%} / {by_step.max():.1%} "
        f"(least, mean, most of 168 steps), 88% to 92% at {near:.0%} of the steps; a perfect "
        f"forecaster {perfect['least'][1]:.1%} / {perfect['mean'][1]:.1%} / "
        f"{perfect['most'][1]:.1%} and {perfect['within_2_points'][1]:.0%} (medians; 90% of its "
        f"means lie in {perfect['mean'][0]:.1%} to {perfect['mean'][2]:.1%})"
    )
    days = np.mean(runs["coverage_by_day"].tolist(), axis=0)
    print(f"    by day: {', '.join(f'{day:.1%}' for day in days)}")
    ecpe, floor = runs["ecpe"].mean(), runs["floor"].mean()
    print(
        f"    ECPE of a step {ecpe:.4f}, {ecpe / floor:.2f} floors of {floor:.4f}; a perfect "
        f"forecaster {perfect['ecpe'][1]:.4f} ({perfect['ecpe'][0]:.4f} to "
        f"{perfect['ecpe'][2]:.4f}), of totals {perfect['totals_ecpe'][1]:.4f} "
        f"({perfect['totals_ecpe'][0]:.4f} to {perfect['totals_ecpe'][2]:.4f})"
    )
    for how in ("joint", "independent"):
        parts = []
        for what in ("totals", "maxima", "sums"):
            if f"{what}_{how}" not in runs:
                continue
            found = pd.DataFrame(runs[f"{what}_{how}"].tolist())
            parts.append(
                f"{LABELS[what]} ECPE {found['ecpe'].mean():.4f} "
                f"({found['ecpe'].mean() / found['floor'].mean():.1f} floors)"
            )
        print(
            f"    days, {how}: {', '.join(parts)}, energy score "
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
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument("--threads", type=int, default=1, help="threads of a run")
    parser.add_argument("--settings", default="{}", help="JSON: parameters of GlobalNetwork")
    parser.add_argument("--development", action="store_true", help="windows before the 20")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/fev.jsonl"))
    options = parser.parse_args()
    check_protocol(options.tasks, options.data)
    found = [] if options.show else run_missing(options)
    show(found if options.development else stored(options.out))


if __name__ == "__main__":
    main()
