"""CRPS over the time of training: `MMDRegressor(time_budget=...)` beside trees and RealMLP.

    python benchmarks/time_curve.py run          # measure what is missing, on a quiet machine
    python benchmarks/time_curve.py              # print the table
    python benchmarks/time_curve.py --figure docs/images/time_curve.png

Split 0 of two tables of `frontier.py`, all cores, CRPS by the quantiles .01, ..., .99. CatBoost and
RealMLP run where they are installed (extra `rivals`; pytabkit 1.7.3).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import frontier
import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "time_curve.jsonl"
NAMES = ("kin8nm", "california")
LEVELS = frontier.LEVELS


METHODS: dict[str, tuple[Callable[..., frontier.Quantiles], str, tuple[float | str, ...]]] = {
    "MMDRegressor(time_budget)": (frontier.ours, "time_budget", (2.0, 5.0, 15.0, 45.0)),
    "MMDRegressor(), the default": (frontier.ours, "quality", ("default",)),
    "quantile forest": (frontier.forest, "n_estimators", (10, 30, 100, 300)),
    "CatBoost": (frontier.catboost, "iterations", (50, 200, 1000)),
    "RealMLP": (partial(frontier.realmlp, n_cv=1), "n_epochs", (16, 64, 256)),
}


def measure(name: str, method: str, value: float | str) -> dict[str, Any]:
    """Seconds of a fit and its CRPS."""
    rows = frontier.task(name, 0)
    fit, parameter, _ = METHODS[method]
    start = time.perf_counter()
    predict = fit(rows, **{parameter: value})
    seconds = time.perf_counter() - start
    miss = rows.y_test[:, None] - predict()
    crps = 2.0 * np.maximum(LEVELS * miss, (LEVELS - 1.0) * miss).mean()
    return {
        "table": name, "method": method, "parameter": parameter, "value": value,
        "seconds": seconds, "crps": float(crps),
    }  # fmt: skip


def known() -> pd.DataFrame:
    """All stored measurements."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    columns = ["table", "method", "parameter", "value", "seconds", "crps"]
    return pd.DataFrame([json.loads(line) for line in lines], columns=columns)


def run() -> None:
    """Measure what is missing, and store every measurement as it comes."""
    done = set(zip(known()["table"], known().method, known().value, strict=True))
    for name in NAMES:
        for method, (_, _, values) in METHODS.items():
            for value in values:
                if (name, method, value) in done:
                    continue
                try:
                    result = measure(name, method, value)
                except ImportError as error:
                    print(f"{method} is left out: {error}")
                    break
                with RESULTS.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(f"{name:<12}{method:<28}{result['seconds']:8.1f} s {result['crps']:.5g}")


def draw(path: Path) -> None:
    """Draw one curve for each method."""
    import matplotlib.pyplot as plt

    from calibrant.plots.style import line_style, tidy

    results = known()
    figure, axes = plt.subplots(1, len(NAMES), figsize=(9, 3.6), layout="constrained")
    for ax, name in zip(axes, NAMES, strict=True):
        for i, method in enumerate(METHODS):
            own = results[(results["table"] == name) & (results.method == method)]
            own = own.sort_values("seconds")
            color, style = line_style(i)
            ax.plot(own.seconds, own.crps, marker="o", label=method, color=color, linestyle=style)
        ax.set(xscale="log", title=name, xlabel="seconds to fit, two cores")
        tidy(ax)
    axes[0].set_ylabel("CRPS of new rows")
    axes[-1].legend(frameon=False, loc="upper right")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["show", "run"], default="show")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    if options.what == "run":
        run()
    print(known().round(5).to_string(index=False))
    if options.figure is not None:
        draw(options.figure)


if __name__ == "__main__":
    main()
