"""Do the defaults keep their promise? Stage 1 against both stages, on four real data sets.

    python benchmarks/defaults.py --data ../shared/data

Fits `HeteroscedasticRegressor()`, `MMDRegressor()` and `MMDRegressor.as_published()` on random
80/20 splits (seeds 0 to 4; the defaults were chosen on seeds from 100 on) and prints test
means with standard errors over splits, the floor and the limit beside ECPE, and the paired
difference of each row to the first. Finished fits are kept in --out and not repeated.
--methods takes the other methods, too: see `register_methods`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.engines import run_in_processes

DATA_SETS = ("power_plant", "protein", "naval", "wine")
METRICS = ("ecpe", "mcpe", "rmse", "crps", "epiw", "nll")
METHODS: dict[str, Callable[..., Any]] = {}


def register_methods() -> None:
    """Import torch only in the processes that fit."""
    import calibrant
    from calibrant import HeteroscedasticRegressor, MCDropoutRegressor, MMDRegressor

    METHODS.update(
        {
            "heteroscedastic": HeteroscedasticRegressor,
            "mmd": MMDRegressor,
            "mmd-fast": partial(MMDRegressor, quality="fast"),
            "mmd-best": partial(MMDRegressor, quality="best"),
            "mmd-as-published": MMDRegressor.as_published,
            "mmd-mixture": partial(MMDRegressor, head="mixture"),
            "mixture": partial(HeteroscedasticRegressor, head="mixture"),
            "mcd": MCDropoutRegressor,
            "mcd-as-published": partial(MCDropoutRegressor, noise="none"),
            "deep-ens": calibrant.DeepEnsembleRegressor,
            "deep-ens-mixture": partial(calibrant.DeepEnsembleRegressor, combine="mixture"),
            "ell": calibrant.EnsembleLikelihoodRegressor,
            "mc-nll": calibrant.MCDropoutLikelihoodRegressor,
            "quantile": calibrant.QuantileNetworkRegressor,
            "laplace": calibrant.LaplaceRegressor,
            "dgp": calibrant.DeepGPRegressor,
            "isr": partial(Recalibrated, calibrant.IsotonicRecalibrator),
            "conformal": partial(Recalibrated, calibrant.ConformalRecalibrator),
        }
    )


class Recalibrated:
    """A heteroscedastic network on four fifths of the rows, recalibrated on the fifth."""

    def __init__(self, recalibrator: Callable[[], Any], **parameters: Any) -> None:
        from calibrant import HeteroscedasticRegressor

        self.network = HeteroscedasticRegressor(**parameters)
        self.recalibrator = recalibrator()

    def fit(self, X: Any, y: Any) -> Recalibrated:
        """Fit the network, then the recalibration on rows that it has not seen."""
        cut = len(y) * 4 // 5  # the rows come in random order
        self.network.fit(X[:cut], y[:cut])
        self.recalibrator.fit(self.network, X[cut:], y[cut:])
        self.history_ = self.network.history_
        return self

    def predict_dist(self, X: Any) -> Any:
        """Distribution of the recalibrated model."""
        return self.recalibrator.predict_dist(X)


def run_cell(cell: tuple[str, int, str], data: str, device: str) -> dict[str, Any]:
    """Fit one method on one split of one data set and score it on the test rows."""
    import torch

    from calibrant.datasets import load
    from calibrant.metrics import evaluate, noise_floor

    torch.set_num_threads(1)  # one core a process: cells run side by side
    register_methods()
    name, seed, method = cell
    table = load(name, data_dir=data)
    X, y = table.X.to_numpy(dtype=np.float64), table.y
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = int(0.8 * len(y))
    train, test = order[:n_train], order[n_train:]
    start = time.perf_counter()
    model = METHODS[method](random_state=seed, device=device).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    scores = evaluate(model.predict_dist(X[test]), y[test])
    # What recalibration on all training rows, out of fold, could reach: 1/n + 1/m for 1/n.
    limit = noise_floor(round(1.0 / (1.0 / len(test) + 1.0 / len(train))))
    return {
        "data": name,
        "seed": seed,
        "method": method,
        "seconds": seconds,
        "floor": scores.floor.ecpe,
        "limit": limit.ecpe,
        "epochs": [r["epoch"] for r in model.history_ if r["best"]],
        "machine": describe_machine(device),
        **{metric: float(getattr(scores, metric)) for metric in METRICS},
    }


def describe_machine(device: str) -> str:
    """What a figure was measured on and with."""
    import torch

    where = torch.cuda.get_device_name() if device == "cuda" else f"{os.cpu_count()} CPU cores"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    return f"{date.today()}, {versions}, {where}, one thread a fit"


def run_all(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the missing cells and return all records."""
    store = Path(options.out)
    done = {}
    if store.exists():
        for line in store.read_text().splitlines():
            record = json.loads(line)
            done[record["data"], record["seed"], record["method"]] = record
    cells = [(d, s, m) for m in options.methods for d in options.datasets for s in options.seeds]
    missing = [cell for cell in cells if cell not in done]
    fit = partial(run_cell, data=options.data, device=options.device)
    with open(store, "a") as file:
        finished = run_in_processes(fit, missing, workers=options.jobs)
        for count, (cell, record) in enumerate(finished, start=1):
            if record is None:
                raise SystemExit(f"The process of {cell} died twice, mostly for lack of memory.")
            done[cell] = record
            print(json.dumps(record), file=file, flush=True)
            print(f"\r{count}/{len(missing)} fits", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [done[cell] for cell in cells]


def show(records: list[dict[str, Any]], methods: list[str]) -> None:
    """Print the tables."""
    for name in dict.fromkeys(r["data"] for r in records):
        rows = {m: [r for r in records if r["data"] == name and r["method"] == m] for m in methods}
        first = rows[methods[0]]
        n_splits = len(first)
        print(f"\n{name}, {n_splits} splits: floor {first[0]['floor']:.4f}, ", end="")
        print(f"limit {first[0]['limit']:.4f} (ECPE)")
        print(f"{'':17}{'ECPE':>15}{'/limit':>7}{'MCPE':>8}{'RMSE':>18}{'CRPS':>20}", end="")
        print(f"{'EPIW':>10}{'NLL':>8}{'seconds':>9}")
        for method in methods:
            mean = {k: np.mean([r[k] for r in rows[method]]) for k in (*METRICS, "seconds")}
            error = {k: _standard_error([r[k] for r in rows[method]]) for k in METRICS}
            print(
                f"{method:17}{mean['ecpe']:8.4f} ±{error['ecpe']:.4f}"
                f"{mean['ecpe'] / first[0]['limit']:7.2f}{mean['mcpe']:8.4f}"
                f"{mean['rmse']:10.4g} ±{error['rmse']:<6.2g}"
                f"{mean['crps']:12.4g} ±{error['crps']:<6.2g}"
                f"{mean['epiw']:10.4g}{mean['nll']:8.3f}{mean['seconds']:9.1f}"
            )
        for method in methods[1:]:
            parts = []
            for key in ("ecpe", "rmse", "crps"):
                gap = np.array([a[key] - b[key] for a, b in zip(rows[method], first, strict=True)])
                share = 100.0 * gap.mean() / np.mean([r[key] for r in first])
                parts.append(f"{key} {gap.mean():+.2g} ±{_standard_error(gap):.2g} ({share:+.1f}%)")
            print(f"  {method} - {methods[0]}, paired: {'; '.join(parts)}")


def _standard_error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", default=os.environ.get("CALIBRANT_DATA", "../shared/data"))
    parser.add_argument("--datasets", nargs="+", default=list(DATA_SETS), choices=DATA_SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument(
        "--methods", nargs="+", default=["heteroscedastic", "mmd", "mmd-as-published"]
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2)))
    parser.add_argument("--out", default="benchmarks/results/defaults.jsonl")
    options = parser.parse_args()
    records = run_all(options)
    print(f"python {' '.join(sys.argv)}")
    for machine in dict.fromkeys(r["machine"] for r in records):
        methods = dict.fromkeys(r["method"] for r in records if r["machine"] == machine)
        print(f"{', '.join(methods)}: {machine}")
    show(records, options.methods)


if __name__ == "__main__":
    main()
