"""Simulate data-parallel training over up to 1,000 workers: where the time of an epoch goes.

`python benchmarks/cluster.py` prints the tables of docs/scaling.md. A step of a worker is the
computation of its share of the batch, then messages that all workers wait for: the gradients, and
what matching compares. The speeds of a cluster are assumptions. Measured on this machine are, with
`--measure`, steps of one and two workers, with `--members` the parts that the networks of "best"
are divided into, and with `--workers 1 2` whole fits of "best" by so many processes.

The messages follow the schedules that gloo and NCCL use. A ring of N workers sends, in 2 (N - 1)
rounds, pieces of B / N bytes; a tree sends all B bytes in 2 log2(N) rounds. Workers do not take
the same time for a step: every step lasts as long as its slowest worker.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import pickle
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from importlib.metadata import version
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import distributed
from torch.multiprocessing import spawn

from calibrant import MMDRegressor
from calibrant.engines import fit_members, run_in_processes
from calibrant.engines.spread import join_parts, split_plan
from calibrant.estimators.predictor import assemble
from calibrant.estimators.train import run_plans
from calibrant.training import Rows, Workers
from calibrant.training.adam import Adam
from calibrant.training.loop import train_step

FLOAT = 4


@dataclass(frozen=True)
class Machine:
    """Speeds of one worker and of the network between workers."""

    name: str
    flops: float  # of training, in use
    bandwidth: float  # bytes per second between two workers
    latency: float  # seconds per message
    jitter: float  # standard deviation of a worker's time for a step, relative
    load: float  # rows per second that a worker reads and encodes


@dataclass(frozen=True)
class Job:
    """A network, and how it is trained."""

    weights: int
    submodels: int
    columns: int
    rows: float
    epochs: int
    batch: int  # rows of a worker
    components: int = 5
    frequencies: int = 1044

    @property
    def flops_per_row(self) -> float:
        """Forward and backward pass: three products per weight, two operations each."""
        return 6.0 * self.weights * self.submodels

    def message(self, form: str, workers: int) -> float:
        """Bytes of what matching sends in a step."""
        if form == "none":
            return 0.0
        if form == "linear":
            return 8.0 * (2 * self.frequencies + 6)
        # Gathered rows of all workers: weights, means and variances of the normals, target, weight
        # and input.
        return FLOAT * workers * self.matched * (3 * self.normals + 2 + self.columns)

    @property
    def normals(self) -> int:
        """Normals of the mixture of a row."""
        return self.components * self.submodels

    @property
    def matched(self) -> int:
        """Rows of a worker that are matched: a K-th of the rows of a mixture of K."""
        return max(2, self.batch // self.normals)

    def pairs(self, form: str, workers: int) -> float:
        """Operations for the pairs of rows of the joint form, which every worker visits."""
        if form != "joint":
            return 0.0
        return 20.0 * (workers * self.matched * self.normals) ** 2


def all_reduce(size: float, workers: int, machine: Machine) -> tuple[float, str]:
    """Seconds of the faster schedule, and its name."""
    if workers == 1 or size == 0:
        return 0.0, "-"
    ring = 2 * (workers - 1) * (machine.latency + size / workers / machine.bandwidth)
    rounds = 2 * math.ceil(math.log2(workers))
    tree = rounds * (machine.latency + size / machine.bandwidth)
    return min((ring, "ring"), (tree, "tree"))


def simulate(
    schedule: str, size: float, machine: Machine, ready: np.ndarray, rng: np.random.Generator
) -> float:
    """Seconds until all workers have the sum, message by message.

    A message starts once sender and receiver have done the round before; its time varies as that of
    a step.

    Parameters
    ----------
    schedule : {"ring", "tree"}
    size : float
        Bytes.
    ready : array of shape (N,)
        Seconds at which each worker has its part of the sum.
    """
    done, workers = ready.copy(), len(ready)

    def messages(count: int, share: float) -> np.ndarray:
        wide = machine.jitter
        times = (machine.latency + share / machine.bandwidth) * np.ones(count)
        return times * rng.lognormal(-0.5 * wide**2, wide, count) if wide else times

    if schedule == "ring":
        for _ in range(2 * (workers - 1)):
            done = np.maximum(done, np.roll(done, 1)) + messages(workers, size / workers)
        return float(done.max())
    spans = [2**k for k in range(math.ceil(math.log2(workers)))]
    for span in (*spans, *reversed(spans)):  # sums go to the first worker, and come back
        near = np.arange(0, workers - span, 2 * span)
        both = np.maximum(done[near], done[near + span]) + messages(len(near), size)
        done[near] = done[near + span] = both
    return float(done.max())


def all_gather(size: float, workers: int, machine: Machine) -> float:
    """Seconds until every worker has the rows of all."""
    if workers == 1 or size == 0:
        return 0.0
    rounds = math.ceil(math.log2(workers))
    return rounds * machine.latency + size / machine.bandwidth


def slowest(workers: int, steps: int, jitter: float, rng: np.random.Generator) -> float:
    """Mean over steps of the longest of the workers' times, relative to their mean."""
    if workers == 1:
        return 1.0
    draws = rng.lognormal(-0.5 * jitter**2, jitter, (steps, workers))
    return float(draws.max(axis=1).mean())


@dataclass(frozen=True)
class Epoch:
    """Seconds of an epoch by what they are spent on."""

    load: float
    compute: float
    waiting: float
    gradients: float
    matching: float

    @property
    def total(self) -> float:
        return sum(vars(self).values())

    @property
    def bottleneck(self) -> str:
        """What takes longest, and what comes next."""
        first, second, *_ = sorted(vars(self), key=vars(self).__getitem__, reverse=True)
        return f"{first}, then {second}" if vars(self)[second] else first


def epoch(job: Job, machine: Machine, workers: int, form: str, rng: np.random.Generator) -> Epoch:
    """Simulate one epoch; rows are loaded once and shared out over the epochs."""
    steps = max(1, math.ceil(job.rows / workers / job.batch))
    compute = job.batch * job.flops_per_row / machine.flops
    factor = slowest(workers, 400, machine.jitter, rng)
    reduced, _ = all_reduce(FLOAT * job.weights, workers, machine)
    size = job.message(form, workers)
    if form == "joint":
        matching = all_gather(size, workers, machine) + job.pairs(form, workers) / machine.flops
    else:
        matching = 3 * all_reduce(size, workers, machine)[0]  # extent, sums of weights, features
    return Epoch(
        job.rows / workers / machine.load / job.epochs,
        steps * compute,
        steps * compute * (factor - 1.0),
        steps * reduced,
        steps * matching,
    )


def clock(seconds: float) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} s"


def print_sizes(job: Job) -> None:
    print("| form | sent per worker and step | 2 workers | 32 | 1,000 |")
    print("|---|---|---|---|---|")
    gradients = f"{FLOAT * job.weights / 1e6:.2f} MB"
    print(f"| gradients | {FLOAT} bytes x weights | " + " | ".join([gradients] * 3) + " |")
    forms = {"linear": "feature means, float64", "joint": "rows of all workers"}
    for form, what in forms.items():
        sizes = [f"{job.message(form, n) / 1e3:,.1f} kB" for n in (2, 32, 1000)]
        print(f"| {form} | {what} | {' | '.join(sizes)} |")


def print_schedules(job: Job, machine: Machine, runs: int = 20) -> None:
    """All-reduce of the gradients, simulated: by workers that begin together, and after a step."""
    rng = np.random.default_rng(0)
    size, compute = FLOAT * job.weights, job.batch * job.flops_per_row / machine.flops
    even = replace(machine, jitter=0.0)
    print(f"\n{machine.name}; {size / 1e6:.2f} MB; steps of {1e3 * compute:.0f} ms, in ms\n")
    print("| workers | ring | ring, uneven | ring, after a step | tree | tree, uneven | ", end="")
    print("tree, after a step | slowest worker |\n" + "|---" * 8 + "|")
    for workers in (2, 8, 32, 256, 1000):
        cells = [f"{workers:,}"]
        together = np.zeros(workers)
        steps = compute * rng.lognormal(-0.5 * machine.jitter**2, machine.jitter, (runs, workers))
        for schedule in ("ring", "tree"):
            how = (schedule, size)
            exact = simulate(*how, even, together, rng)
            uneven = np.mean([simulate(*how, machine, together, rng) for _ in steps])
            # What it adds to the step of the slowest worker.
            after = np.mean([simulate(*how, machine, s, rng) - s.max() for s in steps])
            cells += [f"{1e3 * each:.2f}" for each in (exact, uneven, after)]
        late = steps.max(axis=1).mean() - compute
        print(f"| {' | '.join(cells)} | {1e3 * late:+.1f} |")


def print_epochs(job: Job, machine: Machine, sizes: list[tuple[float, int]], form: str) -> None:
    rng = np.random.default_rng(0)
    print(f"\n{machine.name}; matching: {form}; {job.batch:,} rows per worker and step\n")
    print(
        "| rows | workers | load | compute | waiting | gradients | matching | epoch | efficiency |"
        " bottleneck |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for rows, workers in sizes:
        own = replace(job, rows=rows)
        found = epoch(own, machine, workers, form, rng)
        alone = epoch(own, machine, 1, form, rng).total
        cells = [clock(each) for each in (*vars(found).values(), found.total)]
        print(
            f"| {rows:.0e} | {workers:,} | {' | '.join(cells)} | "
            f"{alone / workers / found.total:.0%} | {found.bottleneck} |"
        )


def measure(
    rank: int, processes: int, store: str, batch: int, device: str, report: Connection
) -> None:
    """Time steps of one of some processes on this machine, with its share of a batch."""
    torch.set_num_threads(1)
    if device == "cuda":
        torch.cuda.set_device(rank % torch.cuda.device_count())
    distributed.init_process_group(
        backend(device, processes), init_method=f"file://{store}", rank=rank, world_size=processes
    )
    rng = np.random.default_rng(rank)
    x = rng.standard_normal((20_000, 20))
    y = x[:, 0] + rng.standard_normal(len(x))
    (group,) = MMDRegressor(random_state=0, device=device).plan(x, y).groups[:1]
    network = assemble(group.network, [group.network.build() for _ in group.seeds[:1]]).to(device)
    workers = Workers(distributed.group.WORLD)
    weights = list(network.parameters())
    optimiser = Adam(weights, 1e-3, 0.0)
    own = Rows(*(each[None, : batch // processes] for each in group.rows))
    seconds: dict[str, list[float]] = {"step": [], "gradients": []}
    for _ in range(60):
        start = clock_of(device)
        train_step(group.stages[-1], network, own, optimiser, workers)
        seconds["step"].append(clock_of(device) - start)
        start = clock_of(device)
        workers.average_gradients(weights)
        seconds["gradients"].append(clock_of(device) - start)
    if rank == 0:
        count = sum(weight.numel() for weight in weights)
        fast = (float(np.quantile(each, 0.1)) for each in seconds.values())
        report.send((count, *fast))  # most steps of a busy machine wait for a core
    distributed.destroy_process_group()


def backend(device: str, processes: int) -> str:
    """NCCL, which wants a GPU for each process, or gloo."""
    has_own = device == "cuda" and torch.cuda.device_count() >= processes
    return "nccl" if has_own else "gloo"


def clock_of(device: str) -> float:
    """Seconds, once the device has done its work."""
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def print_measured(batches: Sequence[int], device: str) -> None:
    """Steps of one and of two processes of this machine, one thread each."""
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    print(f"{name}, torch {version('torch')}: {backend(device, 1)} and {backend(device, 2)}\n")
    print("| batch | step, 1 worker | step, 2 workers | of it all-reduce | speed-up |")
    print("|---|---|---|---|---|")
    for batch in batches:
        found = []
        for processes in (1, 2):
            receive, send = multiprocessing.Pipe(duplex=False)
            with tempfile.TemporaryDirectory() as folder:
                how = (processes, f"{folder}/store", batch, device, send)
                spawn(measure, how, nprocs=processes)
            found.append(receive.recv())
        (count, alone, _), (_, two, reduced) = found
        times = " | ".join(f"{1e3 * each:.1f} ms" for each in (alone, two, reduced))
        print(f"| {batch:,} | {times} | {alone / two:.2f} |")
    print(f"\n{count:,} weights, {FLOAT * count / 1e6:.2f} MB of gradients\n")


def print_members(n_rows: int, epochs: int | None) -> None:
    """The schedule of the networks of "best" over two workers, in seconds of CPU."""
    torch.set_num_threads(1)
    x, y = noisy_table(n_rows)
    model = best(epochs)
    planning, plan = cpu_seconds(lambda: model.plan(x, y))
    print(plan)
    whole, _ = cpu_seconds(lambda: run_plans([plan]))
    parts = split_plan(plan, 2)
    costs, trained = [], []
    for part in parts:
        cost, (networks,) = cpu_seconds(lambda part=part: run_plans([part]))
        costs.append(cost)
        trained.append(networks)
    finishing, _ = cpu_seconds(lambda: model._finish(plan, join_parts(plan, parts, trained)))
    sent = sum(len(pickle.dumps(each)) for each in (*parts, *trained))
    print("\n| part | networks | CPU seconds |\n|---|---|---|")
    print(f"| planning | - | {planning:.1f} |")
    print(f"| whole | {plan.n_networks} | {whole:.1f} |")
    free = [0.0, 0.0]
    for i, (part, cost) in enumerate(zip(parts, costs, strict=True)):
        print(f"| {i + 1} | {len(part.groups[0].seeds)} {part.groups[0].network} | {cost:.1f} |")
        free[free.index(min(free))] += cost
    print(f"| joining, calibration | - | {finishing:.1f} |")
    start = start_seconds()
    print(f"\nstarting a worker: {start:.1f} CPU s; sent in all: {sent / 1e6:.1f} MB")
    print(f"sum of the parts / whole: {sum(costs) / whole:.2f}")
    print(f"training, two workers: {whole / max(free):.2f} times one")
    two = planning + start + max(free) + finishing
    print(f"a fit by two workers: {(planning + whole + finishing) / two:.2f} times one program")


def best(epochs: int | None) -> MMDRegressor:
    """All networks of "best", with fewer epochs if wanted."""
    few = {} if epochs is None else {"epochs": epochs, "matching__epochs": epochs}
    return MMDRegressor(quality="best", random_state=0, device="cpu").set_params(**few)


def noisy_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight inputs, and a target whose noise depends on one of them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, 8))
    return x, x[:, 0] + np.exp(0.5 * x[:, 1]) * rng.standard_normal(n_rows)


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a function, and what it returns."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def start_seconds() -> float:
    """CPU seconds that a worker needs before its first item: most go into imports."""
    (found,) = (cost for _, cost in run_in_processes(process_seconds, [0], workers=1))
    return float(found or 0.0)


def process_seconds(_: int) -> float:
    return time.process_time()


def print_workers(n_rows: int, epochs: int | None, counts: Sequence[int]) -> None:
    """Seconds of the same fit by one and by several processes of one thread each.

    On a machine that has the cores and nothing else to do, a fit lasts as long as the CPU seconds
    of this process and of its busiest worker. On a busy one, workers get unequal numbers of parts.
    """
    torch.set_num_threads(1)
    x, y = noisy_table(n_rows)
    model = best(epochs)
    print(f"{platform.machine()}, {os.cpu_count()} cores, torch {version('torch')}, {date.today()}")
    print(f"{n_rows:,} rows\n")
    print("| workers | fit, s | one / several | CPU s: here | all workers | the busiest | ", end="")
    print("one / several |\n" + "|---" * 7 + "|")
    fits: list[tuple[float, float, MMDRegressor]] = []
    for count in counts:
        busy: dict[int, float] = {}
        start, here = time.perf_counter(), time.process_time()
        fitted = fit_members(clone(model), partial(run_counted, busy, count), count, x, y)
        seconds, here = time.perf_counter() - start, time.process_time() - here
        fits.append((seconds, here + max(busy.values()), fitted))
        clock, cpu = (fits[0][i] / fits[-1][i] for i in range(2))
        print(
            f"| {count} | {seconds:.1f} | {clock:.2f} | {here:.1f} | {sum(busy.values()):.1f} | "
            f"{max(busy.values()):.1f} | {cpu:.2f} |",
            flush=True,
        )
    one, other = (fitted.predict_dist(x) for *_, fitted in (fits[0], fits[-1]))
    apart = np.mean(np.abs(one.mean - other.mean) / one.stddev)
    print(f"\nmeans of the first and the last fit: {apart:.2g} standard deviations apart")


def run_counted(
    busy: dict[int, float], workers: int, function: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[tuple[Any, Any]]:
    """Run in processes, and note the CPU seconds of each since its start."""
    for item, found in run_in_processes(partial(counted, function), items, workers=workers):
        result, process, seconds = found or (None, 0, 0.0)
        busy[process] = seconds
        yield item, result


def counted(function: Callable[[Any], Any], item: Any) -> tuple[Any, int, float]:
    """Result, number of the process and its CPU seconds so far, imports included."""
    return function(item), os.getpid(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=int, default=129_416, help="of one network")
    parser.add_argument("--submodels", type=int, default=8)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--measure", action="store_true", help="time steps on this machine")
    parser.add_argument("--members", action="store_true", help='divide the networks of "best"')
    parser.add_argument("--workers", type=int, nargs="+", help="fit with so many processes")
    parser.add_argument("--rows", type=int, default=2000, help="of --members and --workers")
    parser.add_argument("--member-epochs", type=int, help="fewer epochs of --members, --workers")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of --measure")
    options = parser.parse_args()
    if options.measure:
        return print_measured(
            (128, 1024) if options.device == "cpu" else (1024, 8192), options.device
        )
    if options.members:
        return print_members(options.rows, options.member_epochs)
    if options.workers:
        return print_workers(options.rows, options.member_epochs, options.workers)
    del options.measure, options.members, options.workers, options.rows, options.device
    del options.member_epochs
    common = vars(options)
    cpu = Machine("CPU cores, 10 Gbit/s Ethernet", 2e10, 1.25e9, 5e-5, 0.10, 1e5)
    gpu = Machine("GPUs, 200 Gbit/s InfiniBand", 2e13, 2.5e10, 1e-5, 0.05, 1e6)
    sizes = [(1e6, 1), (1e6, 2), (1e7, 8), (1e8, 32), (1e9, 256), (1e10, 1000)]
    job = Job(rows=1e6, batch=1024, **common)
    print_sizes(job)
    for machine, batch in ((cpu, 1024), (gpu, 8192)):
        print_schedules(replace(job, batch=batch), machine)
    for machine, batch in ((cpu, 128), (cpu, 1024), (gpu, 8192)):
        print_epochs(replace(job, batch=batch), machine, sizes, "linear")
    print_epochs(replace(job, batch=8192), gpu, sizes, "joint")


if __name__ == "__main__":
    main()
