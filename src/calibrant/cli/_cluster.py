"""Fit and predict the table of a file on a Ray cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli._files import staged
from calibrant.errors import ParameterError
from calibrant.tables import ParquetSource

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.cli._output import Messages
    from calibrant.estimators import NetworkRegressor


def fit_on_cluster(
    model: NetworkRegressor,
    path: Path,
    target: str,
    drop: Sequence[str],
    messages: Messages,
    *,
    address: str | None,
    workers: int | None,
    storage: str | None,
) -> int:
    """Fit a model to the rows of Parquet files or another table; return their number."""
    from calibrant.engines import default_scaling, fit_on_ray, ray_cluster

    with ray_cluster(address, workers) as ray, _storage(storage, address) as where:
        from ray.train import FailureConfig, RunConfig

        run_config = RunConfig(storage_path=where, failure_config=FailureConfig(max_failures=3))
        dataset = _dataset(ray, path, target, drop, messages)
        n_rows: int = dataset.count()
        fit_on_ray(
            model,
            dataset,
            label_column=target,
            scaling_config=default_scaling(workers),
            run_config=run_config,
        )
    return n_rows


def predict_on_cluster(
    function: Callable[[pd.DataFrame], pd.DataFrame],
    path: Path,
    out: Path,
    *,
    address: str | None,
    workers: int | None,
) -> None:
    """Write predictions of the rows of Parquet files into a folder, in parts."""
    from calibrant.engines import map_on_ray, ray_cluster

    source = ParquetSource(str(path))
    with ray_cluster(address, workers), staged(out.absolute()) as folder:
        map_on_ray(function, source, workers=workers).write_parquet(str(folder))


def _dataset(ray: Any, path: Path, target: str, drop: Sequence[str], messages: Messages) -> Any:
    """The table as a Ray dataset; Parquet files are read by the workers."""
    if is_parquet(path):
        source = ParquetSource(str(path), target=target, drop=drop)
        files = [each.path for each in source.files]
        return ray.data.read_parquet(files, columns=source.schema.names)
    from calibrant.cli._data import read_rows

    rows = read_rows(path, target, list(drop), messages).drop(columns=list(drop))
    return ray.data.from_pandas(rows)


def is_parquet(path: Path) -> bool:
    """Whether a path names Parquet files: one, a folder or a pattern."""
    return path.suffix == ".parquet" or path.is_dir() or "*" in path.name


@contextmanager
def _storage(storage: str | None, address: str | None) -> Iterator[str]:
    """Where checkpoints are stored; those of a local cluster go with it."""
    if storage is None and address is not None:
        raise ParameterError(
            "--storage must name a folder or URL that all workers of the cluster can reach."
        )
    with tempfile.TemporaryDirectory() as folder:
        yield storage or folder
