"""The size of the house: lines and files per room, parameters per method, the path of a fit.

    python benchmarks/house.py

Functions and files are those of this package that one `fit` and one `predict_dist` run through;
comprehensions and lambdas, which a profiler counts as functions, are not counted as named ones.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import calibrant

ROOT = Path(calibrant.__file__).parent


def rooms() -> dict[str, tuple[int, int]]:
    """Lines and files of every room."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0]
        lines[room] += len(path.read_text().splitlines())
        files[room] += 1
    return {room: (lines[room], files[room]) for room in sorted(lines)}


def path_of(work: Callable[[], Any]) -> tuple[int, int, int]:
    """Functions, named ones and files of the package that a call runs through."""
    seen: set[tuple[str, int, str]] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)) and frame.f_code.co_name != "<module>":
            seen.add((name, frame.f_code.co_firstlineno, frame.f_code.co_name))

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    named = sum(not function.startswith("<") for _, _, function in seen)
    return len(seen), named, len({name for name, _, _ in seen})


def main() -> None:
    print("room                lines  files")
    total = np.zeros(2, dtype=int)
    for room, size in rooms().items():
        total += size
        print(f"{room:18s} {size[0]:6d} {size[1]:6d}")
    print(f"{'all':18s} {total[0]:6d} {total[1]:6d}\n")

    print("parameters of the constructor")
    methods = [name for name in calibrant.__all__ if name.endswith(("Regressor", "Forecaster"))]
    for name in methods:
        print(f"{name:34s} {len(inspect.signature(getattr(calibrant, name)).parameters):3d}")

    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1200, 3))
    y = x[:, 0] + 0.1 * rng.standard_normal(1200)
    calibrant.MMDRegressor(random_state=0).fit(x, y).predict_dist(x)  # imports are not the path
    model = calibrant.MMDRegressor(random_state=0)
    print("\npath of MMDRegressor()   functions  named  files")
    for name, work in (
        ("fit", lambda: model.fit(x, y)),
        ("predict_dist", lambda: model.predict_dist(x)),
    ):
        functions, named, files = path_of(work)
        print(f"{name:24s} {functions:9d} {named:6d} {files:6d}")


if __name__ == "__main__":
    main()
