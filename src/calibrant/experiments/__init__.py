"""The tables of the paper as data: what was published, what to run, what came out."""

from calibrant.experiments.published import PublishedCell, published, published_cells
from calibrant.experiments.store import Cell, Store

__all__ = ["Cell", "PublishedCell", "Store", "published", "published_cells"]
