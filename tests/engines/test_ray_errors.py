"""What is said where there is no Ray, or no cluster."""

from __future__ import annotations

import socket
import sys
from threading import Thread

import numpy as np
import pytest

from calibrant import engines
from calibrant.engines import RayFit, as_own_errors, fit_on_ray, predict_on_ray, ray_cluster
from calibrant.engines import ray as ray_module
from calibrant.errors import CalibrantError, DataError, MissingDependencyError, ParameterError
from calibrant.estimators import HeteroscedasticRegressor, LaplaceRegressor, MMDRegressor


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_an_unreachable_address_fails_at_once(address: str) -> None:
    pytest.importorskip("ray", reason="ray is not installed: extra ray")
    with pytest.raises(CalibrantError, match=r"Cannot connect to a Ray cluster.*Is it running"):
        ray_cluster(address).__enter__()
    with pytest.raises(ParameterError, match="not an address host:port"):
        ray_cluster("localhost:port").__enter__()


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", None])
def test_a_port_of_something_else_fails_at_once(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="ray is not installed: extra ray")
    monkeypatch.setattr(ray_module, "_SECONDS_TO_CONNECT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            connection.recv(1 << 10)
            if answer is None:  # never says anything
                connection.recv(1)
            connection.sendall(answer or b"")
            connection.close()

        Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        said = "timed out" if answer is None else "what answers there is not Ray"
        with pytest.raises(CalibrantError, match=rf"Cannot connect.*{said}.*is the port right"):
            ray_cluster(address).__enter__()


class RayDataset:
    """Stands in for a dataset of Ray."""


RayDataset.__module__ = "ray.data.dataset"


def test_fit_takes_a_ray_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    model, dataset = MMDRegressor(), RayDataset()
    monkeypatch.setattr(engines, "fit_on_ray", lambda *data, **options: (*data, options))
    fitted = model.fit(dataset, label_column="y", scaling_config=1)
    assert fitted == (model, dataset, {"label_column": "y", "scaling_config": 1})
    with pytest.raises(ParameterError, match="y can't be passed with a Ray dataset, whose label_"):
        model.fit(dataset, "y")
    with pytest.raises(TypeError, match="'label_column': these are for Ray datasets, but X is lis"):
        model.fit([[0.0]], [1.0], label_column="y")


def test_predict_names_what_predicts_a_ray_dataset() -> None:
    x = np.random.default_rng(0).normal(size=(60, 1))
    model = HeteroscedasticRegressor(epochs=1, hidden=(4,)).fit(x, x[:, 0])
    with pytest.raises(DataError, match=r"predict_on_ray of calibrant\.engines predicts it"):
        model.predict(RayDataset())


def test_a_method_that_needs_all_rows_is_refused() -> None:
    with pytest.raises(ParameterError, match="LaplaceRegressor needs all rows in one place"):
        RayFit.prepare(LaplaceRegressor(), None, label_column="y")


@pytest.mark.parametrize("call", [fit_on_ray, predict_on_ray])
def test_ray_is_named_where_it_is_missing(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    options = {"label_column": "y"} if call is fit_on_ray else {}
    with pytest.raises(MissingDependencyError, match=r"pip install 'calibrant\[ray\]'"):
        call(MMDRegressor(), None, **options)


TRACEBACK = """ray::Write() (pid=1)
  File "a.py", line 1, in write
calibrant.errors.DataError: a.parquet, row group 1: column 'b' contains infinity.
Failed to apply UDF transform after 1/1 attempts."""


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (TRACEBACK, DataError, "a.parquet, row group 1: column 'b' contains infinity."),
        (
            TRACEBACK.replace("calibrant.errors.DataError: a.parquet", "OSError: [Errno 28] full"),
            CalibrantError,
            "Reading on Ray failed: OSError: [Errno 28] full, row group 1: column 'b' contains inf",
        ),
        ("The actor died.", CalibrantError, "Reading on Ray failed: The actor died."),
    ],
)
def test_errors_of_tasks_are_one_sentence(text: str, kind: type[Exception], said: str) -> None:
    exceptions = pytest.importorskip("ray.exceptions", reason="ray is not installed: extra ray")
    with pytest.raises(kind) as found, as_own_errors("Reading"):
        raise exceptions.RayError(text)
    assert str(found.value).startswith(said)
    assert "\n" not in str(found.value)
