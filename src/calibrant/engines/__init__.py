"""Where work runs: in this process, in worker processes of this machine, or on a Ray cluster.

`run_serial`, `run_in_processes` and `run_on_ray` are generators with the same contract. They take a
function and items, and yield pairs of an item and its result as items finish. An item is requested
only when a worker is free for it. A worker that dies loses only the item it was working on, and
that item is retried once. `make_engine` returns one of them by its name.

`fit_members` trains the networks of one model with any of them. `fit_on_ray` and `predict_on_ray`
take the rows of one table to the workers of a Ray cluster.
"""

from calibrant.engines.choice import ENGINES, Run, default_workers, make_engine
from calibrant.engines.processes import run_in_processes
from calibrant.engines.ray import ray_cluster, run_on_ray
from calibrant.engines.ray_errors import as_own_errors
from calibrant.engines.ray_fit import RayFit, default_scaling, fit_on_ray, train_loop_per_worker
from calibrant.engines.ray_predict import PredictFrame, map_on_ray, predict_on_ray
from calibrant.engines.serial import run_serial
from calibrant.engines.spread import fit_members

__all__ = [
    "ENGINES",
    "PredictFrame",
    "RayFit",
    "Run",
    "as_own_errors",
    "default_scaling",
    "default_workers",
    "fit_members",
    "fit_on_ray",
    "make_engine",
    "map_on_ray",
    "predict_on_ray",
    "ray_cluster",
    "run_in_processes",
    "run_on_ray",
    "run_serial",
    "train_loop_per_worker",
]
