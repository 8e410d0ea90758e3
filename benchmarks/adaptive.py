"""Adaptive recalibration in time on the five series of the paper, past predicts future.

    CALIBRANT_DATA=... python benchmarks/adaptive.py            # the last 30% of every series
    CALIBRANT_DATA=... python benchmarks/adaptive.py --part develop

One network a series (the flattened window of five rows, trained on the first 70%, its last fifth
held out for early stopping) predicts the last 30% one step ahead. Its weights stay; the rules see
each outcome one row later. The rule and its parameters were chosen on ``--part develop``, which
trains on the first 40% and streams the next 30%, and on synthetic drifts.
Predictions are kept in ``benchmarks/cache/``.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant import AdaptiveRecalibrator, evaluate, noise_floor
from calibrant.distributions import (
    Distribution,
    MonotoneMap,
    Normal,
    Recalibrated,
    ScoreRecalibrated,
    concatenate,
)
from calibrant.metrics import pit
from calibrant.recalibration import fit_pit_map
from calibrant.recalibration.quantile_tracking import LEVELS, QuantileTrackers, moved_apart

Array = NDArray[np.float64]

SERIES = ("bike_sharing", "air_quality", "pm25", "metro_traffic", "pickups")
PARTS = {"develop": (0.4, 0.7), "report": (0.7, 1.0)}  # end of training, end of the stream
WINDOW = 5
REFRESH = 24  # rows between two maps of the rules that refit one


class Stream(NamedTuple):
    """What the static model says of its held-out rows and of the rows after training."""

    held_out: Normal
    y_held_out: Array
    later: Normal
    y_later: Array


def load_series(name: str, data: Path) -> Array:
    """Rows in time order, target last."""
    import pandas as pd

    if name != "pickups":
        return pd.read_csv(data / "as_run" / f"{name}.csv.gz").to_numpy(dtype=np.float64)
    frame = pd.read_csv(data / "uber_nyc_enriched.csv.gz", keep_default_na=False)
    hours = frame.groupby("pickup_dt", sort=True)
    weather = hours[["spd", "vsb", "temp", "dewp", "slp", "pcp01", "pcp06", "pcp24", "sd"]].first()
    weather["holiday"] = (hours["hday"].first() == "Y").astype(float)
    weather["pickups"] = hours["pickups"].sum()  # of all boroughs, as in the paper
    return weather.to_numpy(dtype=np.float64)


def windows(table: Array) -> tuple[Array, Array]:
    """Five rows in, the target of the next out."""
    views = np.lib.stride_tricks.sliding_window_view(table[:-1], WINDOW, axis=0)
    return views.reshape(len(views), -1), table[WINDOW:, -1]


def stream_of(name: str, part: str, data: Path, cache: Path) -> Stream:
    """Predictions of the static model, from the cache where they are."""
    path = cache / f"{name}-{part}.npz"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(path, *_train(*windows(load_series(name, data)), *PARTS[part]))
    with np.load(path) as kept:
        arrays = [kept[f"arr_{i}"] for i in range(6)]
    return Stream(Normal(*arrays[:2]), arrays[2], Normal(*arrays[3:5]), arrays[5])


def _train(X: Array, y: Array, cut: float, stop: float) -> list[Array]:
    import torch

    from calibrant import HeteroscedasticRegressor

    torch.set_num_threads(2)
    trained, end = round(cut * len(y)), round(stop * len(y))
    first = round(0.8 * trained)  # the network learns from these, its stopping from the rest
    blocks = [(np.arange(first), np.arange(first, trained))]
    model = HeteroscedasticRegressor(epochs=100, device="cpu", random_state=0)
    model.fit(X[:trained], y[:trained], cv=blocks)
    answer: list[Array] = []
    for rows in (slice(first, trained), slice(trained, end)):
        dist = model.predict_dist(X[rows])
        answer += [dist.mean, dist.stddev, y[rows]]
    return answer


# ---- the rules ----------------------------------------------------------------------------------


def static(stream: Stream) -> Distribution:
    """Return what the network says."""
    return stream.later


def held_out_map(stream: Stream) -> Distribution:
    """One PIT map from the held-out rows, never changed."""
    return Recalibrated(stream.later, fit_pit_map(pit(stream.held_out, stream.y_held_out)))


def rolling(stream: Stream, rows: int) -> Distribution:
    """PIT map of the last rows."""
    return _refreshed(stream, lambda past: fit_pit_map(past[-rows:]))


def exponential(stream: Stream, memory: float) -> Distribution:
    """PIT map with weights that fall by a factor e in `memory` rows."""

    def fit(past: Array) -> MonotoneMap:
        return fit_pit_map(past, np.exp(np.arange(1 - len(past), 1) / memory))

    return _refreshed(stream, lambda past: fit(past[-round(6 * memory) :]))


def _refreshed(stream: Stream, fit: Callable[[Array], MonotoneMap]) -> Distribution:
    """Every `REFRESH` rows a new map from the PIT values so far."""
    u = np.append(pit(stream.held_out, stream.y_held_out), pit(stream.later, stream.y_later))
    n, first = len(stream.y_later), len(stream.y_held_out)
    return concatenate(
        Recalibrated(stream.later[i : i + REFRESH], fit(u[: first + i]))
        for i in range(0, n, REFRESH)
    )


def conformal(stream: Stream, memory: float) -> Distribution:
    """Adaptive conformal inference over all levels with one memory."""
    tracker = QuantileTrackers([memory])
    for z in (stream.y_held_out - stream.held_out.loc) / stream.held_out.scale:
        tracker.learn(z)
    knots = []
    for z in (stream.y_later - stream.later.loc) / stream.later.scale:
        knots.append(moved_apart(tracker.quantiles[0]))
        tracker.learn(z)
    return ScoreRecalibrated(stream.later, knots, LEVELS)


def adaptive(stream: Stream) -> Distribution:
    """Several memories averaged by their scores, then corrected: the library's answer."""
    rule = AdaptiveRecalibrator().start(stream.held_out, stream.y_held_out)
    return rule.follow(stream.later, stream.y_later)


RULES: dict[str, Callable[[Stream], Distribution]] = {
    "static": static,
    "held-out map": held_out_map,
    "rolling 200": partial(rolling, rows=200),
    "rolling 500": partial(rolling, rows=500),
    "exponential 100": partial(exponential, memory=100.0),
    "conformal 50": partial(conformal, memory=50.0),
    "conformal 100": partial(conformal, memory=100.0),
    "adaptive": adaptive,
}


def show(name: str, stream: Stream) -> None:
    """Print one row a rule."""
    floor = noise_floor(len(stream.y_later)).ecpe
    print(f"\n{name}, {len(stream.y_later)} rows: floor {floor:.4f} (ECPE)")
    print(f"{'':17}{'ECPE':>8}{'/floor':>8}{'MCPE':>8}{'CRPS':>9}{'EPIW':>9}{'RMSE':>9}{'s':>6}")
    for label, rule in RULES.items():
        start = time.perf_counter()
        scores = evaluate(rule(stream), stream.y_later)
        seconds = time.perf_counter() - start
        print(
            f"{label:17}{scores.ecpe:8.4f}{scores.ecpe / floor:8.2f}{scores.mcpe:8.4f}"
            f"{scores.crps:9.4g}{scores.epiw:9.4g}{scores.rmse:9.4g}{seconds:6.1f}"
        )


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", default=os.environ.get("CALIBRANT_DATA", "../shared/data"))
    parser.add_argument("--series", nargs="+", default=list(SERIES), choices=SERIES)
    parser.add_argument("--part", default="report", choices=PARTS)
    parser.add_argument("--cache", default="benchmarks/cache")
    options = parser.parse_args()
    print(f"python {' '.join(sys.argv)}")
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    print(f"{date.today()}, {versions}, {os.cpu_count()} CPU cores")
    for name in options.series:
        show(name, stream_of(name, options.part, Path(options.data), Path(options.cache)))


if __name__ == "__main__":
    main()
