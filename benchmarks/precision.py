"""Is bfloat16 worth it? Time, CRPS and ECPE beside float32: python benchmarks/precision.py.

With ``training__precision="bfloat16"`` matrix products have bfloat16 factors; weights, optimiser,
losses and predictions are float32. Every split is fitted in every precision with the same seed,
after a first fit of one epoch that is not counted; differences are paired by split, with their
standard error: CRPS in percent, ECPE as it is. TF32 is what benchmarks on a GPU use.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import date
from functools import partial
from importlib.metadata import version
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from frontier import split_rows, table

from calibrant import HeteroscedasticRegressor, MMDRegressor, evaluate
from calibrant.experiments.trial import tensor_cores

FIRST_SPLIT = 200
MODELS: dict[str, Callable[..., Any]] = {
    "default": MMDRegressor,
    "wide": lambda **how: HeteroscedasticRegressor(
        hidden=(2048, 2048, 2048), batch_size=4096, epochs=60, **how
    ),
}


class Found(NamedTuple):
    """A fit, scored on its test rows."""

    seconds: float
    crps: float
    ecpe: float
    floor: float


PRECISIONS = {
    "float32": nullcontext,
    "TF32": partial(tensor_cores, "auto"),
    "bfloat16": nullcontext,
}


def fit(make: Callable[..., Any], name: str, seed: int, device: str, how: str) -> Found:
    """Fit the training rows of a split in one precision, and score the others."""
    x, y = table(name)
    train, test = split_rows(name, x, seed)
    model = make(random_state=seed, device=device)
    if how == "bfloat16":
        model.set_params(training__precision=how)
    with PRECISIONS[how]():
        start = time.perf_counter()
        model.fit(x[train], y[train])
        seconds = time.perf_counter() - start
    found = evaluate(model.predict_dist(x[test]), y[test])
    return Found(seconds, found.crps, found.ecpe, found.floor.ecpe)


def show(name: str, model: str, found: dict[str, list[Found]]) -> None:
    """One line for every precision, with its means and its differences from float32."""
    base = found["float32"]
    for how, own in found.items():
        means = Found(*(float(np.mean(each)) for each in zip(*own, strict=True)))
        pairs = list(zip(own, base, strict=True))
        crps = mean_and_error([100 * (a.crps / b.crps - 1) for a, b in pairs], ".2f", "%")
        ecpe = mean_and_error([a.ecpe - b.ecpe for a, b in pairs], ".4f", "")
        print(
            f"| {name} | {model} | {how} | {means.seconds:.1f} | {means.crps:.5g} | {crps} | "
            f"{means.ecpe:.4f} | {ecpe} | {means.floor:.4f} | {len(own)} |",
            flush=True,
        )


def mean_and_error(differences: list[float], digits: str, unit: str) -> str:
    """Mean difference with its standard error."""
    if not any(differences):
        return "0"
    mean = f"{np.mean(differences):+{digits}}{unit}"
    if len(differences) < 2:
        return mean
    return f"{mean} ± {np.std(differences, ddof=1) / np.sqrt(len(differences)):{digits}}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data", nargs="+", default=["kin8nm", "california"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument(
        "--minutes", type=float, default=60, help="start no split that would end later"
    )
    options = parser.parse_args()
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device != "cpu" else platform.machine()
    print(f"{name}, torch {version('torch')}, {date.today()}, splits from {FIRST_SPLIT} on\n")
    print(
        "| table | network | precision | fit, s | CRPS | against float32 | ECPE | against float32 "
        "| floor | splits |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    cases = list(product(options.data, options.models))
    found: dict[tuple[str, str], dict[str, list[Found]]] = {case: {} for case in cases}
    end, longest = time.monotonic() + 60 * options.minutes, 0.0
    for split, case in product(range(FIRST_SPLIT, FIRST_SPLIT + options.splits), cases):
        begun = time.monotonic()
        if begun + longest > end:
            break
        for how in PRECISIONS:
            if split == FIRST_SPLIT:  # loads kernels
                warm_up(MODELS[case[1]], case[0], device, how)
            fitted = fit(MODELS[case[1]], case[0], split, device, how)
            found[case].setdefault(how, []).append(fitted)
            print(*case, split, how, fitted, file=sys.stderr, flush=True)
        longest = max(longest, time.monotonic() - begun)
    for (data, model), own in found.items():
        if own:
            show(data, model, own)


def warm_up(make: Callable[..., Any], name: str, device: str, how: str) -> None:
    """Train a few epochs, which are not counted."""

    def brief(**options: Any) -> Any:
        model = make(**options)
        return model.set_params(
            epochs=2, **({"matching__epochs": 2} if isinstance(model, MMDRegressor) else {})
        )

    fit(brief, name, 0, device, how)


if __name__ == "__main__":
    main()
