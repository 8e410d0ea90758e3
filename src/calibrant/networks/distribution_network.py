"""A body and a head as one module."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from calibrant.errors import ParameterError
from calibrant.networks.embeddings import InputGate, PeriodicEmbedding
from calibrant.networks.heads import Head
from calibrant.networks.mlp import MLP
from calibrant.networks.recurrent import Cell, Recurrent


class DistributionNetwork(nn.Module):
    """Network whose outputs a head turns into distributions.

    Parameters
    ----------
    body : nn.Module
        Maps (n, d), or sequences (n, steps, d), to features (n, k).
    n_hidden : int
        The k.
    head : Head
    given : tensor of shape (g,), optional
        The last of the head's outputs, the same for all rows and not learned.
    """

    given: Tensor

    def __init__(
        self, body: nn.Module, n_hidden: int, head: Head, given: Tensor | None = None
    ) -> None:
        super().__init__()
        self.body = body
        known = 0 if given is None else len(given)
        self.output = nn.Linear(n_hidden, head.n_outputs - known)
        self.head = head
        if given is not None:
            self.register_buffer("given", given.clone())

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs of the last layer and those given, (n, head.n_outputs)."""
        result: Tensor = self.output(self.body(x))
        return with_given(result, getattr(self, "given", None))


def with_given(outputs: Tensor, given: Tensor | None) -> Tensor:
    """Outputs (..., n, k) of a last layer with those given, (..., g), beside them."""
    if given is None:
        return outputs
    beside = given.unsqueeze(-2).expand(*outputs.shape[:-1], given.shape[-1])
    return torch.cat([outputs, beside], dim=-1)


def build_network(
    network: str | nn.Module,
    n_features: int,
    hidden: Sequence[int] | None,
    head: Head,
    *,
    dropout: float = 0.0,
    steps: int | None = None,
    periodic: float = 0.0,
    gated: bool = False,
    given: Tensor | None = None,
) -> DistributionNetwork:
    """Build the body that a user asked for and put a head on it.

    Parameters
    ----------
    network : "mlp", "lstm", "gru" or nn.Module
        A module of the user's own is copied, not changed; it maps (n, n_features), or sequences
        (n, steps, n_features), to (n, k).
    hidden : sequence of int or None
        Widths of the layers; None is (256, 256) for the "mlp" and (128, 64) for the others.
    dropout : float
        Share of the hidden units of a network of ours that are dropped in a training step.
    steps : int or None
        Length of the sequences that are read; None where a row is a vector. The "mlp" reads
        all steps of a sequence at once.
    periodic : float
        Above 0 the "mlp" sees its inputs through a `PeriodicEmbedding` of this scale.
    gated : bool
        Whether inputs can be hidden from the "mlp" by `hide_inputs`.
    given : tensor, optional
        Outputs that are not learned, see `DistributionNetwork`.
    """
    if isinstance(network, nn.Module):
        body = copy.deepcopy(network).float()
        shape = (n_features,) if steps is None else (steps, n_features)
        return DistributionNetwork(body, _output_width(body, shape), head, given)
    if network not in _HIDDEN:
        raise ParameterError(
            f'network must be "mlp", "lstm", "gru" or a torch.nn.Module, got {network!r}.'
        )
    widths = _HIDDEN[network] if hidden is None else hidden
    if not widths or any(width < 1 for width in widths):
        raise ParameterError(f"hidden must list the widths of at least one layer, got {hidden!r}.")
    if network == "mlp":
        mlp = _mlp(n_features * (steps or 1), widths, dropout, periodic, gated)
        return DistributionNetwork(mlp, widths[-1], head, given)
    if steps is None:
        raise ParameterError(
            f'network="{network}" reads sequences, but X is a table of {n_features} columns: pass '
            "X of shape (n, steps, d) or calibrant.estimators.Windows."
        )
    recurrent = Recurrent(cast(Cell, network), n_features, widths, dropout)
    return DistributionNetwork(recurrent, widths[-1], head, given)


def _mlp(
    n_features: int, widths: Sequence[int], dropout: float, periodic: float, gated: bool
) -> nn.Module:
    layers: list[nn.Module] = [InputGate(n_features)] if gated else []
    if periodic > 0:
        layers.append(PeriodicEmbedding(n_features, periodic))
        n_features *= PeriodicEmbedding.expansion
    mlp = MLP(n_features, widths, dropout)
    return nn.Sequential(nn.Flatten(), *layers, mlp) if layers else mlp


def hide_inputs(network: DistributionNetwork, columns: slice) -> None:
    """Hide some inputs from a gated network."""
    for module in network.modules():
        if isinstance(module, InputGate):
            module.shown[columns] = 0.0


def close_gates(network: DistributionNetwork) -> None:
    """Let a fresh network see its inputs as they are, without the embedding it may have.

    Its first layer then starts like one of as many inputs as are left.
    """
    if not isinstance(network.body, nn.Sequential):
        return
    for embedding, mlp in pairwise(network.body):
        if isinstance(embedding, PeriodicEmbedding) and isinstance(mlp, MLP):
            embedding.gate.zero_()
            first = cast(nn.Linear, mlp[0])
            larger = math.sqrt(embedding.expansion)
            for weight in first.parameters():
                weight.detach().mul_(larger)


_HIDDEN = {"mlp": (256, 256), "lstm": (128, 64), "gru": (128, 64)}  # those of the paper
_DROPOUT = {"lstm": 0.1, "gru": 0.1}


def own_dropout(network: str | nn.Module) -> float:
    """Share of the units that a network drops where the user does not say.

    Recurrent networks learn a series by heart where the MLP does not yet; see "Forecasting" in
    ``benchmarks/README.md`` for the figures. A module of the user's own brings its own layers.
    """
    return _DROPOUT.get(network, 0.0) if isinstance(network, str) else 0.0


def _output_width(body: nn.Module, row_shape: tuple[int, ...]) -> int:
    """Ask the module itself: two rows of zeros, in evaluation mode, no gradient."""
    was_training = body.training
    body.eval()
    shown = ", ".join(map(str, row_shape))
    with torch.no_grad():
        try:
            answer = body(torch.zeros(2, *row_shape))
        except RuntimeError as error:
            raise ParameterError(
                f"The network does not accept {shown} inputs a row: {error}"
            ) from error
    body.train(was_training)
    if not isinstance(answer, Tensor) or answer.ndim != 2 or len(answer) != 2:
        got = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise ParameterError(
            f"The network must map (n, {shown}) inputs to (n, k) features; for 2 rows it "
            f"returned {got}."
        )
    return answer.shape[1]
