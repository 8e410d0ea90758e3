"""A small table with every kind of column, a model fitted to it, and a way to run commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from calibrant.cli import app

Run = Callable[..., Result]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Keep torch on one thread, here and in processes: two would wait for a busy core."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def run() -> Run:
    """Run a command; its output, its errors and its exit code are in the result."""

    def invoke(*arguments: object) -> Result:
        # Wide, so that messages stay on one line; usage errors are drawn in a box.
        runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
        return runner.invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """120 rows: numbers, gaps, categories, true and false, an identifier."""
    rng = np.random.default_rng(0)
    n = 120
    size = rng.uniform(0.0, 2.0, n)
    colour = rng.choice(["red", "green", "blue"], n)
    y = size + (colour == "red") + 0.2 * rng.standard_normal(n)
    frame = pd.DataFrame(
        {
            "name": [f"row {i}" for i in range(n)],
            "size": size,
            "age": rng.integers(1, 90, n).astype(float),
            "colour": colour,
            "sold": rng.random(n) > 0.5,
            "shop": rng.choice(["north", "south", "east", "west"], n),
            "importance": rng.uniform(0.5, 2.0, n),
            "price": y,
        }
    )
    frame.loc[[3, 40], "age"] = np.nan
    frame.loc[[7, 50], "colour"] = None
    return frame


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> Path:
    """A folder with that table as table.csv, table.csv.gz and table.parquet."""
    folder = tmp_path_factory.mktemp("data")
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_csv(folder / "table.csv.gz", index=False)
    frame.to_parquet(folder / "table.parquet", index=False)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, data: Path, run: Run) -> Path:
    """A model folder, fitted to the CSV file by the command itself."""
    folder = tmp_path_factory.mktemp("models") / "model"
    done = run("fit", data / "table.csv", "--target", "price", "--out", folder, "--epochs", 2)
    assert done.exit_code == 0, done.stderr
    return folder
