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
from calibrant.networks.batch_ensemble import BatchEnsembleMLP
from calibrant.networks.distribution_network import DistributionNetwork
from calibrant.networks.dropout import monte_carlo_passes
from calibrant.networks.fast.stacked import fast_pass, is_perceptron
from calibrant.networks.recurrent import Recurrent

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
        rows = x[0] if x.ndim > self._rows_ndim and len(x) == 1 else x
        if self.size == 1:
            alone: Tensor = self.single(rows)
            return alone[None]
        pattern = self._pattern[0].train(self.training)
        fast = fast_pass(pattern)
        shared = rows.ndim == self._rows_ndim  # the same for all members
        if fast is not None:
            return fast(pattern, rows[None] if shared else rows, self._state())
        return self._by_vmap(pattern, rows, along=None if shared else 0)

    def _by_vmap(self, pattern: DistributionNetwork, rows: Tensor, along: int | None) -> Tensor:
        """Outputs of networks of any layers; `along` is the dimension of members in the rows."""

        def one(weights: dict[str, Tensor], buffers: dict[str, Tensor], rows: Tensor) -> Tensor:
            result: Tensor = functional_call(pattern, (weights, buffers), (rows,))
            return result

        batched = vmap(one, in_dims=(0, 0, along), randomness="different")
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

    @property
    def submodels(self) -> int:
        """Number of submodels of each network, which read every row; 1 where there are none."""
        body = getattr(self._one, "body", None)
        return body.submodels if isinstance(body, BatchEnsembleMLP) else 1

    def products(self, rows: int, steps: int) -> int:
        """Number of multiplications in a forward pass over these rows and steps.

        A perceptron reads all steps at once, other networks one after another.
        """
        at_once = self.submodels > 1 or is_perceptron(self._one)
        times = rows * self.submodels * (1 if at_once else steps)
        return times * sum(weight.numel() for weight in self.parameters())

    @property
    def _one(self) -> DistributionNetwork:
        """One of the networks, for its layers."""
        return self.single if self.size == 1 else self._pattern[0]

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
        state = self._state()
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
        return {k: v.detach() for k, v in self._state().items()}

    def _state(self) -> dict[str, Tensor]:
        return self._weights() | self._stacked_buffers()

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
