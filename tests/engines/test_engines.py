from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.engines import jobs

from calibrant.engines import choice, make_engine, run_in_processes, run_on_ray, run_serial
from calibrant.errors import DataError, MissingDependencyError, ParameterError

ROOT = Path(__file__).resolve().parents[2]
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: extra ray"
)
kills = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
ENGINES = [
    pytest.param(run_in_processes, id="processes"),
    pytest.param(run_on_ray, id="ray", marks=[needs_ray, pytest.mark.slow]),
]
Engine = Callable[..., Iterator[tuple[int, Any]]]


def test_serial() -> None:
    assert list(run_serial(abs, [3, -4])) == [(3, 3), (-4, 4)]


def test_engines_by_name() -> None:
    assert list(make_engine("processes", workers=1)(abs, [-4])) == [(-4, 4)]
    with pytest.raises(ParameterError, match="must be one of serial, processes, ray; got 'spark'"):
        make_engine("spark")
    with pytest.raises(ParameterError, match="names a Ray cluster, but the engine is 'serial'"):
        make_engine("serial", address="auto")


@pytest.mark.slow
@kills
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_worker_is_tried_again_and_takes_nothing_along(
    engine: Engine, tmp_path: Path
) -> None:
    asked = []

    def items() -> Iterator[int]:
        for item in range(6):
            asked.append(item)
            yield item

    found = {}
    for item, result in engine(partial(jobs.square, str(tmp_path)), items(), workers=2):
        found[item] = result
        # Two at work, and at most two more that took the places of those that ended.
        assert len(asked) <= len(found) + 4
    assert found == {0: 0, 1: 1, 2: 4, 3: None, 4: 16, 5: 25}
    assert [jobs.calls(tmp_path, item) for item in range(6)] == [1, 1, 2, 2, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_of_the_function_arrives_as_it_is(engine: Engine) -> None:
    with pytest.raises(DataError) as found:
        list(engine(jobs.refuse, [7], workers=1))
    assert str(found.value) == "7 is refused."


@pytest.mark.slow
@kills
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.engines.jobs", str(tmp_path)], cwd=ROOT
    )
    while not (tmp_path / "worker").exists() and started.poll() is None:
        time.sleep(0.05)
    worker = int((tmp_path / "worker").read_text())
    started.kill()
    started.wait()
    for _ in range(100):
        if has_ended(worker):
            return
        time.sleep(0.1)
    raise AssertionError("the worker outlived its parent")


def has_ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{process}/stat")  # where nobody collects it, a dead one stays listed
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_no_items() -> None:
    assert list(run_in_processes(abs, [], workers=2)) == []


@pytest.mark.slow
def test_a_worker_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert list(run_in_processes(jobs.threads, [0], workers=1)) == [(0, {1})]


def test_ray_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'calibrant\[ray\]'"):
        list(run_on_ray(abs, [1]))


def test_workers_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice.os, "sched_getaffinity", lambda _: range(16), raising=False)
    monkeypatch.setattr(choice, "_free_bytes", lambda: 4.6e9)
    assert choice.default_workers("cpu") == 3
    monkeypatch.setattr(choice, "_free_bytes", lambda: 1e8)
    assert choice.default_workers("cpu") == 1
    monkeypatch.setattr(choice, "_free_bytes", lambda: 1e12)
    assert choice.default_workers("cpu") == 16
