"""The loss of stage 2 of `MMDRegressor`: a kernel score, and pairs of rows that are matched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch
from torch import Tensor
from torch.distributed import ProcessGroup

from calibrant.estimators.objectives import mean_loss
from calibrant.estimators.parameters import Matching
from calibrant.kernels import (
    PUBLISHED_BANDWIDTHS,
    EnergyKernel,
    GaussianKernel,
    Kernel,
    adaptive_bandwidths,
    median_rows,
    median_squared_distance,
)
from calibrant.losses import DistributionMatchingLoss, Match, kernel_score
from calibrant.networks import Head, MemberNetworks, MixtureHead
from calibrant.training import Rows


@dataclass(frozen=True)
class MatchingObjective:
    """Loss of stage 2 for each member, (M,): ``matching + score_weight * kernel score``.

    Parameters
    ----------
    score_kernel : Kernel
    score_weight : float
    make_matching : callable or None
        Makes the loss of pairs of rows, given a `condition_bandwidth`; None for the score alone.
    condition_bandwidth : tensor of shape (1,) or (M,), or None
        Bandwidth of the kernel on the inputs, per model or per member.
    """

    score_kernel: Kernel
    score_weight: float
    make_matching: Callable[..., DistributionMatchingLoss] | None = None
    condition_bandwidth: Tensor | None = None

    @cached_property
    def _matching(self) -> DistributionMatchingLoss | None:
        if self.make_matching is None:
            return None
        return self.make_matching(condition_bandwidth=self.condition_bandwidth)

    def __call__(self, network: MemberNetworks, rows: Rows) -> Tensor:
        """Loss of a batch."""
        outputs = network.outputs(rows.x)
        terms: list[Tensor] = []
        if self._matching is not None:
            terms.append(_of_pairs(self._matching, network.head, outputs, rows))
        if self.score_weight > 0:
            score = partial(kernel_score, kernel=self.score_kernel, dtype=torch.float32)
            terms.append(self.score_weight * mean_loss(score, network.head, outputs, rows))
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]

    def across(self, group: ProcessGroup) -> MatchingObjective:
        """Return the loss that matches the rows of all processes."""
        if self.make_matching is None:
            return self
        return replace(self, make_matching=partial(self.make_matching, process_group=group))

    @staticmethod
    def join(losses: Sequence[MatchingObjective], members: int) -> MatchingObjective:
        """Join the losses of several models with `members` networks each into one."""
        each = [loss.condition_bandwidth for loss in losses]
        tensors = [value for value in each if isinstance(value, Tensor)]
        if not tensors:
            return losses[0]
        return replace(losses[0], condition_bandwidth=torch.cat(tensors).repeat_interleave(members))


def _of_pairs(
    matching: DistributionMatchingLoss, head: Head, outputs: Tensor, rows: Rows
) -> Tensor:
    """Loss of pairs of rows for every member, (M,)."""
    if isinstance(head, MixtureHead):
        # Two rows of mixtures of K normals are K^2 pairs of normals. The first K-th of the rows,
        # which are in random order, has as many pairs as all rows would have with single normals.
        kept = slice(None, max(2, rows.n_rows // (head.components * head.submodels)))
        rows = Rows(*(each[:, kept] for each in (rows.x, rows.y, rows.weight)))
        outputs = outputs[:, kept]
    loss: Tensor = matching(head.torch_distribution(outputs), rows.y, rows.flat, rows.weight)
    return loss


def matching_objective(matching: Matching, match: Match | None, rows: Rows) -> MatchingObjective:
    """Objective with bandwidths that follow the scaled training rows."""
    kernel = GaussianKernel(_bandwidths(matching, rows.y))
    score_kernel: Kernel = EnergyKernel() if matching.score_kernel == "energy" else kernel
    if match is None:
        return MatchingObjective(score_kernel, matching.score_weight)
    make = partial(
        DistributionMatchingLoss,
        match=match,
        statistic=matching.statistic,
        expectation=matching.expectation,
        kernel=kernel,
    )
    bandwidth: Tensor | None = None
    if match == "joint":
        some = rows.take(median_rows(len(rows.y))).flat
        bandwidth = 0.1 * median_squared_distance(some).float()[None]
    return MatchingObjective(score_kernel, matching.score_weight, make, bandwidth)


def _bandwidths(matching: Matching, y: Tensor) -> Sequence[float]:
    if matching.bandwidths == "adaptive":
        return adaptive_bandwidths(float(y.std()) or 1.0)
    if matching.bandwidths == "published":
        return PUBLISHED_BANDWIDTHS
    return [float(each) for each in matching.bandwidths]
