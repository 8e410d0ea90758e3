"""Time, memory and error of distribution matching: python benchmarks/matching.py [--device cuda].

Marginal matching with the paper's and with adaptive bandwidths, joint matching with adaptive ones;
closed form for Gaussian predictions, six kernels, float32 input, forward and backward. Every
contender has a process of its own, and rounds take them in turn, so that what else the machine
does hits all of them. Memory is the peak above what the process held before the call. The error
is that of the value against all pairs in float64, where those fit. A case that would take longer
than a minute is not run: its time is extrapolated from the size before and marked with ~.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import statistics
import time
from collections.abc import Sequence
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from _contenders import Objective, contender

from calibrant.kernels import PUBLISHED_BANDWIDTHS, adaptive_bandwidths

SIZES = [256, 4096, 16_384, 65_536, 1_048_576]
SPREAD = 0.24  # of the targets
TABLES = {
    "marginal, published bandwidths": (False, PUBLISHED_BANDWIDTHS),
    "marginal, adaptive bandwidths": (False, adaptive_bandwidths(SPREAD)),
    "joint, adaptive bandwidths": (True, adaptive_bandwidths(SPREAD)),
}
CONTENDERS = {
    False: ["plain torch", "KeOps", "three lines", "torch.compile", "fused", "linear"],
    True: ["plain torch", "KeOps", "fused", "features"],
}
QUADRATIC = ("plain torch", "KeOps", "fused", "pairwise")
MOST_SECONDS = 60.0


class Result(NamedTuple):
    """What a run cost and gave, or why there is none."""

    wall: float = float("nan")
    cpu: float = float("nan")
    memory: float = float("nan")  # MiB
    value: float = float("nan")
    note: str = ""


# ---- a contender's own process ------------------------------------------------------------------


def make_data(n: int, device: str, *, joint: bool) -> list[torch.Tensor | None]:
    """Mean, variance, targets in about [0, 1], inputs; predictions too sharp by a fifth."""
    rng = np.random.default_rng(0)
    x = rng.random((n, 4))
    mean, y = 0.15 + 0.7 * x[:, 0], 0.15 + 0.7 * x[:, 0] + 0.12 * rng.standard_normal(n)
    arrays = mean, np.full(n, 0.01), y, x
    data = [torch.tensor(each, dtype=torch.float32, device=device) for each in arrays]
    return [data[0].requires_grad_(), data[1].requires_grad_(), data[2], data[3] if joint else None]


def serve(
    pipe: Connection, name: str, joint: bool, bandwidths: Sequence[float],
    device: str, threads: int, gib: float,
) -> None:  # fmt: skip
    """Answer sizes with results until the pipe closes."""
    torch.set_num_threads(threads)
    if device == "cpu":  # an allocation that fails is a result, a machine that swaps is not
        resource.setrlimit(resource.RLIMIT_AS, (int(gib * 2**30),) * 2)
    try:
        objective = contender(name, bandwidths)
        measure(objective, 64, joint, device)  # compilers run, libraries load
    except ImportError:
        objective = None
    while True:
        try:
            n = pipe.recv()
        except EOFError:
            return
        pipe.send(
            measure(objective, n, joint, device) if objective else Result(note="not installed")
        )


def measure(objective: Objective, n: int, joint: bool, device: str) -> Result:
    mean, variance, y, x = make_data(n, device, joint=joint)
    before = start_memory(device)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        value = objective(mean, variance, y, x)
        value.backward()
        result = float(value.detach())  # waits for the device
        if device == "cuda":
            torch.cuda.synchronize()
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        short = any(word in str(error).lower() for word in ("memory", "alloc"))
        return Result(note="out of memory" if short else f"failed: {type(error).__name__}")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Result(wall, cpu, peak_memory(device) - before, result)


def start_memory(device: str) -> float:
    """MiB in use; the peak is counted from here."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    return _status("VmRSS")


def peak_memory(device: str) -> float:
    return torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else _status("VmHWM")


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return float(line.split()[1]) / 1024.0
    raise KeyError(field)


class Runner:
    """One contender in its process."""

    def __init__(self, name: str, title: str, options: argparse.Namespace) -> None:
        self.name = name
        self._start = name, *TABLES[title], options.device, options.threads, options.memory
        self._process: Any = None

    def run(self, n: int) -> Result:
        """Ask for one forward and backward pass."""
        if self._process is None:
            spawn = multiprocessing.get_context("spawn")
            self._pipe, other = spawn.Pipe()
            self._process = spawn.Process(target=serve, args=(other, *self._start), daemon=True)
            self._process.start()
            other.close()
        try:
            self._pipe.send(n)
            answer: Result = self._pipe.recv()
        except (EOFError, OSError):  # the system ended it
            self.stop()
            return Result(note="out of memory")
        return answer

    def stop(self) -> None:
        if self._process is not None:
            self._pipe.close()
            self._process.join()
            self._process = None


# ---- the tables ---------------------------------------------------------------------------------


def race(runners: list[Runner], n: int, repeats: int) -> dict[str, Result]:
    """Medians of interleaved runs; the first run of each warms up and measures the memory."""
    first = {runner.name: runner.run(n) for runner in runners}
    runs: dict[str, list[Result]] = {name: [] for name in first}
    for _ in range(repeats):
        for runner in runners:
            warm = first[runner.name]
            spent = sum(each.wall for each in runs[runner.name])
            if not warm.note and (not runs[runner.name] or spent < 10.0):
                runs[runner.name].append(runner.run(n))
    answer = {}
    for name, warm in first.items():
        done = [each for each in runs[name] if not each.note] or [warm]
        answer[name] = warm._replace(
            wall=statistics.median(each.wall for each in done),
            cpu=statistics.median(each.cpu for each in done),
        )
    return answer


def predicted(name: str, before: tuple[int, Result] | None, n: int) -> Result | None:
    """Result of a case that is not worth running, else None."""
    if before is None:
        return None
    size, result = before
    if result.note and not result.note.startswith("~"):
        return result  # what was out of memory stays so, what is missing stays missing
    wall = result.wall * (n / size) ** (2 if name in QUADRATIC else 1)
    return Result(wall, note="~") if wall > MOST_SECONDS else None


def table(title: str, options: argparse.Namespace) -> dict[tuple[str, int], Result]:
    joint, bandwidths = TABLES[title]
    runners = [Runner(name, title, options) for name in CONTENDERS[joint]]
    reference = Runner("pairwise", title, options)
    on_gpu = options.device == "cuda"
    print(f"\n{title}: {', '.join(f'{h:.3g}' for h in bandwidths)}")
    header = f"{'n':>9}  {'':<15}{'seconds':>11}{'CPU s':>10}{'peak MiB':>10}{'error':>10}"
    print(f"{header}{'plain torch':>13} x")
    results: dict[tuple[str, int], Result] = {}
    last: dict[str, tuple[int, Result]] = {}
    for n in options.sizes:
        skipped = {r.name: predicted(r.name, last.get(r.name), n) for r in runners}
        row = race([r for r in runners if not skipped[r.name]], n, options.repeats)
        row |= {name: each for name, each in skipped.items() if each is not None}
        truth = reference.run(n).value if n <= (16_384 if on_gpu else 4096) else float("nan")
        for runner in runners:
            result = row[runner.name]
            last[runner.name] = (n, result)
            results[runner.name, n] = result
            print(
                f"{n:>9,}  {runner.name:<15}{shown(result, truth, row['plain torch'])}", flush=True
            )
    for runner in (*runners, reference):
        runner.stop()
    return results


def shown(result: Result, truth: float, plain: Result) -> str:
    if result.note and result.note != "~":
        return f"{result.note:>25}"
    error = abs(result.value / truth - 1.0)
    faster = plain.wall / result.wall
    cells = (
        f"{result.note + format(result.wall, '.4g'):>11}",
        f"{result.cpu:>10.4g}" if np.isfinite(result.cpu) else f"{'':>10}",
        f"{result.memory:>10.0f}" if np.isfinite(result.memory) else f"{'':>10}",
        f"{error:>10.0e}" if np.isfinite(error) else f"{'':>10}",
        f"{faster:>13.3g}" if np.isfinite(faster) else "",
    )
    return "".join(cells)


def joint_rate(results: dict[tuple[str, int], Result], options: argparse.Namespace) -> None:
    """Share of the chip's rate at which the fused joint kernel runs."""
    kernels = 6
    # Of every pair of rows: targets with targets and predictions with predictions (each pair
    # once, they are symmetric), predictions with targets (both ways); a kernel takes an
    # exponential, and a reciprocal root where there is a variance; one more exponential for x.
    special = kernels * (0.5 * 1 + 0.5 * 2 + 1 * 2) + 0.5 + 0.5 + 1
    # Products and sums of a kernel with its two derivatives: 13; without them: 3.
    simple = kernels * (0.5 * 3 + 0.5 * 13 + 1 * 13) + 2.0 * (2 * 4 + 3)
    print(
        f"\njoint kernel, {kernels} bandwidths: a pair of rows needs {special:.0f} special "
        f"functions and {simple:.0f} fp32 instructions;\nassumed rates: "
        f"{options.special_rate:.3g} and {options.fp32_rate:.3g} a second (defaults: an H200, "
        "132 SMs at 1.98 GHz with 16 and 128 lanes)"
    )
    for (name, n), result in results.items():
        if name == "fused" and not result.note:
            special_share = special * n**2 / result.wall / options.special_rate
            simple_share = simple * n**2 / result.wall / options.fp32_rate
            print(
                f"n = {n:>9,}: {1e3 * result.wall:9.3f} ms, {special_share:6.1%} of the special-"
                f"function rate, {simple_share:6.1%} of the fp32 rate"
            )


def main() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--quick", action="store_true", help="two sizes, two repeats")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=None)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--memory", type=float, default=0.5 * total,
        help="GiB of address space a contender may take on a CPU; default half of the machine",
    )  # fmt: skip
    parser.add_argument("--special-rate", type=float, default=132 * 16 * 1.98e9)
    parser.add_argument("--fp32-rate", type=float, default=132 * 128 * 1.98e9)
    options = parser.parse_args()
    if options.sizes is None:
        options.sizes = SIZES[:2] if options.quick else SIZES
        if options.device == "cuda" and not options.quick:
            options.sizes = sorted([*SIZES, 32_768])
    options.repeats = 2 if options.quick else options.repeats

    machine = torch.cuda.get_device_name() if options.device == "cuda" else platform.machine()
    print(
        f"{date.today()}, {machine}, {os.cpu_count()} cores, {options.threads} threads, "
        f"load {os.getloadavg()[0]:.1f}, {options.memory:.0f} GiB, torch {torch.__version__}"
    )
    for title in TABLES:
        results = table(title, options)
    if options.device == "cuda":
        joint_rate(results, options)


if __name__ == "__main__":
    main()
