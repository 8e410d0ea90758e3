"""The normal distribution function of very many numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from calibrant.distributions._checks import Array
from calibrant.distributions._mixture_points import FEW_COMPONENTS

_AT_ONCE = 1 << 15  # numbers that torch leaves to the thread it is called from


def many_ndtr(z: Array, out: Array | None = None) -> Array:
    """``Phi(z)``, as `scipy.special.ndtr` in less than half the time.

    torch has vector instructions for ``Phi(z) = erfc(-z / sqrt 2) / 2``, in which both tails keep
    their digits (relative error below 1e-13). It is imported late: who asks for the distribution
    functions of whole ensembles has loaded it, and few others need it.
    """
    import torch

    found: Array = np.multiply(z, -math.sqrt(0.5), out=out)
    for part in torch.from_numpy(found.reshape(-1)).split(_AT_ONCE):
        part.erfc_()
    found *= 0.5
    return found


def ndtr_for(n_components: int) -> Any:
    """Function to be called with z and out for every component of a mixture."""
    return ndtr if n_components <= FEW_COMPONENTS else many_ndtr
