"""Time training steps beside a loop written by hand: python benchmarks/training.py [--device cuda].

A 256-256 network, batches of 256, random numbers. By hand means what one would write in PyTorch:
two hidden layers, the Gaussian likelihood, batches by index, fused Adam, and the likelihood of the
held-out rows after every epoch. Rounds take every contender in turn, so that what else the
machine does hits all of them; ratios are medians over the rounds, above 1 means that the second
one named is slower. CPU seconds count all threads and leave out the waiting for others.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from calibrant.estimators import HeteroscedasticRegressor, MMDRegressor
from calibrant.networks import MemberNetworks, MixtureHead, NetworkSpec
from calibrant.training import Progress, Rows, SeriesWindows, Stage, run_stage

FEATURES, HIDDEN, BATCH = 8, (256, 256), 256
EPOCHS = 6  # of one turn, whose start is spread over them; the first turn warms up


class Cost(NamedTuple):
    """Seconds of an epoch."""

    wall: float
    cpu: float

    def busy(self, device: torch.device) -> float:
        """Seconds that the device worked: on one thread of a CPU those of the CPU."""
        return self.cpu if device.type == "cpu" else self.wall


def make_rows(n: int, device: torch.device, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, FEATURES))
    y = np.sin(x[:, 0]) + (0.1 + 0.2 * (x[:, 1] > 0)) * rng.normal(size=n)
    arrays = x, y / y.std(), np.ones(n)
    return Rows(*(torch.tensor(a, dtype=torch.float32, device=device) for a in arrays))


# ---- by hand ------------------------------------------------------------------------------------


def by_hand(train: Rows, held_out: Rows) -> Callable[[], None]:
    """One epoch of a loop without this package."""
    model = plain_network().to(train.y.device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def epoch() -> None:
        model.train()
        for index in torch.randperm(len(train.y), device=train.y.device).split(BATCH):
            optimiser.zero_grad()
            likelihood(model(train.x[index]), train.y[index]).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            likelihood(model(held_out.x), held_out.y).item()

    return epoch


def plain_network() -> nn.Sequential:
    first, second = HIDDEN
    return nn.Sequential(
        nn.Linear(FEATURES, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(),
        nn.Linear(second, 2),
    )  # fmt: skip


def likelihood(outputs: Tensor, y: Tensor) -> Tensor:
    mean, log_variance = outputs.unbind(dim=1)
    return 0.5 * (log_variance + (y - mean) ** 2 / log_variance.exp()).mean()


def with_lightning(train: Rows, held_out: Rows) -> Callable[[], None] | None:
    """One epoch of Lightning's trainer on the same model, where Lightning is installed."""
    try:
        import lightning
    except ImportError:
        return None
    import logging

    from torch.utils.data import DataLoader, TensorDataset

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.network = plain_network()

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            return likelihood(self.network(batch[0]), batch[1])

        def validation_step(self, batch: list[Tensor], _: int) -> None:
            likelihood(self.network(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=1e-3, fused=True)

    module = Module()
    batches, held = (
        DataLoader(TensorDataset(rows.x.cpu(), rows.y.cpu()), BATCH, shuffle=shuffle)
        for rows, shuffle in ((train, True), (held_out, False))
    )

    def epoch() -> None:
        # A trainer starts for every turn: its start is spread over the epochs of the turn.
        trainer = lightning.Trainer(
            max_epochs=EPOCHS, logger=False, enable_checkpointing=False, num_sanity_val_steps=0,
            enable_progress_bar=False, enable_model_summary=False,
            accelerator="gpu" if train.y.is_cuda else "cpu",
        )  # fmt: skip
        trainer.fit(module, batches, held)

    return epoch


# ---- ours ---------------------------------------------------------------------------------------


def stages(train: Rows) -> list[Stage]:
    """Both stages of a Gaussian network, for as many epochs as a turn has."""
    model = MMDRegressor(quality="fast", batch_size=BATCH, hidden=HIDDEN)
    both = model._stages(model.settings(), None, train)
    return [replace(stage, epochs=EPOCHS, patience=EPOCHS) for stage in both]


def ours(stage: Stage, train: Rows, held_out: Rows, seeds: range) -> Callable[[], None]:
    """`EPOCHS` epochs of a stage for as many members as there are seeds."""
    network = members(train, seeds)
    generators = [generator(train.y.device, seed) for seed in seeds]
    return lambda: void(run_stage(stage, network, train, held_out, generators, Progress()))


def members(train: Rows, seeds: range, kind: str = "mlp") -> MemberNetworks:
    networks = []
    for seed in seeds:
        torch.manual_seed(seed)
        if kind == "lstm":
            spec = NetworkSpec(body="lstm", n_inputs=FEATURES, dropout=0.1, steps=5)
        else:
            spec = NetworkSpec(n_inputs=FEATURES, hidden=HIDDEN)
        if kind == "mixture":
            spec = replace(spec, head=MixtureHead(5), periodic=0.1)
        networks.append(spec.build())
    return MemberNetworks(networks, sequences=kind == "lstm").to(train.y.device)


def void(_: object) -> None: ...


# ---- measuring ----------------------------------------------------------------------------------


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def restless(count: int) -> Iterator[None]:
    """So many processes that take a core each."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()


def cost(turn: Callable[[], None], epochs: int, n_threads: int, device: torch.device) -> Cost:
    """Seconds an epoch of one turn."""
    with threads(n_threads):
        synchronise(device)
        wall, cpu = time.perf_counter(), time.process_time()
        turn()
        synchronise(device)
        return Cost((time.perf_counter() - wall) / epochs, (time.process_time() - cpu) / epochs)


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def product_rate(device: torch.device) -> float:
    """Floating-point operations a second of float32 matrix products, one thread on a CPU."""
    size = 4096 if device.type == "cuda" else 1024
    a = torch.randn(size, size, device=device)
    costs = [cost(lambda: void(a @ a), 1, 1, device).busy(device) for _ in range(10)]
    return 2.0 * size**3 / min(costs)


def step_operations() -> float:
    """Operations of one training step: products forward, by weights and by inputs backward."""
    widths = [FEATURES, *HIDDEN, 2]
    sizes = [before * after for before, after in pairwise(widths)]
    return 2.0 * BATCH * (3 * sum(sizes) - sizes[0])  # nothing goes back into the data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--quick", action="store_true", help="2,048 rows, 2 rounds")
    parser.add_argument(
        "--busy", type=int, default=0, metavar="N", help="with N other processes that never rest"
    )
    options = parser.parse_args()
    device = torch.device(options.device)
    rows, rounds = (2048, 2) if options.quick else (options.rows, options.rounds)
    machine = torch.cuda.get_device_name() if device.type == "cuda" else platform.machine()
    print(
        f"256-256 network, batch {BATCH}, {rows:,} rows, {date.today()}, {machine}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}"
        + (f", {options.busy} other processes" if options.busy else "")
    )
    if device.type == "cuda":
        report_gpu(rows)
    else:
        with restless(options.busy):
            costs = race(rows, rounds, device)
        report(costs, rows, device)
    fit_small(device)


def race(n: int, rounds: int, device: torch.device) -> dict[str, list[Cost]]:
    """Costs of an epoch, a list with one entry a round for every contender."""
    train, held_out = make_rows(n, device), make_rows(512, device, seed=1)
    one, two = stages(train)
    cores = torch.get_num_threads()
    hand, lightning = by_hand(train, held_out), with_lightning(train, held_out)
    five = [ours(one, train, held_out, range(seed, seed + 1)) for seed in range(5)]
    # turn, epochs that it runs, threads that it may use
    turns: dict[str, tuple[Callable[[], None], int, int]] = {
        "by hand, one thread": (hand, 1, 1),
        "by hand, all threads": (hand, 1, cores),
        "stage 1": (ours(one, train, held_out, range(1)), EPOCHS, cores),
        "stage 2, joint": (ours(two, train, held_out, range(1)), EPOCHS, cores),
        "5 members": (ours(one, train, held_out, range(5)), EPOCHS, cores),
        "5 in sequence": (lambda: void([fit() for fit in five]), EPOCHS, cores),
    }
    if lightning is not None:
        turns["Lightning, one thread"] = (lightning, EPOCHS, 1)
        turns["Lightning, all threads"] = (lightning, EPOCHS, cores)
    costs: dict[str, list[Cost]] = {name: [] for name in turns}
    for number in range(rounds + 1):
        for name, turn in turns.items():
            measured = cost(*turn, device)
            if number > 0:
                costs[name].append(measured)
    return costs


def report_gpu(n: int) -> None:
    """Milliseconds a step once its work is recorded, and what recording costs."""
    device = torch.device("cuda")
    train, held_out = make_rows(n, device), make_rows(512, device, seed=1)
    steps = -(-n // BATCH)
    hand = by_hand(train, held_out)
    hand()
    eager = min(cost(hand, 1, 1, device).wall for _ in range(5))
    print(f"\n{'':<34}{'ms a step':>10}{'recording, s':>14}   target")
    print(f"{'by hand, not recorded':<34}{1e3 * eager / steps:>10.3f}")
    one, two = stages(train)
    windows = make_windows(n, device)
    (lstm,) = HeteroscedasticRegressor(batch_size=BATCH, network="lstm")._stages(windows)
    best = MMDRegressor(quality="best", batch_size=BATCH)
    mixture = best._stages(best.settings(), train)[-1]
    for name, stage, rows, seeds, kind, target in (
        ("stage 1", one, train, 1, "mlp", "<= 0.22"),
        ("stage 1, 5 members", one, train, 5, "mlp", ""),
        ("stage 1, 25 members", one, train, 25, "mlp", "<= 0.36"),
        ("stage 2, joint", two, train, 1, "mlp", "<= 0.44"),
        ("stage 2, joint, 25 members", two, train, 25, "mlp", "<= 0.72"),
        ("kernel score of mixtures", mixture, train, 1, "mixture", ""),
        ("kernel score of mixtures, 40", mixture, train, 40, "mixture", ""),
        ("LSTM 128-64, window 5", lstm, windows, 1, "lstm", "<= 0.5"),
        ("LSTM 128-64, window 5, 5 members", lstm, windows, 5, "lstm", ""),
    ):
        network = members(rows, range(seeds), kind)
        generators = [generator(device, seed) for seed in range(seeds)]
        held = rows.take(slice(0, 512)) if kind == "lstm" else held_out
        run = partial(timed, stage, network, rows, held, generators)
        run(16)
        short, long = run(16), run(116)
        step = (long - short) / (100 * steps)
        print(f"{name:<34}{1e3 * step:>10.3f}{short - 16 * steps * step:>14.2f}   {target}")
    rate, needed = product_rate(device), step_operations()
    print(f"\na step needs {needed / 1e6:.0f} MFLOP, products reach {rate / 1e12:.1f} TFLOP/s")


def timed(
    stage: Stage,
    network: MemberNetworks,
    train: Rows,
    held_out: Rows,
    generators: list[torch.Generator],
    epochs: int,
) -> float:
    """Seconds of so many epochs of a stage."""
    whole = replace(stage, epochs=epochs, patience=epochs)

    def turn() -> None:
        run_stage(whole, network, train, held_out, generators, Progress())

    return cost(turn, 1, 1, train.y.device).wall


def generator(device: torch.device, seed: int = 0) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def make_windows(n: int, device: torch.device) -> Rows:
    rows = make_rows(n + 5, device)
    ends = torch.arange(4, n + 4, device=device)
    return Rows(SeriesWindows(rows.x, ends, 5), rows.y[5:], rows.weight[5:])


def report(costs: dict[str, list[Cost]], n: int, device: torch.device) -> None:
    steps = -(-n // BATCH)
    print(f"\n{'':<24}{'ms a step':>11}{'CPU ms':>9}   medians over {len(costs['stage 1'])} rounds")
    for name, each in costs.items():
        wall, cpu = (1e3 * statistics.median(part) / steps for part in zip(*each, strict=True))
        print(f"{name:<24}{wall:>11.3f}{cpu:>9.3f}")
    if not any(name.startswith("Lightning") for name in costs):
        print(f"{'Lightning':<24}{'not installed':>20}")
    print(f"\n{'ratio':<44}{'wall':>7}{'CPU':>7}   target")
    for first, second, target in (
        ("stage 1", "by hand, one thread", ">= 1.0"),
        ("stage 1", "by hand, all threads", ">= 1.0"),
        ("stage 1", "Lightning, one thread", ">= 2"),
        ("stage 1", "Lightning, all threads", ">= 2"),
        ("5 members", "5 in sequence", ">= 1.15"),
        ("stage 1", "stage 2, joint", "<= 2 on a GPU"),
    ):
        if second in costs:
            ratios = ratio(costs[second], costs[first])
            print(f"{f'{first} against {second}':<44}{ratios[0]:>7.2f}{ratios[1]:>7.2f}   {target}")
    rate, needed = product_rate(device), step_operations()
    print(
        f"\na step needs {needed / 1e6:.0f} MFLOP; matrix products reach {rate / 1e9:.0f} GFLOP/s"
    )
    for name, count in (("by hand, one thread", 1), ("stage 1", 1), ("5 members", 5)):
        seconds = statistics.median(each.busy(device) for each in costs[name]) / steps
        print(f"{name:<24}{count * needed / seconds / rate:>8.0%} of that")


def ratio(above: list[Cost], below: list[Cost]) -> tuple[float, float]:
    """Medians over rounds of the ratios of wall and of CPU seconds."""
    pairs = list(zip(above, below, strict=True))
    wall = statistics.median(a.wall / b.wall for a, b in pairs)
    return wall, statistics.median(a.cpu / b.cpu for a, b in pairs)


def fit_small(device: torch.device) -> None:
    rows = make_rows(500, torch.device("cpu"))
    model = HeteroscedasticRegressor(random_state=0, device=str(device))
    seconds = cost(lambda: void(model.fit(rows.x.numpy(), rows.y.numpy())), 1, 2, device)
    print(
        f"\na fit on 500 rows: {seconds.wall:.2f} s, {seconds.cpu:.2f} s of CPU, "
        f"{len(model.history_) - 1} epochs (target < 2 s)"
    )


if __name__ == "__main__":
    main()
