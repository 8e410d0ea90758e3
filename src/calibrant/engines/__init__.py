"""Where work is done: here, in processes of this machine, or on a Ray cluster.

Every engine is a generator of the same shape: a function and items in, pairs of an item and its
result out, in the order in which they end. Items are asked for one by one, when there is room.
A worker that dies takes the item it had along and nothing else; that item is tried again.
"""

from calibrant.engines.here import run_here
from calibrant.engines.processes import run_in_processes
from calibrant.engines.ray import run_on_ray

__all__ = ["run_here", "run_in_processes", "run_on_ray"]
