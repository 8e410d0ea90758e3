"""Memory and speed on tables larger than memory: python benchmarks/scale.py.

For each number of rows, of 20 columns in Parquet files: one pass that makes the plan, one epoch of
training from the stream and from memory, predictions to Parquet, and an evaluation. Each runs in a
process of its own, whose peak of memory is printed; "without rows" is that of a process that has
only imported everything. Training from memory is left out where --in-memory is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from felt import peak_memory

COLUMNS = 20
FILE_ROWS = 250_000
CLOCKS = {"seconds": "wall clock", "cpu": "CPU"}  # the latter on a machine that others use
TASKS = ("stream", "memory", "predict", "evaluate")


def main() -> None:
    """Print a table, and whether memory is flat and time linear."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--in-memory", type=float, default=1e6, help="most rows to train in memory")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=256, help="rows of a step")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(*options.child, device=options.device, batch=options.batch)))
        return
    print(f"calibrant on {machine(options.device)}, one thread, {date.today()}, ", end="")
    print(", ".join(f"{each} {version(each)}" for each in ("torch", "pyarrow", "numpy")))
    with tempfile.TemporaryDirectory() as work:
        how = ["--device", options.device, "--batch", str(options.batch)]
        run = partial(child, how)
        print(f"without rows: {run('import', work, work)['memory']:.0f} MB\n")
        print(
            f"{'rows':>10}  {'task':<8}  {'seconds':>8}  {'rows/s':>9}  {'CPU s':>7}  "
            f"{'rows/CPU s':>10}  {'peak MB':>8}"
        )
        found = {}
        for rows in map(int, options.rows):
            folder = Path(work) / str(rows)
            write_table(folder, rows)
            for task in options.tasks:
                if task == "memory" and rows > options.in_memory:
                    continue
                if task in ("predict", "evaluate") and not (Path(work) / "model").exists():
                    run("model", str(folder), work)
                result = found[task, rows] = run(task, str(folder), work)
                show(rows, task, result)
    summarise(found)


def machine(device: str) -> str:
    """Name of the GPU, or of the kind of CPU."""
    return torch.cuda.get_device_name(device) if device != "cpu" else platform.machine()


def child(how: list[str], task: str, folder: str, work: str) -> dict[str, float]:
    """Measure a task in a process of its own, on one thread."""
    command = [sys.executable, __file__, *how, "--child", task, folder, work]
    single = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=single, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_table(folder: Path, rows: int) -> None:
    """Write files of 250,000 rows with noise that depends on the row."""
    folder.mkdir()
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        n = min(FILE_ROWS, rows - start)
        rng = np.random.default_rng([rows, i])
        x = rng.normal(size=(n, COLUMNS - 1))
        y = x[:, 0] + np.sin(2 * x[:, 1]) + np.exp(0.5 * x[:, 2]) * rng.normal(size=n)
        names = [f"x{j}" for j in range(COLUMNS - 1)]
        frame = pd.DataFrame(x, columns=names).assign(y=y)
        frame.to_parquet(folder / f"{i:03d}.parquet", index=False)


def make_model(device: str, batch: int) -> Any:
    """One epoch of a network of mean and variance."""
    from calibrant import HeteroscedasticRegressor

    return HeteroscedasticRegressor(
        epochs=1, hidden=(128, 128), batch_size=batch, random_state=0, device=device
    )


def measure(task: str, folder: str, work: str, *, device: str, batch: int) -> dict[str, float]:
    """Seconds, rows per second and peak memory of a task."""
    from calibrant import ParquetSource, evaluate_source, load_model, predict_parquet
    from calibrant.estimators.train import train

    if task == "import":
        return {"memory": peak_memory()}
    source = ParquetSource(folder, target="y", in_memory_rows=0)
    model = make_model(device, batch)
    if task == "model":
        model.fit(source).save(f"{work}/model")
        return {}
    start, cpu = time.perf_counter(), time.process_time()
    found: dict[str, float] = {}
    n_rows = source.n_rows
    if task == "predict":
        predict_parquet(load_model(f"{work}/model"), source, f"{folder}-predicted")
    elif task == "evaluate":
        evaluate_source(load_model(f"{work}/model"), source)
    else:
        if task == "stream":
            plan = model.plan(source)
        else:  # the same rows are held out, 20,000 at most
            frame = pd.read_parquet(folder)
            fraction = min(0.2, 20_000 / n_rows)
            model.set_params(training__validation_fraction=fraction)
            plan = model.plan(frame.drop(columns="y"), frame["y"])
        found["plan"] = time.perf_counter() - start
        n_rows, start, cpu = plan.groups[0].train.n_rows, time.perf_counter(), time.process_time()
        train([plan])  # copies the losses to the host: nothing is left to do on the device
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return found | {"rows": n_rows, "seconds": seconds, "cpu": cpu, "memory": peak_memory()}


def show(rows: int, task: str, result: dict[str, float]) -> None:
    """Print one line, and one for the pass before training."""
    if task == "stream":
        print(f"{rows:>10,}  {'pass':<8}  {result['plan']:>8.1f}  {rows / result['plan']:>9,.0f}")
    speed, cpu_speed = (result["rows"] / result[clock] for clock in CLOCKS)
    print(
        f"{rows:>10,}  {task:<8}  {result['seconds']:>8.1f}  {speed:>9,.0f}  "
        f"{result['cpu']:>7.1f}  {cpu_speed:>10,.0f}  {result['memory']:>8.0f}",
        flush=True,
    )


def summarise(found: dict[tuple[str, int], dict[str, float]]) -> None:
    """Compare the sizes: memory, time of a further row, and speed beside training in memory."""
    print()
    for task in TASKS:
        own = [result for (name, _), result in found.items() if name == task]
        if task != "memory" and len(own) > 1:
            memory = [each["memory"] for each in own]
            print(f"{task}: peak memory {max(memory) / min(memory) - 1:.0%} apart over the sizes")
        for clock, name in CLOCKS.items() if len(own) > 2 else ():
            further = [
                1e6 * (large[clock] - small[clock]) / (large["rows"] - small["rows"])
                for small, large in pairwise(own)
            ]
            listed = ", ".join(f"{each:.2f}" for each in further)
            apart = max(further) / min(further) - 1
            print(f"{task}: {listed} microseconds ({name}) per further row, {apart:.0%} apart")
    for (task, rows), result in found.items():
        if task == "memory" and ("stream", rows) in found:
            stream = found["stream", rows]
            ratios = (f"{result[clock] / stream[clock]:.2f} ({CLOCKS[clock]})" for clock in CLOCKS)
            print(f"{rows:,} rows: speed of a stream / speed in memory: {', '.join(ratios)}")


if __name__ == "__main__":
    main()
