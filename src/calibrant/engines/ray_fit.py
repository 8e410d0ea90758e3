"""Fit a model to a Ray dataset, data parallel over the workers of a Ray cluster."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from calibrant.engines.ray import import_ray
from calibrant.engines.ray_errors import as_own_errors
from calibrant.engines.ray_predict import ROW, numbered_rows
from calibrant.engines.ray_rows import GAPS, HELD_OUT, Encode, Sides
from calibrant.errors import DataError, DataWarning, ParameterError
from calibrant.estimators import NetworkRegressor
from calibrant.estimators.fit_data import check_fit_data
from calibrant.estimators.parameters import Training, check_parameters
from calibrant.estimators.plan import Group, Plan
from calibrant.estimators.streamed_data import HELD_OUT_ROWS, SAMPLE_ROWS
from calibrant.estimators.train import restored, run_plans
from calibrant.tables import ParquetSource
from calibrant.training import Checkpoint, Checkpoints, MemberRows, Rows, Workers

if TYPE_CHECKING:
    import pandas as pd

_FILE = "training.safetensors"
_BLOCKS = {"batch_format": "pyarrow", "batch_size": None}  # a function is called with whole blocks

Model = TypeVar("Model", bound=NetworkRegressor)


def fit_on_ray(
    model: Model,
    dataset: Any,
    *,
    label_column: str,
    scaling_config: Any = None,
    run_config: Any = None,
    checkpoint_every: int = 10,
) -> Model:
    """Fit a model to a Ray dataset, data parallel over the workers of a Ray cluster.

    Every worker keeps its shard of the rows in memory and its share of every batch. Gradients are
    averaged, and matching compares the rows of all workers: N workers train what one would train.
    A worker that dies is replaced, and all continue from the last checkpoint.

    Parameters
    ----------
    model : estimator
        It is fitted in place.
    dataset : ray.data.Dataset or ParquetSource
        A table, with the target among its columns.
    label_column : str
        Column of the target. Rows without it are left out.
    scaling_config : ray.train.ScalingConfig, optional
        Number and resources of the workers; by default those of `default_scaling`.
    run_config : ray.train.RunConfig, optional
        Where checkpoints are stored, and how many failures are tolerated; by default three, in
        Ray's folder of results.
    checkpoint_every : int
        Epochs from one checkpoint to the next; each takes Ray one or two seconds.

    Returns
    -------
    model : the same estimator, fitted
        It predicts, saves and reports like any other.

    Notes
    -----
    The lines of this function may be written out for a trainer of your own::

        job = RayFit.prepare(model, dataset, label_column="y")
        trainer = TorchTrainer(train_loop_per_worker, **job.arguments())
        model = job.finish(trainer.fit())
    """
    import_ray()
    from ray.train import FailureConfig, RunConfig
    from ray.train.torch import TorchTrainer

    job = RayFit.prepare(model, dataset, label_column=label_column)
    trainer = TorchTrainer(
        train_loop_per_worker,
        **job.arguments(checkpoint_every),
        scaling_config=scaling_config or default_scaling(),
        run_config=run_config or RunConfig(failure_config=FailureConfig(max_failures=3)),
    )
    with as_own_errors("Training"):
        result = trainer.fit()
    job.finish(result)
    return model


def default_scaling(workers: int | None = None) -> Any:
    """Return the `ScalingConfig` of some workers, by default one for each GPU or core."""
    ray = import_ray()
    from ray.train import ScalingConfig

    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    # Half a core each: tasks that read and encode rows need some as well.
    return ScalingConfig(
        num_workers=workers or gpus or max(1, int(resources.get("CPU", 1))),
        use_gpu=gpus > 0,
        resources_per_worker={"CPU": 0.5, **({"GPU": 1} if gpus else {})},
    )


@dataclass(frozen=True)
class RayFit:
    """A fit to a Ray dataset before its training.

    Parameters
    ----------
    model : estimator
    plan : Plan
        Made from a sample of the rows. Its training rows are replaced by the workers' shards.
    rows : ray.data.Dataset
        Scaled training rows of all workers.
    """

    model: NetworkRegressor
    plan: Plan
    rows: Any

    @classmethod
    def prepare(cls, model: NetworkRegressor, dataset: Any, *, label_column: str) -> RayFit:
        """Draw the rows to plan with and those to hold out, and make the plan.

        Both are drawn at random block by block; all other rows are only trained on.
        """
        check_parameters(model)
        if not model._reads_streams:
            raise ParameterError(
                f"{type(model).__name__} needs all rows in one place: use fit, or MMDRegressor."
            )
        n_rows = dataset.n_rows if isinstance(dataset, ParquetSource) else dataset.count()
        if isinstance(dataset, ParquetSource):
            dataset = numbered_rows(dataset).drop_columns([ROW])
        columns = dataset.columns() or []
        if label_column not in columns:
            listed = ", ".join(columns[:10]) + (" ..." if len(columns) > 10 else "")
            raise DataError(
                f"The dataset has no column {label_column!r}, which label_column names. "
                f"Its columns are: {listed}."
            )
        fraction = (model.training or Training()).validation_fraction
        sides = Sides(
            label_column,
            seed=0 if not isinstance(model.random_state, int) else model.random_state,
            held_out=min(fraction, HELD_OUT_ROWS / max(n_rows, 1)),
            sample=min(1.0, SAMPLE_ROWS / max(n_rows, 1)),
        )
        drawn, n_gaps = _draw(dataset, sides, n_rows)
        held_out = drawn.pop(HELD_OUT).to_numpy(dtype=bool)
        sample, held = drawn[~held_out], drawn[held_out]
        data = check_fit_data(
            model,
            sample.drop(columns=label_column),
            sample[label_column],
            None,
            validation_data=(held.drop(columns=label_column), held[label_column]),
            groups=None,
            cv=None,
        )
        plan = model._plan_for(data._replace(n_elsewhere=n_rows - n_gaps - len(held)))
        model.target_name_ = label_column
        assert model.encoder_ is not None  # of a table
        encode = Encode(sides, model.encoder_, plan.features.scaler, plan.target)
        return cls(model, plan, dataset.map_batches(encode, **_BLOCKS))

    def arguments(self, checkpoint_every: int = 10) -> dict[str, Any]:
        """Arguments of a `TorchTrainer` for `train_loop_per_worker`."""
        from ray.data import ExecutionOptions
        from ray.train import DataConfig

        # In order, so that workers that start again get the rows that they had.
        return {
            "train_loop_config": {"plan": self.plan, "checkpoint_every": checkpoint_every},
            "datasets": {"train": self.rows},
            "dataset_config": DataConfig(
                execution_options=ExecutionOptions(preserve_order=True),
                enable_shard_locality=False,
            ),
        }

    def finish(self, result: Any) -> NetworkRegressor:
        """Calibrate the trained networks; return the fitted model."""
        with result.checkpoint.as_directory() as folder:
            saved = Checkpoint.load(Path(folder) / _FILE)
        return self.model._finish(self.plan, restored(self.plan, saved))


def _draw(dataset: Any, sides: Sides, n_rows: int) -> tuple[pd.DataFrame, int]:
    """Rows to plan with and rows to hold out, marked; and the number of rows without a target."""
    some, label = dataset.map_batches(sides.draw, **_BLOCKS), sides.label_column
    some.context.execution_options.preserve_order = True  # sums follow the order of the rows
    with as_own_errors("Reading"):
        drawn = some.to_pandas()
    n_gaps = int(drawn.pop(GAPS).sum())
    drawn = drawn[drawn[label].notna()]
    if n_gaps:
        warnings.warn(
            f"{n_gaps:,} of {n_rows:,} rows left out, they have no {label!r}.",
            DataWarning,
            stacklevel=4,
        )
    if drawn.empty:
        raise DataError(f"No row of the dataset has a value of {label!r}.")
    return drawn, n_gaps


def train_loop_per_worker(config: dict[str, Any]) -> None:
    """Train in one of the workers of a `TorchTrainer`; see `RayFit.arguments`.

    Parameters
    ----------
    config : dict
        "plan", and "checkpoint_every", a number of epochs.
    """
    import ray.train
    from ray.train.torch import get_device

    device = get_device()
    shard = ray.train.get_dataset_shard("train")
    parts = list(shard.iter_torch_batches(batch_size=1 << 16, dtypes=torch.float32, device=device))
    x, y = (torch.cat([part[name] for part in parts]) for name in ("x", "y"))
    rows = Rows(x, y, torch.ones_like(y))
    plan: Plan = config["plan"]
    plan = replace(
        plan,
        groups=tuple(_on_shard(group, rows) for group in plan.groups),
        verbose=False,
    )
    group = torch.distributed.group.WORLD
    assert group is not None
    first = ray.train.get_checkpoint()
    saved = None
    if first is not None:
        with first.as_directory() as folder:
            saved = Checkpoint.load(Path(folder) / _FILE)
    checkpoints = Checkpoints(_report, config["checkpoint_every"], saved)
    run_plans([plan], Workers(group, checkpoints))
    checkpoints.finish()


def _on_shard(group: Group, rows: Rows) -> Group:
    """Networks that are trained on a shard, all on its device."""

    def moved(own: Any) -> Any:
        return type(own)(*(each.to(rows.device) for each in own))

    assert not isinstance(group.validation, MemberRows)  # held out from all networks
    return replace(group, rows=moved(group.rows), validation=moved(group.validation), train=rows)


def _report(checkpoint: Checkpoint) -> None:
    """Report a checkpoint to Ray, which stores that of the first worker."""
    import ray.train

    metrics = {"kind": checkpoint.kind, "stage": checkpoint.stage}
    if ray.train.get_context().get_world_rank() > 0:
        ray.train.report(metrics)
        return
    with tempfile.TemporaryDirectory() as folder:
        checkpoint.save(Path(folder) / _FILE)
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))
