"""Data sets by name: synthetic ones with a known truth, and the tables of the paper.

>>> from calibrant import datasets
>>> data = datasets.load("heteroscedastic", n=500, random_state=0)
>>> data.X.shape, data.y.shape
((500, 4), (500,))
"""

from calibrant.datasets._dataset import Dataset, DatasetInfo
from calibrant.datasets._load import info, load, names, variants
from calibrant.datasets._places import cache_dir

__all__ = ["Dataset", "DatasetInfo", "cache_dir", "info", "load", "names", "variants"]
