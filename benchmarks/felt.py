"""Time what a user waits for, beside LightGBM and CatBoost: python benchmarks/felt.py.

Fit, mean and interval of many rows, one row, save, load, the saved size and the peak of memory. All
contenders run in this one command, each in a process of its own and on one core, and CPU time is
counted, so that ratios mean something on a busy machine. LightGBM has three models, of the mean and
of the 5% and 95% quantiles; CatBoost has one, of mean and variance.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

NAMES = ("calibrant fast", "calibrant default", "calibrant best", "lightgbm", "catboost")
RIVALS = ("lightgbm", "catboost")
COLUMNS = {
    "fit": "s",
    "mean": "s",
    "interval": "s",
    "row, mean": "ms",
    "row, interval": "ms",
    "save": "ms",
    "load": "ms",
    "size": "MB",
    "memory": "MB",
}
REPEATS = 50  # of what takes milliseconds; the fastest quarter counts


class Contender(Protocol):
    """What is timed."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None: ...
    def mean(self, X: np.ndarray) -> np.ndarray: ...
    def interval(self, X: np.ndarray) -> np.ndarray: ...
    def save(self, folder: Path) -> None: ...
    def load(self, folder: Path) -> None: ...


class Calibrant:
    """`MMDRegressor` of a quality."""

    def __init__(self, quality: Any) -> None:
        from calibrant import MMDRegressor

        self.model = MMDRegressor(quality=quality, random_state=0, device="cpu")

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.fit(X, y)

    def mean(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)

    def interval(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict_interval(X, coverage=0.9)

    def save(self, folder: Path) -> None:
        self.model.save(folder / "model", overwrite=True)

    def load(self, folder: Path) -> None:
        from calibrant import load_model

        load_model(folder / "model")


class LightGBM:
    """Mean and two quantiles."""

    def __init__(self) -> None:
        from lightgbm import LGBMRegressor

        common: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "random_state": 0}
        self.centre = LGBMRegressor(**common)
        self.ends = [LGBMRegressor(objective="quantile", alpha=a, **common) for a in (0.05, 0.95)]

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        for model in (self.centre, *self.ends):
            model.fit(X, y)

    def mean(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.centre.booster_.predict(X))

    def interval(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([np.asarray(model.booster_.predict(X)) for model in self.ends])

    def save(self, folder: Path) -> None:
        for i, model in enumerate((self.centre, *self.ends)):
            model.booster_.save_model(folder / f"{i}.txt")

    def load(self, folder: Path) -> None:
        from lightgbm import Booster

        for i in range(3):
            Booster(model_file=folder / f"{i}.txt")


class CatBoost:
    """Mean and variance of a normal."""

    def __init__(self) -> None:
        from catboost import CatBoostRegressor

        self.model = CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            thread_count=1,
            random_seed=0,
            verbose=False,
            allow_writing_files=False,
        )

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.fit(X, y)

    def mean(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict(X))[:, 0]

    def interval(self, X: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        mean, variance = self.model.predict(X).T
        ends: np.ndarray = mean[:, None] + np.sqrt(variance)[:, None] * ndtri([0.05, 0.95])
        return ends

    def save(self, folder: Path) -> None:
        self.model.save_model(str(folder / "model.cbm"))

    def load(self, folder: Path) -> None:
        from catboost import CatBoostRegressor

        CatBoostRegressor().load_model(str(folder / "model.cbm"))


def contender(name: str) -> Contender:
    """Build a contender by its name."""
    library, _, quality = name.partition(" ")
    if library == "calibrant":
        return Calibrant(quality)
    return LightGBM() if library == "lightgbm" else CatBoost()


def draw(rows: int, new_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eight inputs, a curved mean and noise that depends on an input; and new inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows + new_rows, 8))
    noise = 0.3 * np.abs(X[:, 1]) * rng.normal(size=len(X))
    return X[:rows], (X[:, 0] + np.sin(2 * X[:, 2]) + noise)[:rows], X[rows:]


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """CPU time on one core, which other programs hardly add to; of several the first quartile."""
    durations = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        durations.append(time.process_time() - start)
    return float(np.quantile(durations, 0.25))


def peak_memory() -> float:
    """Peak memory of this process in MB, without that of its parent, which getrusage counts."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    status = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(peak) / 1024


def measure(name: str, rows: int, new_rows: int) -> dict[str, float]:
    """All figures of one contender, in this process."""
    X, y, new = draw(rows, new_rows)
    model, one = contender(name), new[:1]
    found = {"fit": seconds(lambda: model.fit(X, y))}
    # Memory of the fit; predictions of many rows are read in parts by whoever is short of it.
    found["memory"] = peak_memory()
    model.mean(one), model.interval(one)  # what is made once
    found["mean"] = seconds(lambda: model.mean(new), 2)
    found["interval"] = seconds(lambda: model.interval(new), 2)
    found["row, mean"] = 1e3 * seconds(lambda: model.mean(one), REPEATS)
    found["row, interval"] = 1e3 * seconds(lambda: model.interval(one), REPEATS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        found["save"] = 1e3 * seconds(lambda: model.save(path), 5)
        found["load"] = 1e3 * seconds(lambda: model.load(path), 5)
        found["size"] = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6
    return found


def in_a_process(name: str, rows: int, new_rows: int) -> dict[str, float]:
    """The figures of one contender from a process of its own."""
    command = [sys.executable, __file__, "--rows", str(rows), "--new-rows", str(new_rows)]
    one_core = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--one", name], env=one_core, stdout=subprocess.PIPE, check=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def show(found: dict[str, dict[str, float]]) -> None:
    """Print the figures, then ours as multiples of each rival's."""
    _print_table(found)
    for rival in (name for name in RIVALS if name in found):
        ours = {name: values for name, values in found.items() if name not in RIVALS}
        print(f"\nas multiples of {rival}")
        _print_table(
            {
                name: {column: values[column] / found[rival][column] for column in COLUMNS}
                for name, values in ours.items()
            }
        )


def _print_table(found: dict[str, dict[str, float]]) -> None:
    print(" " * 21, *(name.removeprefix("calibrant ").rjust(9) for name in found))
    for column, unit in COLUMNS.items():
        cells = (f"{values[column]:.3g}".rjust(9) for values in found.values())
        print(f"{column}, {unit}".ljust(21), *cells)


def main() -> None:
    """Measure all contenders and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000, help="rows to train on")
    parser.add_argument("--new-rows", type=int, default=100_000, help="rows to predict")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--one", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        json.dump(measure(options.one, options.rows, options.new_rows), sys.stdout)
        return
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("calibrant", "torch", "lightgbm", "catboost")
    )
    print(f"python benchmarks/felt.py --rows {options.rows} --new-rows {options.new_rows}")
    print(f"{date.today()}, {versions}, {platform.machine()}, one core\n")
    names = options.only
    show({name: in_a_process(name, options.rows, options.new_rows) for name in names})


if __name__ == "__main__":
    main()
