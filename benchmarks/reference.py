"""Predictions of every method with fixed seeds, stored once and compared after a change.

    python benchmarks/reference.py --write    # before a change that must not move predictions
    python benchmarks/reference.py            # afterwards: largest difference in predicted spreads

One thread, three data sets of `CALIBRANT_DATA` (power plant, wine with its atoms, windows of bike
sharing), short training. The last digits depend on the processor, so compare on one machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import calibrant as c

STORE = Path(__file__).parent / "results" / "reference_predictions.npz"
SHORT = {"epochs": 12, "random_state": 0}


def mmd(epochs: int = 8, **changes):
    """Short training of both stages; fields of the groups by their nested names."""
    model = c.MMDRegressor(random_state=0, epochs=12)
    return model.set_params(matching__epochs=epochs, **changes)


METHODS = {
    "heteroscedastic": lambda: c.HeteroscedasticRegressor(**SHORT),
    "heteroscedastic-mixture": lambda: c.HeteroscedasticRegressor(components=5, **SHORT),
    "heteroscedastic-passes": lambda: c.HeteroscedasticRegressor(
        dropout=0.1, mc_passes=10, **SHORT
    ),
    "deep-ensemble": lambda: c.DeepEnsembleRegressor(members=3, **SHORT),
    "deep-ensemble-mixture": lambda: c.DeepEnsembleRegressor(
        members=3, combine="mixture", adversarial=0.01, **SHORT
    ),
    "ensemble-likelihood": lambda: c.EnsembleLikelihoodRegressor(members=3, **SHORT),
    "mc-dropout": lambda: c.MCDropoutRegressor(passes=10, **SHORT),
    "mc-nll": lambda: c.MCDropoutLikelihoodRegressor(passes=10, training_passes=4, **SHORT),
    "quantile": lambda: c.QuantileNetworkRegressor(**SHORT),
    "laplace": lambda: c.LaplaceRegressor(**SHORT),
    "deep-gp": lambda: c.DeepGPRegressor(inducing=16, **SHORT),
    "mmd": lambda: c.MMDRegressor(random_state=0, matching=c.Matching(epochs=20)),
    "mmd-fast": lambda: c.MMDRegressor(quality="fast", **SHORT),
    "mmd-best": lambda: mmd(quality="best"),
    "mmd-folds": lambda: mmd(ensemble__folds=3, ensemble__members=2),
    "mmd-marginal": lambda: mmd(matching__match="marginal"),
    "mmd-distribution": lambda: mmd(
        matching__match="distribution",
        matching__score_kernel="gaussian",
    ),
    "mmd-as-published": lambda: c.MMDRegressor.as_published(matching__epochs=8, **SHORT),
}


def data_sets() -> dict[str, tuple]:
    """Training inputs, training targets and test inputs by name."""
    folder = Path(os.environ["CALIBRANT_DATA"])
    power = pd.read_csv(folder / "power_plant.csv.gz")[:1240]
    wine = pd.read_csv(folder / "wine_quality_white.csv.gz")[:840]
    bike = pd.read_csv(folder / "as_run" / "bike_sharing.csv.gz")[:1300].to_numpy(float)
    ends = np.arange(4, len(bike) - 1)
    windows, after = c.Windows(bike, ends, 5), bike[ends + 1, -1]
    return {
        "power": (
            power[:1200].drop(columns="PE"),
            power["PE"][:1200],
            power[1200:].drop(columns="PE"),
        ),
        "wine": (
            wine[:800].drop(columns="quality"),
            wine["quality"][:800],
            wine[800:].drop(columns="quality"),
        ),
        "bike": (windows[:1200], after[:1200], windows[1200:1240]),
    }


def predictions(only: list[str]) -> dict[str, np.ndarray]:
    """Quantiles (rows, 3) at 5%, 50% and 95% of each method on each data set."""
    torch.set_num_threads(1)
    found = {}
    for data, (x, y, new) in data_sets().items():
        for name, make in METHODS.items():
            if only and name not in only:
                continue
            start, model = time.perf_counter(), make()
            if data == "bike" and name in ("heteroscedastic", "deep-ensemble", "mmd", "mc-dropout"):
                model.set_params(network="lstm", hidden=(16, 8))
            model.fit(x, y)
            found[f"{data}/{name}"] = model.predict_quantiles(new, alpha=[0.05, 0.5, 0.95])
            print(f"{data}/{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], choices=list(METHODS))
    options = parser.parse_args()
    found = predictions(options.only)
    if options.write:
        np.savez_compressed(STORE, **found)
        return
    stored, worst = np.load(STORE), 0.0
    for name, now in found.items():
        before = stored[name]
        spread = float(np.mean(before[:, 2] - before[:, 0]))
        apart = float(np.abs(now - before).max()) / spread
        worst = max(worst, apart)
        print(f"{name:32s} {apart:.1e}{'' if apart <= 1e-6 else '  CHANGED'}")
    print(f"largest difference, in widths of 90% intervals: {worst:.1e}")


if __name__ == "__main__":
    main()
