"""Time one training epoch of our LSTM beside the same model by hand: python benchmarks/lstm.py.

Metro-sized data (48,199 windows of 5 steps x 6 columns, random numbers). By hand means what one
would write in PyTorch: nn.LSTM 128 and 64, a linear layer, the Gaussian likelihood, batches by
index, Adam, and the likelihood of the held-out rows after every epoch. Rounds alternate, so that
what else the machine does hits both.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import numpy as np
import torch
from torch import Tensor, nn

from calibrant.estimators import HeteroscedasticRegressor, Windows
from calibrant.networks import MemberNetworks
from calibrant.training import Rows, Stage

STEPS, COLUMNS = 5, 6
Times = list[tuple[float, float]]  # seconds of an epoch: ours, by hand


def make_data(n: int) -> tuple[Windows, np.ndarray]:
    rng = np.random.default_rng(0)
    series = rng.normal(size=(n + STEPS, COLUMNS))
    windows = Windows(series, np.arange(STEPS - 1, n + STEPS - 1), STEPS)
    return windows, series[STEPS:, 0] + rng.normal(size=n)


class ByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LSTM(COLUMNS, 128, batch_first=True)
        self.second = nn.LSTM(128, 64, batch_first=True)
        self.output = nn.Linear(64, 2)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.second(self.first(x)[0])
        result: Tensor = self.output(states[:, -1])
        return result


def likelihood(outputs: Tensor, y: Tensor) -> Tensor:
    mean, log_variance = outputs.unbind(dim=1)
    return 0.5 * (log_variance + (y - mean) ** 2 / log_variance.exp()).mean()


def by_hand(x: Tensor, y: Tensor, batch_size: int) -> Iterator[float]:
    """Seconds of one epoch after another."""
    held_out = len(x) // 5
    x, x_valid, y, y_valid = x[held_out:], x[:held_out], y[held_out:], y[:held_out]
    model = ByHand()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    while True:
        start = time.perf_counter()
        model.train()
        for index in torch.randperm(len(x)).split(batch_size):
            optimiser.zero_grad()
            likelihood(model(x[index]), y[index]).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            float(likelihood(model(x_valid), y_valid))
        yield time.perf_counter() - start


class Alternating(HeteroscedasticRegressor):
    """Ours, timed after every epoch; then the other side has its turn."""

    def race(self, other: Iterator[float], windows: Windows, y: np.ndarray) -> Times:
        self._times, self._other, self._threads = [], other, torch.get_num_threads()
        self.fit(windows, y)
        return self._times[1:]  # the first scoring comes before any epoch

    def _stages(self, rows: Rows) -> list[Stage]:
        (stage,) = super()._stages(rows)

        def score(network: MemberNetworks, rows: Rows) -> Tensor:
            result = stage.score(network, rows)
            ours = time.perf_counter() - self._began
            chosen = torch.get_num_threads()
            torch.set_num_threads(self._threads)
            with torch.enable_grad():
                self._times.append((ours, next(self._other)))
            torch.set_num_threads(chosen)
            self._began = time.perf_counter()
            return result

        self._began = time.perf_counter()
        return [replace(stage, score=score)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=48_199)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="4,000 windows, seconds in all")
    options = parser.parse_args()

    windows, y = make_data(4_000 if options.quick else options.rows)
    x_hand = torch.tensor(np.asarray(windows), dtype=torch.float32)
    y_hand = torch.tensor(y, dtype=torch.float32)
    threads = torch.get_num_threads()
    print(
        f"one epoch, {len(y):,} windows of {STEPS} x {COLUMNS}, {date.today()}, {threads} threads"
    )
    print(f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}")
    print(f"\n{'batch':>6}{'calibrant':>12}{'by hand':>10}{'ratio':>8}   seconds, medians")
    for batch_size in (256, 1024):
        model = Alternating(
            network="lstm",
            epochs=options.rounds + 1,
            dropout=0.0,
            batch_size=batch_size,
            random_state=0,
            device="cpu",
        )
        times = model.race(by_hand(x_hand, y_hand, batch_size), windows, y)[1:]  # one warms up
        ours, theirs = (statistics.median(each) for each in zip(*times, strict=True))
        ratio = statistics.median(a / b for a, b in times)
        print(f"{batch_size:>6}{ours:>12.2f}{theirs:>10.2f}{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
