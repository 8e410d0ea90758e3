"""``calibrant doctor``: what is installed, and what that makes possible."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from typing import Any

from calibrant.cli import _options as option
from calibrant.cli._output import write_heading, write_json, write_out
from calibrant.cli._text_table import definitions
from calibrant.persistence import installed_version

_PACKAGES = ("calibrant", "torch", "numpy", "scipy", "pandas", "scikit-learn", "safetensors")
# What each extra of pyproject.toml unlocks.
_UNLOCKS = {
    "gp": "DeepGPRegressor, deep Gaussian processes",
    "ray": "fit, predict, compare, tune, backtest and bench on Ray (--engine ray)",
    "sktime": "dist.to_skpro(), calibrant.adapters.skpro and .sktime",
    "onnx": "calibrant export, model.to_onnx()",
    "mlflow": "calibrant.adapters.mlflow",
    "tune": "calibrant tune, search for settings with Optuna",
    "rivals": "NGBoost, CatBoost, LightGBM with crepes and quantile-forest in bench and compare",
    "docs": "building the documentation (make docs)",
    "test": "running the tests (make test)",
}


def doctor(as_json: option.Json = False) -> None:
    """Show versions, devices and optional extras: what to include in a question or a bug report."""
    found = {"versions": _versions(), "devices": _devices(), "extras": _extras()}
    if as_json:
        write_json(found)
    else:
        _print(found)


def _versions() -> dict[str, str | None]:
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: installed_version(name) for name in _PACKAGES},
    }


def _devices() -> list[dict[str, Any]]:
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    devices: list[dict[str, Any]] = [
        {
            "device": "cpu",
            "name": platform.machine(),
            "cores": cores,
            "threads": torch.get_num_threads(),
        }
    ]
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        devices.append(
            {
                "device": f"cuda:{index}",
                "name": properties.name,
                "memory_gib": round(properties.total_memory / 2**30, 1),
            }
        )
    if torch.backends.mps.is_available():
        devices.append({"device": "mps", "name": "Apple GPU"})
    return devices


def _extras() -> list[dict[str, Any]]:
    """Return the extras that the package metadata names, and whether their packages are there."""
    packages: dict[str, list[str]] = {}
    for requirement in metadata.requires("calibrant") or []:
        if marked := re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement):
            name = re.match(r"[\w.-]+", requirement)
            assert name is not None, "a requirement begins with a name"
            packages.setdefault(marked[1], []).append(name[0])
    return [
        {
            "extra": extra,
            "installed": not (
                missing := [name for name in names if installed_version(name) is None]
            ),
            "missing": missing,
            "unlocks": _UNLOCKS.get(extra, ""),
        }
        for extra, names in packages.items()
    ]


def _print(found: dict[str, Any]) -> None:
    installed = {True: "yes", False: "no"}
    extras = [
        (each["extra"], installed[each["installed"]], each["unlocks"]) for each in found["extras"]
    ]
    longest = max((len(name) for name, *_ in extras), default=0)
    sections = {
        "Versions": [
            (name, version or "not installed") for name, version in found["versions"].items()
        ],
        "Devices": [(entry["device"], _in_words(entry)) for entry in found["devices"]],
        "Extras": [(f"{name:<{longest}}  {there:<3}", unlocks) for name, there, unlocks in extras],
    }
    for title, entries in sections.items():
        write_heading(title)
        label_width = max((len(label) for label, _ in entries), default=0)
        write_out(definitions(entries, label_width=label_width, indent=2) + "\n\n")
    absent = [name for name, there, _ in extras if there == "no"]
    if absent:
        write_out(f'An extra is installed with, for example, pip install "calibrant[{absent[0]}]"')


def _in_words(device: dict[str, Any]) -> str:
    if "cores" in device:
        return f"{device['name']}, cores: {device['cores']}, threads of torch: {device['threads']}"
    memory = f", {device['memory_gib']} GiB" if "memory_gib" in device else ""
    return f"{device['name']}{memory}"
