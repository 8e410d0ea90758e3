"""Fit and predict the table of a file on a Ray cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli._files import staged
from calibrant.errors import ParameterError
from calibrant.tables import ParquetSource, as_url

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.estimators import NetworkRegressor


def fit_on_cluster(
    model: NetworkRegressor,
    path: Path,
    target: str,
    drop: Sequence[str],
    *,
    address: str | None,
    workers: int | None,
    storage: str | None,
) -> int:
    """Fit a model to the rows of Parquet files, which the workers read; return their number."""
    from calibrant.engines import default_scaling, fit_on_ray, ray_cluster

    source = ParquetSource(as_url(path), target=target, drop=drop)
    with ray_cluster(address, workers), _storage(storage, address) as where:
        from ray.train import FailureConfig, RunConfig

        run_config = RunConfig(storage_path=where, failure_config=FailureConfig(max_failures=3))
        fit_on_ray(
            model,
            source,
            label_column=target,
            scaling_config=default_scaling(workers),
            run_config=run_config,
        )
    return source.n_rows


def fit_members_on_cluster(
    model: NetworkRegressor,
    address: str | None,
    workers: int | None,
    *data: Any,
    **options: Any,
) -> NetworkRegressor:
    """Fit a model to a table in memory; its networks are trained side by side."""
    from calibrant.engines import fit_members, ray_cluster, run_on_ray

    with ray_cluster(address, workers) as ray:
        parts = workers or int(ray.cluster_resources().get("CPU", 1))
        return fit_members(model, run_on_ray, parts, *data, **options)


def predict_on_cluster(
    function: Callable[[pd.DataFrame], pd.DataFrame],
    path: Path,
    out: Path,
    *,
    address: str | None,
    workers: int | None,
) -> None:
    """Write predictions of the rows of Parquet files into a folder, in parts."""
    from calibrant.engines import as_own_errors, map_on_ray, ray_cluster

    source = ParquetSource(as_url(path))
    cluster = ray_cluster(address, workers)
    with cluster, staged(out.absolute()) as folder, as_own_errors("Prediction"):
        map_on_ray(function, source, workers=workers).write_parquet(str(folder))


def is_parquet(path: Path) -> bool:
    """Whether a path names Parquet files: one, a folder, a pattern or a URL."""
    return path.suffix == ".parquet" or path.is_dir() or "*" in path.name or "://" in as_url(path)


@contextmanager
def _storage(storage: str | None, address: str | None) -> Iterator[str]:
    """Where checkpoints are stored; those of a local cluster go with it."""
    if storage is None and address is not None:
        raise ParameterError(
            "--storage must name a folder or URL that all workers of the cluster can reach."
        )
    with tempfile.TemporaryDirectory() as folder:
        yield folder if storage is None else storage_path(storage)


def storage_path(storage: str) -> str:
    """Return a folder or URL as Ray wants it: absolute, and of any filesystem of fsspec."""
    import pyarrow as pa
    from pyarrow.fs import FileSystem

    if "://" not in storage:
        return str(Path(storage).absolute())
    last: Exception | None = None
    for url in (storage, f"fsspec+{storage}"):  # Arrow's own filesystems are faster
        try:
            FileSystem.from_uri(url)
        except (pa.ArrowException, ImportError, OSError, ValueError) as error:
            last = error
        else:
            return url
    raise ParameterError(f"--storage {storage} can't be used: {last}") from last
