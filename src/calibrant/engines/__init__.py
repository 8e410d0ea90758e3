"""Where work runs: in this process, in worker processes of this machine, or on a Ray cluster.

All engines are generators with the same contract. They take a function and items, and yield pairs
of an item and its result as items finish. An item is requested only when a worker is free for it.
A worker that dies loses only the item it was working on, and that item is retried once.
"""

from calibrant.engines.processes import run_in_processes
from calibrant.engines.ray import run_on_ray
from calibrant.engines.serial import run_serial

__all__ = ["run_in_processes", "run_on_ray", "run_serial"]
