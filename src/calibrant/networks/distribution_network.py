"""A body and a head as one module."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from calibrant.errors import ParameterError
from calibrant.networks.heads import Head
from calibrant.networks.mlp import MLP


class DistributionNetwork(nn.Module):
    """Network whose outputs a head turns into distributions.

    Parameters
    ----------
    body : nn.Module
        Maps (n, d) to features (n, k).
    n_hidden : int
        The k.
    head : Head
    """

    def __init__(self, body: nn.Module, n_hidden: int, head: Head) -> None:
        super().__init__()
        self.body = body
        self.output = nn.Linear(n_hidden, head.n_outputs)
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs of the last layer, (n, head.n_outputs)."""
        result: Tensor = self.output(self.body(x))
        return result


def build_network(
    network: str | nn.Module,
    n_features: int,
    hidden: Sequence[int],
    head: Head,
    dropout: float = 0.0,
) -> DistributionNetwork:
    """Build the body that a user asked for and put a head on it.

    Parameters
    ----------
    network : "mlp" or nn.Module
        A module of the user's own is copied, not changed; it maps (n, n_features) to (n, k).
    dropout : float
        Share of the hidden units of the "mlp" that are dropped in a training step.
    """
    if isinstance(network, nn.Module):
        body = copy.deepcopy(network).float()
        return DistributionNetwork(body, _output_width(body, n_features), head)
    if network == "mlp":
        if not hidden or any(width < 1 for width in hidden):
            raise ParameterError(
                f"hidden must list the widths of at least one layer, got {hidden!r}."
            )
        return DistributionNetwork(MLP(n_features, hidden, dropout), hidden[-1], head)
    raise ParameterError(f'network must be "mlp" or a torch.nn.Module, got {network!r}.')


def _output_width(body: nn.Module, n_features: int) -> int:
    """Ask the module itself: two rows of zeros, in evaluation mode, no gradient."""
    was_training = body.training
    body.eval()
    with torch.no_grad():
        try:
            answer = body(torch.zeros(2, n_features))
        except RuntimeError as error:
            raise ParameterError(
                f"The network does not accept {n_features} inputs a row: {error}"
            ) from error
    body.train(was_training)
    if not isinstance(answer, Tensor) or answer.ndim != 2 or len(answer) != 2:
        shape = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise ParameterError(
            f"The network must map (n, {n_features}) inputs to (n, k) features; for 2 rows it "
            f"returned {shape}."
        )
    return answer.shape[1]
