"""The paper's five series: LSTM models under two protocols, beside the published figures.

    python benchmarks/forecasting.py --data ../shared/data              # runs for hours
    python benchmarks/forecasting.py --series pm25 pickups --protocols shuffled
    python benchmarks/forecasting.py --show                             # prints what is there

`shuffled`, as published: windows of five rows in the order of ``RandomState(2).permutation``, the
authors' split, the first 70% to learn from; how much of a figure is luck ten other splits tell,
`python benchmarks/quality.py`. `chronological`: the first 70% of the rows to learn from, the rest
to predict one step ahead, hours that repeat left out; with the weights alone (static), and with
adaptive recalibration over the same weights. In both, scaling, early stopping and recalibration
see training rows only. Finished fits are kept in --out and not repeated. Settings were chosen on
the training rows of seed 2.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant.engines import run_in_processes

Record = dict[str, Any]

SERIES = ("bike_sharing", "air_quality", "metro_traffic", "pm25", "pickups")
MODELS: dict[str, tuple[str, dict[str, str]]] = {
    "hnn": ("HeteroscedasticRegressor", {}),
    "mmd": ("MMDRegressor", {}),
    "mmd-best": ("MMDRegressor", {"quality": "best"}),
}
# What the RMSE on the authors' split is measured by: the paper's HNN; on PM2.5 the published
# figure that fits this split. The published split of pickups is unknown.
BARS = {"bike_sharing": 40.71, "air_quality": 79.60, "metro_traffic": 556.3, "pm25": 60.24}
BARS["pickups"] = 359.8
METRICS = ("rmse", "crps", "ecpe", "mcpe", "epiw", "coverage")
WINDOW, LEARNED = 5, 0.7
SEEDS = {"shuffled": 2, "chronological": 0}  # of the split, and of the training


class Cell(NamedTuple):
    """One fit; the seed is that of the training and, where windows are shuffled, of the split."""

    series: str
    model: str
    protocol: str
    seed: int


# ---- running ------------------------------------------------------------------------------------


def run_cell(cell: Cell, data: str, device: str, threads: int) -> Record:
    """Fit one model and score it on the rows that it did not see."""
    import torch

    torch.set_num_threads(threads)
    run = shuffled if cell.protocol == "shuffled" else chronological
    return {**cell._asdict(), **run(cell, data, device), "machine": describe_machine(device)}


def shuffled(cell: Cell, data: str, device: str) -> Record:
    """Windows at random, 70/30."""
    from calibrant.datasets import load
    from calibrant.estimators import Windows

    table = load(cell.series, variant="as_run", data_dir=data)
    rows = table.frame.to_numpy(dtype=np.float64)  # the past of the target is an input, too
    y = table.y[WINDOW:]
    windows = Windows(rows, np.arange(WINDOW - 1, len(rows) - 1), WINDOW)
    order = np.random.RandomState(cell.seed).permutation(len(y))
    train, test = np.split(order, [int(LEARNED * len(y))])
    model = make_model(cell, device)
    start = time.perf_counter()
    model.fit(windows[train], y[train])
    seconds = time.perf_counter() - start
    scores = {"static": score(model.predict_dist(windows[test]), y[test])}
    return {**context(model, len(train), len(test)), "seconds": seconds, "scores": scores}


def chronological(cell: Cell, data: str, device: str) -> Record:
    """The past predicts the future, one step ahead."""
    from calibrant import Forecaster, backtest
    from calibrant.experiments import TASKS, make_split

    split = make_split(TASKS[cell.series], "honest", 0, data)
    rows, n_train = split.X_train.series, len(split.y_train)
    y = rows[:, -1]
    forecaster = Forecaster(make_model(cell, device), window=WINDOW, calendar=False)
    start = time.perf_counter()
    result = backtest(forecaster, y, rows[:, :-1], start=WINDOW + n_train)
    seconds = time.perf_counter() - start
    model = result.forecaster.steps_[0].estimator
    # What recalibrate=None gives: the same weights, and the map of the held-out rows alone.
    static = model.predict_dist(target_first(split.X_test))
    scores = {
        "static": score(static, split.y_test),
        "adaptive": score(result.dist, result.y_true),
    }
    return {**context(model, n_train, len(split.y_test)), "seconds": seconds, "scores": scores}


def target_first(windows: Any) -> Any:
    """Windows with their columns in the order of a forecaster."""
    from calibrant.estimators import Windows

    return Windows(np.roll(windows.series, 1, axis=1), windows.ends, windows.length)


def make_model(cell: Cell, device: str) -> Any:
    """An estimator with an LSTM, 128 and 64 units, and the library's defaults otherwise."""
    import calibrant

    name, settings = MODELS[cell.model]
    kind = getattr(calibrant, name)
    return kind(network="lstm", random_state=cell.seed, device=device, **settings)


def score(dist: Any, y: Any) -> dict[str, float]:
    """Scores of the test rows; coverage is that of 90% intervals."""
    from calibrant import evaluate

    found = evaluate(dist, y, coverage=0.9)
    return {metric: float(getattr(found, metric)) for metric in METRICS}


def context(model: Any, n_train: int, n_test: int) -> Record:
    """What is needed to judge the scores."""
    from calibrant import noise_floor

    # What recalibration on all training rows, out of fold, could reach: 1/n + 1/m for 1/n.
    limit = noise_floor(round(1.0 / (1.0 / n_test + 1.0 / n_train)))
    return {
        "rows": [n_train, n_test],
        "floor": noise_floor(n_test).ecpe,
        "limit": limit.ecpe,
        "epochs": [r["epoch"] for r in model.history_ if r["best"]],
    }


def describe_machine(device: str) -> str:
    """What a figure was measured on and with."""
    import torch

    where = torch.cuda.get_device_name() if device == "cuda" else f"{os.cpu_count()} CPU cores"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    return f"{date.today()}, {versions}, {where}"


def stored(path: Path) -> dict[Cell, Record]:
    """Records of finished cells."""
    lines = path.read_text().splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    return {Cell(*(record[key] for key in Cell._fields)): record for record in records}


def wanted(options: argparse.Namespace) -> Iterator[Cell]:
    """Cells in the order in which they matter."""
    for protocol in options.protocols:
        for series in options.series:
            for model in options.models:
                yield Cell(series, model, protocol, SEEDS[protocol])


def run_missing(options: argparse.Namespace) -> None:
    """Run what is not in the store, and add each record the moment it is there."""
    store = Path(options.out)
    done = stored(store)
    missing = [cell for cell in wanted(options) if cell not in done]
    store.parent.mkdir(parents=True, exist_ok=True)
    fit = partial(run_cell, data=options.data, device=options.device, threads=options.threads)
    with open(store, "a") as file:
        finished = run_in_processes(fit, missing, workers=options.jobs)
        for count, (cell, record) in enumerate(finished, start=1):
            if record is None:
                raise SystemExit(f"The process of {cell} died twice, mostly for lack of memory.")
            print(json.dumps(record), file=file, flush=True)
            print(f"\r{count}/{len(missing)} fits", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


# ---- printing -----------------------------------------------------------------------------------


def show(records: list[Record]) -> None:
    """Print the tables."""
    machines = dict.fromkeys(r["machine"] for r in records)
    print("\n".join(machines))
    print("\n### Shuffled, the authors' split\n")
    show_shuffled([r for r in records if r["protocol"] == "shuffled"])
    print("\n### Chronological\n")
    show_chronological([r for r in records if r["protocol"] == "chronological"])


def show_shuffled(records: list[Record]) -> None:
    """One row a series and model, the paper's figures in brackets."""
    head = ("series", "model", "RMSE", "bar", "CRPS", "ECPE", "floor", "attainable")
    print_row(*head, "MCPE", "EPIW", "90%", "seconds")
    print_row(*["---"] * (len(head) + 4))
    for record in in_order(records):
        series, model = record["series"], record["model"]
        cells = shown(record, "static")
        for metric in ("rmse", "ecpe", "mcpe", "epiw"):
            cells[metric] += f" ({published_figure(series, model, metric)})"
        print_row(
            *(series, model, cells["rmse"], f"{BARS[series]:g}", cells["crps"], cells["ecpe"]),
            *(f"{record['floor']:.4f}", f"{record['limit']:.4f}", cells["mcpe"], cells["epiw"]),
            *(cells["coverage"], f"{record['seconds']:.0f}"),
        )


def show_chronological(records: list[Record]) -> None:
    """Static and adaptive below each other."""
    head = ("series", "model", "recalibration", "ECPE", "floor", "ECPE / floor", "MCPE")
    print_row(*head, "RMSE", "CRPS", "EPIW", "90%", "seconds")
    print_row(*["---"] * (len(head) + 5))
    for record in in_order(records):
        for kind in ("static", "adaptive"):
            cells, floor = shown(record, kind), record["floor"]
            print_row(
                *(record["series"], record["model"], kind, cells["ecpe"], f"{floor:.4f}"),
                *(f"{record['scores'][kind]['ecpe'] / floor:.1f}", cells["mcpe"], cells["rmse"]),
                *(cells["crps"], cells["epiw"], cells["coverage"], f"{record['seconds']:.0f}"),
            )


def in_order(records: list[Record]) -> list[Record]:
    """Records by series and model, as these are listed above."""
    series, models = list(SERIES), list(MODELS)
    return sorted(records, key=lambda r: (series.index(r["series"]), models.index(r["model"])))


def shown(record: Record, kind: str) -> dict[str, str]:
    """Scores as text."""
    digits = dict.fromkeys(METRICS, ".4g") | {"ecpe": ".4f", "mcpe": ".4f", "coverage": ".3f"}
    return {metric: format(record["scores"][kind][metric], digits[metric]) for metric in METRICS}


def published_figure(series: str, model: str, metric: str) -> str:
    """What the paper prints, or a dash."""
    from calibrant.experiments import published

    cell = published(series, model, metric)
    return "-" if cell is None else cell.printed


def print_row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", default=os.environ.get("CALIBRANT_DATA", "../shared/data"))
    parser.add_argument("--series", nargs="+", default=list(SERIES), choices=SERIES)
    parser.add_argument("--models", nargs="+", default=["hnn", "mmd"], choices=MODELS)
    protocols = ["shuffled", "chronological"]
    parser.add_argument("--protocols", nargs="+", default=protocols, choices=protocols)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side")
    parser.add_argument("--threads", type=int, default=1, help="threads of a fit")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--out", default="benchmarks/results/forecasting.jsonl")
    options = parser.parse_args()
    if not options.show:
        run_missing(options)
    print(f"python {' '.join(sys.argv)}")
    show(list(stored(Path(options.out)).values()))


if __name__ == "__main__":
    main()
