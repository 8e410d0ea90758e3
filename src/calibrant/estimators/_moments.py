"""Several answers to one row as one distribution: the law of total variance."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from calibrant.distributions import Distribution, Mixture, Normal
from calibrant.networks import Head, to_numpy


def matched_moments(head: Head, outputs: Tensor) -> Normal:
    """Normal with the mean and the variance of the mixture of all answers.

    ``Var Y = E Var(Y | m) + Var E(Y | m)``: the mean of the variances is the aleatoric part, the
    variance of the means over members or passes m the epistemic one.

    Parameters
    ----------
    outputs : tensor of shape (M, n, n_outputs)
    """
    dist = head.torch_distribution(outputs)
    means, variances = dist.mean, dist.variance  # (M, n)
    epistemic = means.var(dim=0, correction=0)
    total = variances.mean(dim=0) + epistemic
    normal = Normal(to_numpy(means.mean(dim=0)), to_numpy(total.sqrt()))
    return normal.with_epistemic(to_numpy(epistemic))


def equal_mixture(head: Head, outputs: Tensor) -> Distribution:
    """Mixture of all answers with equal weights, each a normal or a mixture itself."""
    return weighted_mixture(head, outputs, np.full(len(outputs), 1.0 / len(outputs)))


def weighted_mixture(head: Head, outputs: Tensor, weights: NDArray[np.float64]) -> Distribution:
    """Mixture of all answers with these weights, (M,), which add up to 1."""
    parts = [cast(Normal | Mixture, head.distribution(each)) for each in outputs]
    means = to_numpy(head.torch_distribution(outputs).mean)
    centre = weights @ means
    return Mixture.of(parts, weights).with_epistemic(weights @ (means - centre) ** 2)
