"""Speed that is felt, as ratios of one run: generous, but not beyond failing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from calibrant import Matching, MMDRegressor
from calibrant.distributions import Clipped, WithAtoms

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> MMDRegressor:
    """The networks of the default for a small table, hardly trained: they cost the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 8))
    y = X[:, 0] + 0.3 * np.abs(X[:, 1]) * rng.normal(size=1000)
    return MMDRegressor(random_state=0, epochs=1, matching=Matching(epochs=2)).fit(X, y)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def fastest(work: Callable[[], object], repeats: int) -> float:
    """Shortest CPU time: other programs only add to it."""
    durations = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        durations.append(time.process_time() - start)
    return min(durations)


@pytest.mark.slow
def test_the_mean_is_hardly_dearer_than_an_interval(model: MMDRegressor) -> None:
    X = np.random.default_rng(1).normal(size=(3000, 8))
    mean = fastest(lambda: model.predict(X), 3)
    # Measured 1.3 to 1.4, so not yet "at most as dear"; it was four times as dear.
    assert mean < 1.6 * fastest(lambda: model.predict_interval(X), 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bound", "atoms"])
def test_bounds_and_atoms_make_a_mean_little_dearer(model: MMDRegressor, kind: str) -> None:
    """Such means were integrals, 14 to 17 times as dear as an interval."""
    X = np.random.default_rng(1).normal(size=(1000, 8))
    dist, points = model.predict_dist(X), np.arange(-3.0, 4.0)
    if kind == "bound":
        dist = Clipped(dist, low=-1.0)
    else:
        dist = WithAtoms(dist, points, points - 0.5, points + 0.5)
    mean = fastest(lambda: dist[:].mean, 3)  # of a copy: a mean is computed once
    assert mean < 6.0 * fastest(lambda: dist.interval(0.9), 3)  # measured 2.7 and 4


@pytest.mark.slow
def test_a_row_costs_its_features_and_networks_and_little_more(model: MMDRegressor) -> None:
    row = np.random.default_rng(1).normal(size=(1, 8))
    features, networks = model.predictor_.features, model.predictor_.precise
    x = torch.as_tensor(features.transform(row))
    lookup = fastest(lambda: features.transform(row), 100)  # of the nearest training rows
    outputs = fastest(torch.no_grad()(lambda: networks.outputs(x)), 100)
    dist = fastest(lambda: model.predict_dist(row), 100)
    assert dist < 5.0 * (lookup + outputs)  # measured 2.9
    assert fastest(lambda: model.predict(row), 100) < 3.0 * dist
    assert fastest(lambda: model.predict_interval(row), 100) < 3.0 * dist


@pytest.mark.slow
def test_many_rows_cost_less_than_as_many_single_ones(model: MMDRegressor) -> None:
    rows = np.random.default_rng(1).normal(size=(2000, 8))
    together = fastest(lambda: model.predict_dist(rows), 2) / len(rows)
    single = fastest(lambda: model.predict_dist(rows[:1]), 50)
    assert together < single


@pytest.mark.slow
def test_nothing_is_copied_per_call(model: MMDRegressor, monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.zeros((1, 8))
    model.predict(row)
    monkeypatch.setattr("copy.deepcopy", None)
    model.predict(row)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_best_needs_less_than_a_gigabyte() -> None:
    """Peak of a process of its own; few epochs need as much memory as many."""
    code = """if True:
        import re, numpy as np
        from pathlib import Path
        from calibrant import Matching, MMDRegressor
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1000, 8))
        y = X[:, 0] + rng.normal(size=1000)
        model = MMDRegressor(quality="best", epochs=1, matching=Matching(epochs=1), device="cpu")
        model.fit(X, y).predict_interval(X)
        status = Path("/proc/self/status").read_text()  # getrusage counts the parent's peak, too
        print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1024


@pytest.mark.slow
def test_best_is_small_on_disk(tmp_path: Path) -> None:
    """For 600 rows 1 to 1.6 MB for each kind of networks that is kept."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    y = X[:, 0] + np.sin(2 * X[:, 2]) + 0.3 * np.abs(X[:, 1]) * rng.normal(size=600)
    model = MMDRegressor(quality="best", matching=Matching(epochs=8), random_state=0, device="cpu")
    model.fit(X, y).save(tmp_path / "m")
    kinds = len(model.predictor_.specs)
    assert sum(file.stat().st_size for file in (tmp_path / "m").iterdir()) < 1.7e6 * kinds


@pytest.mark.slow
def test_the_benchmark_prints_ratios() -> None:
    pytest.importorskip("lightgbm")
    pytest.importorskip("catboost")
    command = [sys.executable, "benchmarks/felt.py", "--rows", "60", "--new-rows", "200"]
    names = ["--only", "calibrant fast", "lightgbm", "catboost"]
    done = subprocess.run(
        [*command, *names], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    assert "as multiples of lightgbm" in done.stdout
    assert "as multiples of catboost" in done.stdout
    assert done.stdout.count("row, mean, ms") == 3
