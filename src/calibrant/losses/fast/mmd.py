"""Squared MMD by one of the fast paths, with the signature of the reference."""

from __future__ import annotations

from typing import cast

from torch import Tensor

from calibrant.kernels import GaussianKernel, Kernel
from calibrant.losses.fast.fused import fused_mmd
from calibrant.losses.fast.linear import linear_mmd
from calibrant.losses.fast.random_features import random_features_mmd
from calibrant.losses.fast.signed_measure import SignedMeasure, shares, u_statistic
from calibrant.losses.fast.switch import Path
from calibrant.losses.pairwise import row_scores
from calibrant.losses.prediction import Prediction


def fast_mmd(
    prediction: Prediction,
    y: Tensor,
    kernel: Kernel,
    row_weights: Tensor,
    condition: Tensor | None,
    *,
    diagonal: bool,
    path: Path,
    features: int,
) -> Tensor:
    """Squared MMD, (...): `pairwise_mmd` without gradients of targets and weights.

    Parameters
    ----------
    path : Path
        Any but "pairwise".
    features : int
        Number of random features of the path "features".
    """
    y, row_weights = y.detach(), row_weights.detach()
    measure = SignedMeasure.of(prediction, y, row_weights)
    *batches, n, _ = prediction.means.shape
    sums = row_weights.sum(dim=-1), row_weights.square().sum(dim=-1)
    if condition is not None:
        d = condition.shape[-1]
        condition = condition.to(path.dtype).expand(*batches, n, d).reshape(-1, n, d)
    if path.name in ("fused", "fused_triton"):
        value = _fused(path, measure, kernel, condition, diagonal).view(batches)
        return value if diagonal else u_statistic(value, *sums)
    value = _v_statistic(path, measure, kernel, condition, features).view(batches)
    if diagonal:
        return value
    scores = row_scores(prediction, y, kernel)
    value = value - (shares(row_weights).square() * scores).sum(dim=-1)
    return u_statistic(value, *sums)


def _fused(
    path: Path, measure: SignedMeasure, kernel: Kernel, condition: Tensor | None, diagonal: bool
) -> Tensor:
    if path.name == "fused":
        return fused_mmd(measure, kernel, condition, diagonal=diagonal)
    from calibrant.losses.fast.triton_pairs import sum_pairs

    return fused_mmd(measure, kernel, condition, diagonal=diagonal, sum_pairs=sum_pairs)


def _v_statistic(
    path: Path, measure: SignedMeasure, kernel: Kernel, condition: Tensor | None, features: int
) -> Tensor:
    gaussian = cast(GaussianKernel, kernel)
    if condition is not None:
        return random_features_mmd(measure, gaussian, condition, features)
    if path.name == "linear":
        return linear_mmd(measure, gaussian)
    from calibrant.losses.fast.triton_marginal import triton_mmd

    return triton_mmd(measure, gaussian)
