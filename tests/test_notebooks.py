"""The notebooks of examples/ run, and show what a run of today shows."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
import torch
from tests.documents import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def kinds(notebook: dict[str, Any]) -> list[list[str]]:
    """Kinds of the outputs of every cell."""
    return [
        [each.get("name", each["output_type"]) for each in cell.get("outputs", ())]
        for cell in notebook["cells"]
    ]


def test_there_is_one_for_each_main_job() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["messy_table", "series", "your_model"]
    assert all(path.stat().st_size < 200_000 for path in NOTEBOOKS)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_outputs_are_stored(path: Path, tmp_path, monkeypatch) -> None:
    spec = importlib.util.spec_from_file_location("execute", ROOT / "examples" / "execute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    stored = json.loads(path.read_text(encoding="utf-8"))
    try:
        assert kinds(module.execute(stored, path.name)) == kinds(stored)
    finally:
        torch.set_num_threads(threads)
    assert any(kinds(stored))
