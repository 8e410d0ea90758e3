"""Recurrent networks: stacked LSTM or GRU layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, cast

import torch
from torch import Tensor, nn

from calibrant.networks.dropout import SequenceDropout

Cell = Literal["lstm", "gru"]


class Recurrent(nn.Module):
    """Stacked recurrent layers; the output is the last state of the last layer.

    Parameters
    ----------
    cell : {"lstm", "gru"}
    n_features : int
        Features per step of the input.
    hidden : sequence of int
        Widths of the layers; the last one is the width of the output.
    dropout : float, default 0
        Share of the units of each layer that are dropped, the same ones in all steps of a row
        (Gal and Ghahramani 2016).

    Notes
    -----
    The layers are torch's. A single network runs torch's fused code, which can't be batched over
    members. `MemberNetworks` runs LSTM networks by `lstm_layer`; for GRU networks and for modules
    that contain this one it sets `stepwise`, which computes the steps by plain products.
    """

    def __init__(
        self, cell: Cell, n_features: int, hidden: Sequence[int] = (128, 64), dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.cell = cell
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.layers = nn.ModuleList(
            kind(before, after, batch_first=True)
            for before, after in pairwise([n_features, *hidden])
        )
        self.between: nn.Module = SequenceDropout(dropout) if dropout > 0 else nn.Identity()
        self.after: nn.Module = nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        self.stepwise = False

    def forward(self, x: Tensor) -> Tensor:
        """Features (n, hidden[-1]) of sequences (n, steps, n_features)."""
        *lower, last = self.layers
        for layer in lower:
            x = self.between(self._states(layer, x))
        result: Tensor = self.after(self._states(last, x)[:, -1])
        return result

    def _states(self, layer: nn.Module, x: Tensor) -> Tensor:
        """States of a layer after every step, (n, steps, width)."""
        if self.stepwise:
            plain = lstm_states if isinstance(layer, nn.LSTM) else gru_states
            return plain(cast(nn.RNNBase, layer), x)
        states: Tensor = layer(x)[0]
        return states


def lstm_states(layer: nn.RNNBase, x: Tensor) -> Tensor:
    """Output of a one-layer ``nn.LSTM``, (n, steps, width), by plain products.

    The formula is that of `lstm_layer`, which does the same for M layers at once.
    """
    w_input, w_state, b_input, b_state = layer.all_weights[0]
    width = w_state.shape[1]
    states: list[Tensor] = []
    memory: Tensor | None = None
    for gates in _project(x, w_input, b_input + b_state):
        if states:  # the first state is 0
            gates = torch.addmm(gates, states[-1], w_state.T)
        both, candidate, out = gates.split([2 * width, width, width], dim=1)
        enter, keep = torch.sigmoid(both).chunk(2, dim=1)
        new = enter * torch.tanh(candidate)
        memory = new if memory is None else torch.addcmul(new, keep, memory)
        states.append(torch.sigmoid(out) * torch.tanh(memory))
    return torch.stack(states).transpose(0, 1)


def gru_states(layer: nn.RNNBase, x: Tensor) -> Tensor:
    """Output of a one-layer ``nn.GRU``, (n, steps, width), by plain products.

    With ``r, z`` the gates and ``a = W_ih x_t + b_ih``, ``b = W_hh h + b_hh``::

        n = tanh(a_n + sigmoid(r) b_n)               h = (1 - sigmoid(z)) n + sigmoid(z) h
    """
    w_input, w_state, b_input, b_state = layer.all_weights[0]
    width = w_state.shape[1]
    state = x.new_zeros(len(x), width)
    states: list[Tensor] = []
    for given in _project(x, w_input, b_input):
        own = torch.addmm(b_state, state, w_state.T)
        gates = torch.sigmoid(given[:, : 2 * width] + own[:, : 2 * width])
        reset, keep = gates.chunk(2, dim=1)
        new = torch.tanh(torch.addcmul(given[:, 2 * width :], reset, own[:, 2 * width :]))
        state = torch.lerp(new, state, keep)
        states.append(state)
    return torch.stack(states).transpose(0, 1)


def _project(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    """Input part of the gates, (n, gates) for every step, by one product for all steps."""
    n, steps, _ = x.shape
    times = x.transpose(0, 1).flatten(0, 1)  # time first, so that every step is contiguous
    return torch.addmm(bias, times, weight.T).view(steps, n, -1).unbind()
