"""M networks of one shape as one batched module."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.distributions import Distribution as TorchDistribution
from torch.func import functional_call, stack_module_state, vmap

from calibrant.errors import ParameterError
from calibrant.networks.batch_ensemble import BatchEnsembleMLP, SubmodelOutput
from calibrant.networks.distribution_network import DistributionNetwork, with_fixed
from calibrant.networks.dropout import monte_carlo_passes
from calibrant.networks.embeddings import PeriodicEmbedding
from calibrant.networks.fast.lstm import lstm_layer
from calibrant.networks.mlp import MLP
from calibrant.networks.recurrent import Recurrent

_BATCHED = (nn.Flatten, PeriodicEmbedding, MLP)  # layers that `_by_layers` knows
_LSTM_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


Precision = Literal["float32", "bfloat16"]


class MemberNetworks(nn.Module):
    """M networks of one shape with stacked weights: one batched product per layer instead of M.

    A single network, M = 1, runs as the plain module.

    Parameters
    ----------
    networks : sequence of DistributionNetwork
        Equal except for their weights, which are copied.
    sequences : bool, default False
        A row is a sequence (steps, d), not a vector (d,).
    """

    def __init__(self, networks: Sequence[DistributionNetwork], *, sequences: bool = False) -> None:
        super().__init__()
        self.size = len(networks)
        self._rows_ndim = 3 if sequences else 2
        self._precision: Precision = "float32"
        self.head = networks[0].head
        if self.size == 1:
            self.single = copy.deepcopy(networks[0])
            return
        # In a tuple, so that the pattern is no submodule: only its layers are used.
        self._pattern = (copy.deepcopy(networks[0]),)
        for module in self._pattern[0].modules():
            if isinstance(module, Recurrent):
                module.stepwise = True  # torch's fused layers can't be batched
        weights, buffers = stack_module_state(list(networks))
        self._names, self._buffer_names = list(weights), list(buffers)
        self.stacked = nn.ParameterList(nn.Parameter(w.detach()) for w in weights.values())
        for i, value in enumerate(buffers.values()):  # names of buffers may hold no dots
            self.register_buffer(f"buffer{i}", value)

    def outputs(self, x: Tensor) -> Tensor:
        """Outputs (M, n, head.n_outputs), in float32 or float64.

        Parameters
        ----------
        x : tensor of shape (n, d) or (1, n, d), the same rows for all, or (M, n, d)
            For sequences, (steps, d) instead of d.
        """
        if self._precision == "float32":
            return self._outputs(x)
        # Without its cache, which would keep tensors of one CUDA graph for the next.
        with torch.autocast(x.device.type, torch.bfloat16, cache_enabled=False):
            return self._outputs(x).float()

    @contextmanager
    def in_precision(self, precision: Precision) -> Iterator[None]:
        """Compute outputs with matrix products of this precision; weights and outputs keep theirs.

        Parameters
        ----------
        precision : {"float32", "bfloat16"}
        """
        before, self._precision = self._precision, precision
        try:
            yield
        finally:
            self._precision = before

    def _outputs(self, x: Tensor) -> Tensor:
        many = x.ndim > self._rows_ndim
        rows = x[0] if many and len(x) == 1 else x
        if self.size == 1:
            alone: Tensor = self.single(rows)
            return alone[None]
        pattern = self._pattern[0].train(self.training)
        body = getattr(pattern, "body", None)  # a deep Gaussian process has none
        if isinstance(body, BatchEnsembleMLP):
            return self._by_submodels(body, rows)
        if _is_perceptron(pattern):
            return self._by_layers(pattern, rows)
        if type(body) is Recurrent and body.cell == "lstm":
            return self._by_steps(body, rows)

        def one(weights: dict[str, Tensor], buffers: dict[str, Tensor], rows: Tensor) -> Tensor:
            result: Tensor = functional_call(pattern, (weights, buffers), (rows,))
            return result

        along = (0, 0, 0 if rows is x and many else None)
        batched = vmap(one, in_dims=along, randomness="different")
        try:
            result: Tensor = batched(self._weights(), self._stacked_buffers(), rows)
        except RuntimeError as error:
            if "Batching rule not implemented" not in str(error):
                raise
            raise ParameterError(
                "The network has a layer that can't be batched over members, such as nn.LSTM or "
                f'nn.GRU: use network="lstm" or "gru", or calibrant.networks.Recurrent. ({error})'
            ) from error
        return result

    def products(self, rows: int, steps: int) -> int:
        """Number of multiplications in a forward pass over these rows and steps.

        A perceptron reads all steps at once, other networks one after another; submodels read
        every row.
        """
        one = self.single if self.size == 1 else self._pattern[0]
        body = getattr(one, "body", None)
        if isinstance(body, BatchEnsembleMLP):
            times = rows * body.submodels
        else:
            times = rows * (1 if _is_perceptron(one) else steps)
        return times * sum(weight.numel() for weight in self.parameters())

    def _by_submodels(self, body: BatchEnsembleMLP, rows: Tensor) -> Tensor:
        """Outputs of networks with submodels: the same as by vmap, without its overhead."""
        weights = self._weights() | self._stacked_buffers()
        inside = {name.removeprefix("body."): weight for name, weight in weights.items()}
        features = body.batched(self._for_each(rows), inside)
        x = SubmodelOutput.batched(features, weights["output.weight"], weights["output.bias"])
        return with_fixed(x, weights.get("fixed"))

    def _for_each(self, rows: Tensor) -> Tensor:
        """Flat rows (M, n, d) for each member."""
        shared = rows.ndim == self._rows_ndim
        return (rows.expand(self.size, *rows.shape) if shared else rows).flatten(2)

    def _by_layers(self, pattern: DistributionNetwork, rows: Tensor) -> Tensor:
        """Outputs of perceptrons: the same as by vmap, without its overhead."""
        weights = self._weights() | self._stacked_buffers()
        x = self._for_each(rows)
        for name, layer in pattern.named_modules():
            if isinstance(layer, nn.Linear):
                weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
                x = torch.baddbmm(bias[:, None], x, weight.mT)
            elif isinstance(layer, nn.ReLU | nn.Dropout):
                x = layer(x)
            elif isinstance(layer, PeriodicEmbedding):
                x = layer.batched(x, *(weights[f"{name}.{part}"] for part in layer.parts))
        return with_fixed(x, weights.get("fixed"))

    def _by_steps(self, body: Recurrent, rows: Tensor) -> Tensor:
        """Outputs of LSTM networks: the same as by vmap, in a tenth of the operations."""
        weights = self._weights()
        x = rows.transpose(-3, -2).contiguous()  # time before the rows
        x = x.expand(self.size, *x.shape[-3:])
        last = len(body.layers) - 1
        for i in range(last + 1):
            names = (f"body.layers.{i}.{part}_l0" for part in _LSTM_PARTS)
            x = lstm_layer(x, *(weights[name] for name in names), last=i == last)
            x = body.after(x) if i == last else body.between(x)
        x = torch.baddbmm(weights["output.bias"][:, None], x, weights["output.weight"].mT)
        return with_fixed(x, self._stacked_buffers().get("fixed"))

    def part(self, members: slice) -> MemberNetworks:
        """Return some of the members as separate networks; of all members, this object."""
        chosen = range(self.size)[members]
        if len(chosen) == self.size:
            return self
        networks = []
        for i in chosen:
            networks.append(copy.deepcopy(self._pattern[0]))
            own = {name: value[i] for name, value in self.by_name().items()}
            networks[-1].load_state_dict(own, strict=False)  # some buffers are not persistent
        if len(chosen) == 1:
            for module in networks[0].modules():
                if isinstance(module, Recurrent):
                    module.stepwise = False
        part = MemberNetworks(networks, sequences=self._rows_ndim == 3)
        return part.to(self.stacked[0].device)

    def passes(self, x: Tensor, count: int, seed: int) -> Tensor:
        """Outputs of Monte-Carlo passes, (count, n, head.n_outputs).

        For M networks, with different rows in x (M, n, d), they are
        (M, count, n, head.n_outputs); every network drops the same units.
        """
        if self.size == 1:
            return monte_carlo_passes(self.single, x, count, seed)
        result = []
        state = self._weights() | self._stacked_buffers()
        for i, rows in enumerate(x):
            weights = {name: value[i] for name, value in state.items()}
            result.append(monte_carlo_passes(self._pattern[0], rows, count, seed, weights))
        return torch.stack(result)

    def forward(self, x: Tensor) -> TorchDistribution:
        """Predictive distributions of batch shape (M, n)."""
        return self.head.torch_distribution(self.outputs(x))

    def by_name(self) -> dict[str, Tensor]:
        """Weights and buffers of all members by the names of one network, each (M, ...).

        They share memory with the network: changing them in place changes it.
        """
        if self.size == 1:
            return {k: v.detach()[None] for k, v in self.single.state_dict(keep_vars=True).items()}
        return {k: v.detach() for k, v in (self._weights() | self._stacked_buffers()).items()}

    def _weights(self) -> dict[str, Tensor]:
        """Weights by the names of one network, each (M, ...), without M for a single one."""
        if self.size == 1:
            return dict(self.single.named_parameters())
        return dict(zip(self._names, self.stacked, strict=True))

    def _stacked_buffers(self) -> dict[str, Tensor]:
        return dict(zip(self._buffer_names, self.buffers(), strict=True))

    @torch.no_grad()
    def load_by_name(self, state: Mapping[str, Tensor]) -> None:
        """Load what `by_name` returned; names and shapes must be the same."""
        own = self.by_name()
        if own.keys() != state.keys():
            raise KeyError(f"weights differ: {sorted(own.keys() ^ state.keys())}")
        for name, value in own.items():
            if value.shape != state[name].shape:
                raise ValueError(
                    f"{name} has shape {tuple(state[name].shape)}, expected {tuple(value.shape)}"
                )
            value.copy_(state[name])


def _is_perceptron(network: DistributionNetwork) -> bool:
    """Whether `_by_layers` applies to all layers; a deep Gaussian process has no body."""
    body = getattr(network, "body", None)
    return type(body) is MLP or (
        isinstance(body, nn.Sequential) and all(isinstance(layer, _BATCHED) for layer in body)
    )
