"""A network with a body and a head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from calibrant.networks.batch_ensemble import BatchEnsembleMLP, SubmodelOutput
from calibrant.networks.heads import Head


class DistributionNetwork(nn.Module):
    """Network whose outputs a head turns into distributions.

    Parameters
    ----------
    body : nn.Module
        Maps (n, d), or sequences (n, steps, d), to features (n, k), or (K, n, k) for submodels.
    n_hidden : int
        Number of features k.
    head : Head
    fixed : sequence of float, optional
        The last outputs of the head, equal for all rows and not learned.
    """

    fixed: Tensor

    def __init__(
        self, body: nn.Module, n_hidden: int, head: Head, fixed: Sequence[float] = ()
    ) -> None:
        super().__init__()
        self.body = body
        learned = head.n_outputs - len(fixed)
        self.output: nn.Linear | SubmodelOutput
        if isinstance(body, BatchEnsembleMLP):
            self.output = SubmodelOutput(n_hidden, learned // body.submodels, body.submodels)
        else:
            self.output = nn.Linear(n_hidden, learned)
        self.head = head
        if fixed:
            self.register_buffer("fixed", torch.tensor(fixed, dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the last layer and the fixed ones, (n, head.n_outputs)."""
        result: Tensor = self.output(self.body(x))
        return with_fixed(result, getattr(self, "fixed", None))


def with_fixed(outputs: Tensor, fixed: Tensor | None) -> Tensor:
    """Append fixed outputs, (..., g), to those of a last layer, (..., n, k)."""
    if fixed is None:
        return outputs
    beside = fixed.unsqueeze(-2).expand(*outputs.shape[:-1], fixed.shape[-1])
    return torch.cat([outputs, beside], dim=-1)
