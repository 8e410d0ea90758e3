"""What forecasts by the network for all steps cost: seconds to fit and to predict, memory per row.

    python benchmarks/forecast_cost.py
    python benchmarks/forecast_cost.py --threads 2

Synthetic hours with a daily cycle. Three bars: 10,000 rows, window 168, horizon 24 are fitted
within 60 seconds on two cores; 1,000 series are forecast 48 steps ahead within 2 seconds; the
memory of a fit grows with the rows, not with rows times window. Each part is measured in a process
of its own: wall-clock and CPU seconds, and the highest memory above that of the imports.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

FIT_ROWS, SERIES, STEPS = 10_000, 1_000, 48
MEMORY_ROWS = 20_000, 80_000
MEMORY_WINDOWS = 168, 672


class Cost(NamedTuple):
    """Seconds on the clock and of the CPU, and MB."""

    wall: float
    cpu: float
    megabytes: float


def hours(rows: int, series: int = 1) -> pd.DataFrame:
    """Series with a daily cycle and noise, as a frame of id, time and y."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2020-01-01", periods=rows, freq="h")
    daily = np.sin(2 * np.pi * np.arange(rows) / 24)
    y = daily + 0.3 * rng.standard_normal((series, rows))
    return pd.DataFrame(
        {
            "id": np.repeat(np.arange(series), rows),
            "time": np.tile(times, series),
            "y": y.ravel(),
        }
    )


def fit(rows: int, window: int, epochs: float | None, threads: int) -> Cost:
    """Cost of a fit of one series, horizon 24; the default epochs for None."""
    import torch

    from calibrant import Forecaster, GlobalNetwork

    torch.set_num_threads(threads)
    warnings.simplefilter("ignore")
    network = GlobalNetwork() if epochs is None else GlobalNetwork(members=1, epochs=epochs)
    model = Forecaster(network, window=window, horizon=24, random_state=0)
    data = hours(rows).set_index("time")["y"]
    return _measured(lambda: model.fit(data))


def predict(threads: int) -> Cost:
    """Cost of forecasting many series with a trained model."""
    import torch

    from calibrant import Forecaster, GlobalNetwork

    torch.set_num_threads(threads)
    warnings.simplefilter("ignore")
    model = Forecaster(
        GlobalNetwork(epochs=0.01),  # weights as many as after a long training
        window=168,
        horizon=STEPS,
        series_id="id",
        time="time",
        random_state=0,
    ).fit(hours(400, SERIES))
    return _measured(lambda: model.predict_quantiles(alpha=[0.05, 0.5, 0.95]))


def _measured(call: Callable[[], object]) -> Cost:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Cost(wall, cpu, (after - before) / 1024)


def main() -> None:
    """Measure each part in a new process and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    def alone(function: Callable[..., Cost], *arguments: Any) -> Cost:
        with get_context("spawn").Pool(1) as pool:
            return pool.apply(function, (*arguments, options.threads))

    load = os.getloadavg()[0]
    print(f"{options.threads} threads, {os.cpu_count()} CPU cores, load {load:.0f} before")
    cost = alone(fit, FIT_ROWS, 168, None)
    print(
        f"fit, {FIT_ROWS:,} rows, window 168, horizon 24: {cost.cpu:.0f} CPU s, {cost.wall:.0f} s"
    )
    cost = alone(predict)
    print(f"predict, {SERIES:,} series x {STEPS} steps: {cost.cpu:.1f} CPU s, {cost.wall:.1f} s")
    print("memory of a fit beyond the imports, MB:")
    for rows in MEMORY_ROWS:
        found = [alone(fit, rows, window, 0.01).megabytes for window in MEMORY_WINDOWS]
        shown = ", ".join(
            f"window {window}: {mb:.0f}" for window, mb in zip(MEMORY_WINDOWS, found, strict=True)
        )
        print(f"  {rows:,} rows: {shown} (one copy of all windows: "
              f"{', '.join(f'{rows * w * 4 / 2**20:.0f}' for w in MEMORY_WINDOWS)})")  # fmt: skip


if __name__ == "__main__":
    main()
