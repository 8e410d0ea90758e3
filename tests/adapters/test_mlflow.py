"""The MLflow flavour, against a real tracking store in SQLite and a real scoring server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import HeteroscedasticRegressor
from calibrant.errors import ParameterError

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("alembic")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"size": RNG.normal(size=80), "city": RNG.choice(["Bonn", "Ulm"], 80)})
PARAMS = {"coverage": [0.5, 0.9], "alpha": [0.05]}


@pytest.fixture(scope="module")
def model() -> HeteroscedasticRegressor:
    made = HeteroscedasticRegressor(hidden=(4,), epochs=2, random_state=0)
    return made.fit(FRAME, FRAME["size"] + RNG.normal(size=80))


@pytest.fixture(scope="module")
def logged(
    model: HeteroscedasticRegressor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    from calibrant.adapters import mlflow as flavour

    folder = tmp_path_factory.mktemp("mlflow")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
    try:
        mlflow.create_experiment("test", artifact_location=(folder / "artifacts").as_uri())
        mlflow.set_experiment("test")
        with mlflow.start_run():
            yield flavour.log_model(model, name="model")
    finally:
        mlflow.set_tracking_uri(before)


def local_folder(info: Any) -> Path:
    return Path(mlflow.artifacts.download_artifacts(info.model_uri))


@pytest.mark.slow
def test_logged_and_loaded(model: HeteroscedasticRegressor, logged: Any) -> None:
    from calibrant.adapters import mlflow as flavour

    names = {path.name for path in local_folder(logged).rglob("*")}
    assert {"MLmodel", "manifest.json", "tensors.safetensors"} <= names
    assert not [name for name in names if name.endswith(".pkl")]
    loaded = mlflow.pyfunc.load_model(logged.model_uri)
    expected = model.predict_table(FRAME, **PARAMS)
    pd.testing.assert_frame_equal(loaded.predict(FRAME, params=PARAMS), expected)
    plain = model.predict_table(FRAME)
    pd.testing.assert_frame_equal(loaded.predict(FRAME), plain)
    again = flavour.load_model(logged.model_uri)
    assert isinstance(again, HeteroscedasticRegressor)


@pytest.mark.slow
def test_served(model: HeteroscedasticRegressor, logged: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = "import sys; from mlflow.cli import cli; sys.exit(cli())"
    options = ["models", "serve", "--env-manager", "local", "--host", "127.0.0.1"]
    options += ["--port", str(port), "--workers", "1", "-m", str(local_folder(logged))]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    server = subprocess.Popen(
        [sys.executable, "-c", command, *options], env=environment, start_new_session=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/ping", server)
        body = {"dataframe_split": FRAME[:5].to_dict("split"), "params": PARAMS}
        found = answer(f"{url}/invocations", json.dumps(body).encode())["predictions"]
    finally:
        os.killpg(server.pid, signal.SIGTERM)  # the server is a child of the command
        server.wait(30)
    expected = model.predict_table(FRAME[:5], **PARAMS)
    pd.testing.assert_frame_equal(pd.DataFrame(found), expected)


def wait_for(url: str, server: subprocess.Popen[bytes], seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise TimeoutError(url)


def answer(url: str, body: bytes) -> Any:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_what_cannot_be_logged_or_asked(model: HeteroscedasticRegressor, tmp_path: Path) -> None:
    from calibrant.adapters.mlflow import TablePredictor, save_model

    with pytest.raises(ParameterError, match=r"fitted model of calibrant.*got a dict"):
        save_model({}, tmp_path / "model")
    with pytest.raises(ParameterError, match=r"coverage and alpha, got \['coverages'\]"):
        TablePredictor(model).predict(FRAME, {"coverages": [0.9]})
