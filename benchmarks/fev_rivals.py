"""Rivals of the network for all steps on the two tasks of fev-bench, on the CPU.

    python benchmarks/fev_rivals.py --data ../shared/data             # all that is not stored yet
    python benchmarks/fev_rivals.py --rivals LightGBM NHITS
    python benchmarks/fev_rivals.py --show

The protocol and the scores are those of `fev.py`, whose stored runs are shown beside. AutoETS and
NHITS need statsforecast and neuralforecast, which ask for pandas below 3 and run with it in fact:
``pip install --no-deps --target FOLDER`` and PYTHONPATH.

- seasonal naive: the last day repeated, with normal intervals of its own errors (statsforecast);
- AutoETS: season 24, additive, fitted again before every fourth window only, on the last 1,008
  hours of each series;
- NHITS: a small one of neuralforecast, 336 hours of input, quantile loss, fitted once;
- LightGBM: a model for each quantile of all series and steps, fitted once, on the latest values at
  the same hour, means of the last day and week, hour, weekday, step and known covariates, in units
  of the window's own level and spread.

Gaps are filled with the value of the day before.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fev
import numpy as np
import pandas as pd
from fev import HORIZON, SEASON, Array, Record, Task

LEVELS = np.array([0.05, *fev.LEVELS, 0.95])  # the outer ones for coverage of 90%
WINDOW = 336
ETS_ROWS = 1008
NHITS_STEPS, NHITS_UNITS = 500, 256
FLOOR = 0.1  # of the spread so far, added to that of a window: a calm one must not explode
TREES, ORIGINS, STEPS_EACH = 200, 400, 24  # of LightGBM; origins of a series, steps of an origin

Forecast = Callable[[Task, list[int]], list[Array]]  # quantiles (S, H, Q) of every window


def filled(values: Array) -> Array:
    """Targets (S, T), gaps with the value of the day before, then the last one."""
    frame = pd.DataFrame(values.T)
    for _ in range(7):
        frame = frame.fillna(frame.shift(SEASON))
    return np.asarray(frame.ffill().bfill().to_numpy().T)


def stacked(task: Task) -> Array:
    """Every target of every item as a series, (S, T)."""
    return task.values.transpose(0, 2, 1).reshape(-1, task.values.shape[1])


def with_statsforecast(make: Callable[[], Any], rows: int | None) -> Forecast:
    """Fit a model of statsforecast to each series before each window."""

    def forecast(task: Task, cuts: list[int]) -> list[Array]:
        found = []
        for cut in cuts:
            past = filled(stacked(task)[:, :cut])
            found.append(np.stack([one(y if rows is None else y[-rows:]) for y in past]))
        return found

    def one(y: Array) -> Array:
        answer = make().forecast(y=y, h=HORIZON, level=[90, 80, 60, 40, 20])
        low = [answer[f"lo-{level}"] for level in (90, 80, 60, 40, 20)]
        high = [answer[f"hi-{level}"] for level in (20, 40, 60, 80, 90)]
        return np.sort(np.stack([*low, answer["mean"], *high], axis=1), axis=1)

    return forecast


def seasonal_naive(task: Task, cuts: list[int]) -> list[Array]:
    from statsforecast.models import SeasonalNaive

    return with_statsforecast(lambda: SeasonalNaive(SEASON), None)(task, cuts)


def auto_ets(task: Task, cuts: list[int]) -> list[Array]:
    from statsforecast.models import AutoETS

    return with_statsforecast(lambda: AutoETS(SEASON, model="AZA"), ETS_ROWS)(task, cuts)


def nhits(task: Task, cuts: list[int]) -> list[Array]:
    """Fit once before the first window, forecast from the rows before each."""
    from neuralforecast import NeuralForecast
    from neuralforecast.losses.pytorch import MQLoss
    from neuralforecast.models import NHITS

    known = [] if task.known is None else fev.KNOWN

    def frame(rows: slice, targets: bool) -> pd.DataFrame:
        parts = []
        values = filled(stacked(task)[:, : rows.stop]) if targets else None
        for at in range(stacked(task).shape[0]):
            part = pd.DataFrame({"unique_id": f"s{at:02}", "ds": task.times[rows]})
            if values is not None:
                part["y"] = values[at, rows]
            for name in known:
                part[name] = task.known[name].to_numpy()[rows]  # type: ignore[index]
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    model = NHITS(
        h=HORIZON,
        input_size=WINDOW,
        futr_exog_list=known or None,
        loss=MQLoss(quantiles=LEVELS.tolist()),
        max_steps=NHITS_STEPS,
        mlp_units=3 * [[NHITS_UNITS, NHITS_UNITS]],
        windows_batch_size=128,
        scaler_type="standard",
        random_seed=0,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    networks = NeuralForecast(models=[model], freq="h")
    networks.fit(df=frame(slice(0, cuts[0]), True))
    found = []
    for cut in cuts:
        ahead = frame(slice(cut, cut + HORIZON), False) if known else None
        past = frame(slice(cut - 4 * WINDOW, cut), True)
        table = networks.predict(df=past, futr_df=ahead)
        table = table.sort_values(["unique_id", "ds"])
        columns = [name for name in table.columns if name.startswith("NHITS")]
        found.append(np.sort(table[columns].to_numpy(float).reshape(-1, HORIZON, 11), axis=2))
    return found


def lightgbm(task: Task, cuts: list[int]) -> list[Array]:
    """Fit one model a quantile before the first window."""
    from lightgbm import LGBMRegressor

    rng = np.random.default_rng(0)
    values, holes = filled(stacked(task)), np.isnan(stacked(task))
    rows, targets = [], []
    for series in range(len(values)):
        for origin in rng.integers(WINDOW, cuts[0] - HORIZON, ORIGINS):
            steps = rng.integers(1, HORIZON + 1, STEPS_EACH)
            steps = steps[~holes[series, origin + steps - 1]]
            inputs, level, scale = _features(task, values, series, int(origin), steps)
            rows.append(inputs)
            targets.append((values[series, origin + steps - 1] - level) / scale)
    X, y = np.concatenate(rows), np.concatenate(targets)
    models = [
        LGBMRegressor(
            objective="quantile", alpha=q, n_estimators=TREES, n_jobs=1, verbose=-1, random_state=0
        ).fit(X, y)
        for q in LEVELS
    ]
    found = []
    for cut in cuts:
        window = []
        for series in range(len(values)):
            past = values.copy()
            past[:, cut:] = np.nan  # nothing of what comes is used
            inputs, level, scale = _features(task, past, series, cut, np.arange(1, HORIZON + 1))
            window.append(level + scale * np.stack([m.predict(inputs) for m in models], axis=1))
        found.append(np.sort(np.stack(window), axis=2))
    return found


def _features(
    task: Task, values: Array, series: int, origin: int, steps: Any
) -> tuple[Array, float, float]:
    """Inputs of some steps after an origin (its last row is ``origin - 1``), level and scale."""
    past = values[series, origin - WINDOW : origin]
    level, scale = float(past.mean()), float(np.abs(past - past.mean()).mean())
    scale += FLOOR * float(np.abs(values[series, :origin] - level).mean())
    by_hour = (past.reshape(-1, SEASON) - level) / scale
    phase = (steps - 1) % SEASON
    times = task.times[origin + steps - 1]
    columns = [
        steps,
        np.full(len(steps), series),
        times.hour,
        times.dayofweek,
        by_hour[-1, phase],
        by_hour[-2, phase],
        by_hour[-7, phase],
        by_hour[:, phase].mean(axis=0),
        np.full(len(steps), by_hour[-1].mean()),
        np.full(len(steps), by_hour[-7:].mean()),
        np.full(len(steps), by_hour[-1, -1]),
    ]
    if task.known is not None:
        ahead = task.known.to_numpy()
        usual = ahead[origin - WINDOW : origin].mean(axis=0)
        columns += list((ahead[origin + steps - 1] - usual).T)
    return np.column_stack(columns), level, scale


RIVALS: dict[str, Forecast] = {
    "seasonal naive": seasonal_naive,
    "AutoETS": auto_ets,
    "NHITS": nhits,
    "LightGBM": lightgbm,
}


EVERY = {"AutoETS": 4}  # of the 20 windows; all of them for the others


def run(task_name: str, rival: str, data: Path) -> Record:
    """Forecast and score the windows."""
    from calibrant.distributions import Quantiles

    task = fev.read_task(task_name, data)
    cuts = fev.window_starts(task, False)[:: EVERY.get(rival, 1)]
    start, wall = time.process_time(), time.perf_counter()
    found = RIVALS[rival](task, cuts)
    seconds = {"seconds": time.process_time() - start, "wall": time.perf_counter() - wall}
    apart = 1e-9 * np.arange(len(LEVELS))
    dists = [Quantiles(LEVELS, each.reshape(-1, len(LEVELS)) + apart) for each in found]
    scores = fev.score(task, cuts, dists)
    key = {"task": task_name, "rival": rival}
    return {**key, **seconds, **scores, "machine": fev.describe_machine()}


def show(records: list[Record], ours: list[Record]) -> None:
    """Print a table for each task."""
    for task in fev.PUBLISHED:
        rows = [r | {"rival": f"ours, {r['mode']}, seed {r['seed']}"} for r in ours]
        rows = [r for r in (*rows, *records) if r["task"] == task]
        step = max(EVERY.values())
        head = f"| | SQL | of every {step}th window | WQL | 90% covers: least, mean, most"
        print(f"\n{task}\n\n{head} | ECPE | CPU seconds |\n|---|---|---|---|---|---|---|")
        for r in rows:
            windows = np.array(r.get("sql_by_window", [np.nan]))  # older runs have none
            every = EVERY.get(r["rival"], 1)
            whole = f"{r['sql']:.3f}" if every == 1 else ""
            least, mean, most = r["coverage"]
            print(
                f"| {r['rival']} | {whole} | {windows[:: step // every].mean():.3f} | "
                f"{r['wql']:.3f} | {least:.0%}, {mean:.1%}, {most:.0%} | {r['ecpe']:.3f} | "
                f"{r['seconds']:.0f} |"
            )
    print("\n" + "\n".join(dict.fromkeys(r["machine"] for r in records)))


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("CALIBRANT_DATA", "../shared/data"))
    )
    tasks = list(fev.PUBLISHED)
    parser.add_argument("--tasks", nargs="+", default=tasks, choices=tasks)
    parser.add_argument("--rivals", nargs="+", default=list(RIVALS), choices=list(RIVALS))
    parser.add_argument("--show", action="store_true", help="run nothing")
    results = Path("benchmarks/results")
    parser.add_argument("--ours", type=Path, default=results / "fev.jsonl", help="runs of fev.py")
    parser.add_argument("--out", type=Path, default=results / "fev_rivals.jsonl")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {(r["task"], r["rival"]) for r in fev.stored(options.out)}
    for task in [] if options.show else options.tasks:
        for rival in options.rivals:
            if (task, rival) in done:
                continue
            try:
                record = run(task, rival, options.data)
            except ImportError as error:
                print(f"{rival} is left out: {error}", file=sys.stderr)
                continue
            print(f"{task}, {rival}: SQL {record['sql']:.4f}", file=sys.stderr)
            with open(options.out, "a") as file:
                print(json.dumps(record), file=file)
    show(fev.stored(options.out), fev.stored(options.ours))


if __name__ == "__main__":
    main()
