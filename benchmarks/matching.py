"""Time, memory and error of distribution matching: python benchmarks/matching.py [--device cuda].

Marginal matching with the paper's and with adaptive bandwidths, joint matching with adaptive ones;
closed form for Gaussian predictions, six kernels, float32 input, forward and backward. On a CPU
every contender has a process of its own, and rounds take them in turn, so that other work on the
machine affects all of them; on a CUDA device they share a process and events measure the time, and
"in a graph" is a CUDA graph of the same pass. Memory is the peak above what was held before the
call. The error is that of the value against all pairs in float64 and, where those do not fit,
against our exact methods in float64. A case that would take longer than a minute (on a CUDA device
two seconds) is not run: its time is extrapolated from the size before and marked with ~.

--busy measures marginal matching on a CPU beside two processes that never rest: on one thread, on
all threads as we run it, and on all threads that are never given up.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from _contenders import Objective, contender

from calibrant.kernels import PUBLISHED_BANDWIDTHS, adaptive_bandwidths
from calibrant.losses.fast import chunks
from calibrant.losses.fast.frequencies import TAIL
from calibrant.threads import Threads

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
IN_A_GRAPH = {False: "linear in a graph", True: "fused in a graph"}  # on a CUDA device
QUADRATIC = ("plain torch", "KeOps", "fused", "pairwise", IN_A_GRAPH[True])
MOST_SECONDS = {"cpu": 60.0, "cuda": 2.0}
MOST_PAIRWISE = {"cpu": 4096, "cuda": 16_384}  # rows whose pairs fit in float64


class Result(NamedTuple):
    """Cost and value of a run, or why there is none."""

    wall: float = float("nan")
    cpu: float = float("nan")
    memory: float = float("nan")  # MiB
    value: float = float("nan")
    note: str = ""


# ---- one pass -----------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def make_data(n: int, device: str, *, joint: bool) -> list[torch.Tensor | None]:
    """Mean, variance, targets in about [0, 1], inputs; predictions too sharp by a fifth."""
    rng = np.random.default_rng(0)
    x = rng.random((n, 4))
    mean, y = 0.15 + 0.7 * x[:, 0], 0.15 + 0.7 * x[:, 0] + 0.12 * rng.standard_normal(n)
    arrays = mean, np.full(n, 0.01), y, x
    data = [torch.tensor(each, dtype=torch.float32, device=device) for each in arrays]
    return [data[0].requires_grad_(), data[1].requires_grad_(), data[2], data[3] if joint else None]


Pass = Callable[[], torch.Tensor]


def whole_pass(objective: Objective, n: int, joint: bool, device: str) -> Pass:
    """Forward and backward."""
    mean, variance, y, x = make_data(n, device, joint=joint)

    def run() -> torch.Tensor:
        mean.grad = variance.grad = None
        value = objective(mean, variance, y, x)
        value.backward()
        return value.detach()

    return run


def in_a_graph(run: Pass) -> Pass:
    """The same work as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # compile outside of the graph
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = run()

    def replay() -> torch.Tensor:
        graph.replay()
        return value

    return replay


def seconds(run: Pass, device: str) -> tuple[float, torch.Tensor]:
    if device == "cpu":
        start = time.perf_counter()
        value = run()
        return time.perf_counter() - start, value
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    torch.cuda.synchronize()
    events[0].record()
    value = run()
    events[1].record()
    torch.cuda.synchronize()
    return events[0].elapsed_time(events[1]) / 1000.0, value


def serve(
    pipe: Connection, name: str, joint: bool, bandwidths: Sequence[float],
    device: str, threads: int, gib: float,
) -> None:  # fmt: skip
    """Answer sizes with results until the pipe closes."""
    torch.set_num_threads(threads)
    if device == "cpu":  # a failed allocation is a result, swapping is not
        resource.setrlimit(resource.RLIMIT_AS, (int(gib * 2**30),) * 2)
    try:
        objective = contender(name, bandwidths)
        measure(objective, 64, joint, device)  # compiles and loads libraries
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
    run = whole_pass(objective, n, joint, device)
    before = start_memory(device)
    cpu = time.process_time()
    try:
        wall, value = seconds(run, device)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        short = any(word in str(error).lower() for word in ("memory", "alloc"))
        return Result(note="out of memory" if short else f"failed: {type(error).__name__}")
    cpu = time.process_time() - cpu
    return Result(wall, cpu, peak_memory(device) - before, float(value))


def start_memory(device: str) -> float:
    """MiB in use; the peak is counted from here."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    return _status("VmRSS")


def peak_memory(device: str) -> float:
    return torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else _status("VmHWM")


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return float(line.split()[1]) / 1024.0
    raise KeyError(field)


# ---- contenders ---------------------------------------------------------------------------------


class OnDevice:
    """One contender on a CUDA device, in this process."""

    def __init__(self, name: str, title: str, options: argparse.Namespace) -> None:
        self.name = name
        self._joint, bandwidths = TABLES[title]
        self._graphs: dict[int, Pass] = {}
        try:
            self._objective = contender(name.removesuffix(" in a graph"), bandwidths)
        except ImportError:
            self._objective = None

    def run(self, n: int) -> Result:
        """One forward and backward pass, at a new size after others that warm up."""
        if self._objective is None:
            return Result(note="not installed")
        if self.name in IN_A_GRAPH.values():
            return self._replay(n)
        result = measure(self._objective, n, self._joint, "cuda")
        if result.note:
            torch.cuda.empty_cache()
        return result

    def _replay(self, n: int) -> Result:
        before = start_memory("cuda")
        first = n not in self._graphs
        if first:
            run = whole_pass(self._objective, n, self._joint, "cuda")
            self._graphs = {n: in_a_graph(run)}
        wall, value = seconds(self._graphs[n], "cuda")
        memory = peak_memory("cuda") - before if first else float("nan")
        return Result(wall, float("nan"), memory, float(value))

    def stop(self) -> None:
        """Release its memory."""
        self._graphs = {}
        torch.cuda.empty_cache()


class Runner:
    """One contender in its process."""

    def __init__(self, name: str, title: str, options: argparse.Namespace) -> None:
        self.name = name
        self._start = name, *TABLES[title], options.device, options.threads, options.memory
        self._process: Any = None

    def run(self, n: int) -> Result:
        """One forward and backward pass."""
        if self._process is None:
            spawn = multiprocessing.get_context("spawn")
            self._pipe, other = spawn.Pipe()
            self._process = spawn.Process(target=serve, args=(other, *self._start), daemon=True)
            self._process.start()
            other.close()
        try:
            self._pipe.send(n)
            answer: Result = self._pipe.recv()
        except (EOFError, OSError):  # killed by the system
            self.stop()
            return Result(note="out of memory")
        return answer

    def stop(self) -> None:
        if self._process is not None:
            self._pipe.close()
            self._process.join()
            self._process = None


# ---- the tables ---------------------------------------------------------------------------------


def race(runners: list[Any], n: int, repeats: int, limit: float) -> dict[str, Result]:
    """Medians of interleaved runs; the first run of each warms up and measures the memory."""
    first = {runner.name: runner.run(n) for runner in runners}
    runs: dict[str, list[Result]] = {name: [] for name in first}
    for _ in range(repeats):
        for runner in runners:
            warm = first[runner.name]
            spent = sum(each.wall for each in runs[runner.name])
            if not warm.note and (not runs[runner.name] or spent < limit):
                runs[runner.name].append(runner.run(n))
    answer = {}
    for name, warm in first.items():
        done = [each for each in runs[name] if not each.note] or [warm]
        answer[name] = warm._replace(
            wall=statistics.median(each.wall for each in done),
            cpu=statistics.median(each.cpu for each in done),
        )
    return answer


def predicted(name: str, before: tuple[int, Result] | None, n: int, most: float) -> Result | None:
    """Result of a case that is not worth running, else None."""
    if before is None:
        return None
    size, result = before
    if result.note and not result.note.startswith("~"):
        return result  # out of memory or missing at larger sizes too
    wall = result.wall * (n / size) ** (2 if name in QUADRATIC else 1)
    return Result(wall, note="~") if wall > most else None


def table(title: str, options: argparse.Namespace) -> dict[tuple[str, int], Result]:
    joint, bandwidths = TABLES[title]
    on_gpu = options.device == "cuda"
    names = [*CONTENDERS[joint], *([IN_A_GRAPH[joint]] if on_gpu else [])]
    start = OnDevice if on_gpu else Runner
    runners = [start(name, title, options) for name in names]
    reference, exact = start("pairwise", title, options), start("exact", title, options)
    most = MOST_SECONDS[options.device]
    print(f"\n{title}: {', '.join(f'{h:.3g}' for h in bandwidths)}")
    header = f"{'n':>9}  {'':<18}{'seconds':>11}{'CPU s':>10}{'peak MiB':>10}{'error':>10}"
    print(f"{header}{'plain torch':>13} x")
    results: dict[tuple[str, int], Result] = {}
    last: dict[str, tuple[int, Result]] = {}
    for n in options.sizes:
        skipped = {r.name: predicted(r.name, last.get(r.name), n, most) for r in runners}
        racing = [r for r in runners if not skipped[r.name]]
        row = race(racing, n, options.repeats, most / 6.0)
        row |= {name: each for name, each in skipped.items() if each is not None}
        oracle = reference if n <= MOST_PAIRWISE[options.device] else exact
        costly = joint and oracle is exact and n > 2 * MOST_PAIRWISE[options.device]
        truth = float("nan") if costly else oracle.run(n).value
        for runner in runners:
            result = row[runner.name]
            last[runner.name] = (n, result)
            results[runner.name, n] = result
            print(
                f"{n:>9,}  {runner.name:<18}{shown(result, truth, row['plain torch'])}", flush=True
            )
    for runner in (*runners, reference, exact):
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
    # once, they are symmetric), predictions with targets (both ways). A kernel takes an
    # exponential, and for two predictions a reciprocal root; against a target that is one number
    # per row. One more exponential for x.
    special = kernels * (0.5 * 1 + 0.5 * 2 + 1 * 1) + 1
    # A kernel of two targets: 2; with its derivatives against a target 4, of two predictions 9.
    # Differences in x: 2 per axis; weights and sums of the three parts: 3, 11 and 27.
    simple = 0.5 * (2 * kernels + 3) + (4 * kernels + 11) + 0.5 * (9 * kernels + 27) + 2 * 4 + 1
    print(
        f"\njoint kernel, {kernels} bandwidths: a pair of rows needs {special:.0f} special "
        f"functions and {simple:.0f} fp32 instructions;\nassumed rates: "
        f"{options.special_rate:.3g} and {options.fp32_rate:.3g} per second (defaults: an H200, "
        "132 SMs at 1.98 GHz with 16 and 128 lanes)"
    )
    for (name, n), result in results.items():
        if name.startswith("fused") and not result.note:
            special_share = special * n**2 / result.wall / options.special_rate
            simple_share = simple * n**2 / result.wall / options.fp32_rate
            print(
                f"{name:<18}n = {n:>9,}: {1e3 * result.wall:9.3f} ms, {special_share:6.1%} of the "
                f"special-function rate, {simple_share:6.1%} of the fp32 rate"
            )


def marginal_rate(
    results: dict[tuple[str, int], Result], title: str, options: argparse.Namespace
) -> None:
    """Share of the chip's rate at which marginal matching runs."""
    _, bandwidths = TABLES[title]
    for (name, n), result in results.items():
        if name != IN_A_GRAPH[False] or result.note:
            continue
        mean, variance, y, _ = (
            None if each is None else each.detach() for each in make_data(n, "cuda", joint=False)
        )
        reach = float(torch.maximum(mean.max(), y.max()) - torch.minimum(mean.min(), y.min()))
        period = reach + TAIL * (max(bandwidths) + 2.0 * float(variance.max())) ** 0.5
        count = period * TAIL / (2.0 * np.pi * min(bandwidths) ** 0.5)
        # A wave of a target, of a normal, and of its gradient: a rotation and sums. Every 16th wave
        # takes a sine and a cosine twice, 60 instructions, and damping of normals, 46.
        instructions = (8 + 11 + 15) * count + (60 + 2 * 106) * np.ceil(count / 16)
        # Mean, variance, target and their masses twice, and again for the gradient; two written.
        moved = 4 * (3 + 5 + 3 + 2)
        bounds = instructions * n / options.fp32_rate, moved * n / options.bandwidth
        print(
            f"n = {n:>9,}: {count:5.0f} frequencies, {1e3 * result.wall:8.3f} ms; "
            f"{instructions:.0f} fp32 instructions per row: {1e3 * bounds[0]:.3f} ms, "
            f"{bounds[0] / result.wall:.0%}; {moved} bytes: {1e3 * bounds[1]:.3f} ms"
        )


# ---- a busy machine -----------------------------------------------------------------------------


def spin() -> None:
    while True:
        pass


def busy(options: argparse.Namespace) -> None:
    """Marginal matching beside processes that never rest."""
    spawn = multiprocessing.get_context("spawn")
    others = [spawn.Process(target=spin, daemon=True) for _ in range(2)]
    for process in others:
        process.start()
    n, ours = 100_000, chunks.THREADS
    print(f"{n:,} rows beside {len(others)} busy processes; seconds of {options.repeats} passes")
    print(f"{'':<34}{'threads':<28}{'first':>8}{'median':>8}{'longest':>8}")
    for title, (joint, bandwidths) in TABLES.items():
        if joint:
            continue
        run = whole_pass(contender("linear", bandwidths), n, joint, "cpu")
        for label, count, threads in (
            ("one", 1, ours),
            ("all, given up where they lose", options.threads, ours),
            # By a clock that stands still threads never lose.
            ("all, never given up", options.threads, Threads(clock=lambda: 0.0)),
        ):
            torch.set_num_threads(count)
            chunks.THREADS = threads
            walls = [seconds(run, "cpu")[0] for _ in range(options.repeats)]
            cells = "".join(
                f"{each:8.2f}" for each in (walls[0], statistics.median(walls), max(walls))
            )
            print(f"{title:<34}{label:<30}{cells}", flush=True)
    for process in others:
        process.terminate()


def main() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--busy", action="store_true", help="beside two busy processes, on a CPU")
    parser.add_argument("--quick", action="store_true", help="two sizes, two repeats")
    parser.add_argument("--repeats", type=int, default=None, help="default 5, on a GPU 20")
    parser.add_argument("--sizes", type=int, nargs="+", default=None)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--memory", type=float, default=0.5 * total,
        help="GiB of address space a contender may take on a CPU; default half of the machine",
    )  # fmt: skip
    parser.add_argument("--special-rate", type=float, default=132 * 16 * 1.98e9)
    parser.add_argument("--fp32-rate", type=float, default=132 * 128 * 1.98e9)
    parser.add_argument("--bandwidth", type=float, default=4.3e12, help="bytes per second")
    options = parser.parse_args()
    if options.sizes is None:
        options.sizes = SIZES[:2] if options.quick else SIZES
        if options.device == "cuda" and not options.quick:
            options.sizes = sorted([*SIZES, 32_768])
    if options.repeats is None:
        options.repeats = 2 if options.quick else 20 if options.device == "cuda" else 5

    machine = torch.cuda.get_device_name() if options.device == "cuda" else platform.machine()
    print(
        f"{date.today()}, {machine}, {os.cpu_count()} cores, {options.threads} threads, "
        f"load {os.getloadavg()[0]:.1f}, {options.memory:.0f} GiB, torch {torch.__version__}"
    )
    if options.busy:
        busy(options)
        return
    for title, (joint, _) in TABLES.items():
        results = table(title, options)
        if options.device == "cuda" and joint:
            joint_rate(results, options)
        elif options.device == "cuda":
            marginal_rate(results, title, options)


if __name__ == "__main__":
    main()
