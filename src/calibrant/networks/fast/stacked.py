"""Forward passes of M stacked networks without the overhead of vmap, with the same outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from calibrant.networks.batch_ensemble import BatchEnsembleMLP, SubmodelOutput
from calibrant.networks.distribution_network import DistributionNetwork, with_fixed
from calibrant.networks.embeddings import PeriodicEmbedding
from calibrant.networks.fast.lstm import lstm_layer
from calibrant.networks.mlp import MLP
from calibrant.networks.recurrent import Recurrent

# Of a network, rows (M, n, ...) or (1, n, ...) and the weights and buffers of M networks by the
# names of one, (M, ...): their outputs (M, n, n_outputs).
Pass = Callable[[DistributionNetwork, Tensor, Mapping[str, Tensor]], Tensor]

_BATCHED = (nn.Flatten, PeriodicEmbedding, MLP)  # layers that `perceptron_pass` knows
_LSTM_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def fast_pass(network: DistributionNetwork) -> Pass | None:
    """Return the fast forward pass of networks like this one, or None where there is only vmap."""
    body = getattr(network, "body", None)  # a deep Gaussian process has none
    if isinstance(body, BatchEnsembleMLP):
        return submodels_pass
    if is_perceptron(network):
        return perceptron_pass
    if type(body) is Recurrent and body.cell == "lstm":
        return lstm_pass
    return None


def is_perceptron(network: DistributionNetwork) -> bool:
    """Whether `perceptron_pass` knows all layers of the network."""
    body = getattr(network, "body", None)
    return type(body) is MLP or (
        isinstance(body, nn.Sequential) and all(isinstance(layer, _BATCHED) for layer in body)
    )


def submodels_pass(
    network: DistributionNetwork, rows: Tensor, weights: Mapping[str, Tensor]
) -> Tensor:
    """Outputs of networks of submodels."""
    body = network.body
    assert isinstance(body, BatchEnsembleMLP)
    inside = {name.removeprefix("body."): weight for name, weight in weights.items()}
    features = body.batched(_flat(rows, weights), inside)
    x = SubmodelOutput.batched(features, weights["output.weight"], weights["output.bias"])
    return with_fixed(x, weights.get("fixed"))


def perceptron_pass(
    network: DistributionNetwork, rows: Tensor, weights: Mapping[str, Tensor]
) -> Tensor:
    """Outputs of perceptrons."""
    x = _flat(rows, weights)
    for name, layer in network.named_modules():
        if isinstance(layer, nn.Linear):
            weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
            x = torch.baddbmm(bias[:, None], x, weight.mT)
        elif isinstance(layer, nn.ReLU | nn.Dropout):
            x = layer(x)
        elif isinstance(layer, PeriodicEmbedding):
            x = layer.batched(x, *(weights[f"{name}.{part}"] for part in layer.parts))
    return with_fixed(x, weights.get("fixed"))


def lstm_pass(network: DistributionNetwork, rows: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
    """Outputs of LSTM networks, in a tenth of the operations."""
    body = network.body
    assert isinstance(body, Recurrent)
    x = rows.transpose(-3, -2).contiguous()  # time before the rows
    x = x.expand(len(weights["output.weight"]), *x.shape[1:])
    last = len(body.layers) - 1
    for i in range(last + 1):
        names = (f"body.layers.{i}.{part}_l0" for part in _LSTM_PARTS)
        x = lstm_layer(x, *(weights[name] for name in names), last=i == last)
        x = body.after(x) if i == last else body.between(x)
    x = torch.baddbmm(weights["output.bias"][:, None], x, weights["output.weight"].mT)
    return with_fixed(x, weights.get("fixed"))


def _flat(rows: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
    """Rows of every member as vectors, (M, n, d)."""
    return rows.expand(len(weights["output.weight"]), *rows.shape[1:]).flatten(2)
