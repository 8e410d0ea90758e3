from __future__ import annotations

import json
import platform
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import torch

from calibrant.cli import doctor

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_every_extra_says_what_it_unlocks() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    assert set(doctor._UNLOCKS) == set(project["optional-dependencies"])


def test_json(run, monkeypatch) -> None:
    needs = ["numpy>=1", "gpytorch>=1.12; extra == 'gp'", "no-such-package[x]>=1; extra == 'ray'"]
    monkeypatch.setattr(metadata, "requires", lambda _: needs)
    monkeypatch.setattr(metadata, "version", _version_of(metadata.version))
    found = json.loads(run("doctor", "--json").stdout)
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["numpy"] == np.__version__
    cpu, *_ = found["devices"]
    assert (cpu["device"], cpu["threads"]) == ("cpu", torch.get_num_threads())
    assert cpu["cores"] >= 1
    gp, ray = found["extras"]
    assert (gp["extra"], gp["installed"], gp["missing"]) == ("gp", True, [])
    assert "DeepGPRegressor" in gp["unlocks"]
    assert (ray["extra"], ray["installed"], ray["missing"]) == ("ray", False, ["no-such-package"])


def _version_of(real):
    return lambda name: "1.15" if name == "gpytorch" else real(name)


def test_devices_on_a_machine_with_a_gpu(run, monkeypatch) -> None:
    class Properties:
        name = "NVIDIA H200"
        total_memory = 140 * 2**30

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties())
    done = run("doctor")
    assert done.exit_code == 0, done.stderr
    assert "cuda:0  NVIDIA H200, 140.0 GiB" in done.stdout


def test_text_for_people(run) -> None:
    done = run("doctor")
    assert (done.exit_code, done.stderr) == (0, "")
    for word in ("Versions", "Devices", "Extras", "torch", "threads of torch", "DeepGPRegressor"):
        assert word in done.stdout
