"""Time `evaluate` beside the metrics of uncertainty-toolbox: python benchmarks/metrics.py.

uncertainty-toolbox judges normal distributions only; its time is set beside every family of ours.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version

import numpy as np
import uncertainty_toolbox as uct

from calibrant.distributions import Distribution, Mixture, MonotoneMap, Normal, Recalibrated
from calibrant.metrics import evaluate


def families(n: int) -> dict[str, Distribution]:
    rng = np.random.default_rng(0)
    normal = Normal(rng.normal(size=n), rng.uniform(0.5, 2.0, size=n))
    knots = np.linspace(0, 1, 62)[1:-1]
    mixture = Mixture(
        rng.dirichlet(np.ones(5), n), rng.normal(size=(n, 5)), rng.uniform(0.2, 1.0, (n, 5))
    )
    return {
        "normal": normal,
        "recalibrated normal, 60 knots": Recalibrated(normal, MonotoneMap(knots, knots**1.1)),
        "mixture of five normals": mixture,
    }


def seconds(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="10,000 rows, seconds in all")
    options = parser.parse_args()
    n = 10_000 if options.quick else options.rows

    forecasts = families(n)
    normal = forecasts["normal"]
    y = normal.sample(random_state=1)[:, 0]
    theirs = seconds(
        lambda: uct.get_all_metrics(normal.mean, normal.stddev, y, verbose=False), repeats=1
    )
    evaluate(normal[:1000], y[:1000])  # imports and the cached floor are not what is measured

    versions = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "scipy", "uncertainty-toolbox")
    )
    print(f"evaluate on {n:,} rows, {date.today()}, {os.cpu_count()} cores, {platform.machine()}")
    print(f"Python {platform.python_version()}, {versions}")
    print(f"\n{'distribution':<32}{'seconds':>9}{'uncertainty-toolbox':>22}{'ratio':>8}")
    for name, dist in forecasts.items():
        ours = seconds(lambda dist=dist: evaluate(dist, y), repeats=3)  # type: ignore[misc]
        print(f"{name:<32}{ours:>9.2f}{theirs:>22.2f}{theirs / ours:>8.0f}")


if __name__ == "__main__":
    main()
