"""Submodels that share weights: against separate networks, in plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from calibrant.errors import ParameterError
from calibrant.networks import (
    BatchEnsembleMLP,
    DistributionNetwork,
    MemberNetworks,
    MixtureHead,
    NetworkSpec,
)

K = 3


def spec(**changes: object) -> NetworkSpec:
    head = MixtureHead(2, submodels=K)
    fields = {"n_inputs": 4, "hidden": (8, 6), "periodic": 0.2, "submodels": K, "head": head}
    return NetworkSpec(**fields | changes)  # type: ignore[arg-type]


def built(seed: int = 0, **changes: object) -> DistributionNetwork:
    """A network whose vectors are not at their start, where many submodels would be alike."""
    torch.manual_seed(seed)
    network = spec(**changes).build()
    for weight in network.parameters():
        weight.detach().add_(0.1 * torch.randn(weight.shape))
    return network


def one_submodel(network: DistributionNetwork, k: int, x: Tensor) -> Tensor:
    """Outputs of submodel k by the formula, layer by layer."""
    body = network.body
    assert isinstance(body, BatchEnsembleMLP)
    x = x * (1.0 + 6.0 * body.scale)
    if body.embedding is not None:
        x = body.embedding(x)
    for layer in body.layers:
        own = (x * layer.before[k]) @ layer.weight  # type: ignore[operator, index]
        x = torch.relu(own * layer.after[k] + layer.bias[k])  # type: ignore[operator, index]
    bias = network.output.bias.view(K, -1)[k]
    return x @ network.output.weight[k] + bias


@pytest.mark.parametrize("periodic", [0.0, 0.2])
def test_each_submodel_is_a_perceptron(periodic: float) -> None:
    network, x = built(periodic=periodic), torch.randn(7, 4)
    outputs = network(x).view(7, K, -1)
    for k in range(K):
        torch.testing.assert_close(outputs[:, k], one_submodel(network, k, x))


def test_members_are_batched_with_values_and_gradients() -> None:
    networks = [built(seed) for seed in range(3)]
    together = MemberNetworks(networks)
    x = torch.randn(3, 5, 4)
    outputs = together.outputs(x)
    outputs.square().sum().backward()
    gradients = dict(zip(together._names, (w.grad for w in together.stacked), strict=True))
    for i, network in enumerate(networks):
        own = network(x[i])
        torch.testing.assert_close(outputs[i], own)
        own.square().sum().backward()
        for name, weight in network.named_parameters():
            grad = gradients[name]
            assert grad is not None
            torch.testing.assert_close(grad[i], weight.grad, rtol=1e-4, atol=1e-5)
    shared = together.outputs(x[0])
    torch.testing.assert_close(shared[2], networks[2](x[0]))


def test_submodels_start_with_random_signs_of_whole_inputs() -> None:
    torch.manual_seed(0)
    body = spec(n_inputs=40, embedded=tuple(range(0, 40, 2))).build().body
    assert isinstance(body, BatchEnsembleMLP)
    assert body.embedding is not None
    signs, sources = body.layers[0].before, body.embedding.sources()  # type: ignore[union-attr]
    assert set(signs.unique().tolist()) == {-1.0, 1.0}  # type: ignore[operator]
    for j in range(40):
        own = signs[:, sources == j]  # type: ignore[index]
        assert bool((own == own[:, :1]).all())
    assert torch.equal(body.layers[1].before, torch.ones(K, 8))  # type: ignore[arg-type]


def test_a_step_moves_the_scale_of_inputs_six_times_as_far() -> None:
    network, x = built(), torch.randn(7, 4)
    body = network.body
    assert isinstance(body, BatchEnsembleMLP)
    before = body(x)
    body.scale.detach().add_(0.01 / 6.0)
    after = body(x / (1.0 + 6.0 * body.scale) * (1.0 + 6.0 * body.scale - 0.01))
    torch.testing.assert_close(after, before)


def test_dropout_and_silu() -> None:
    network = built(dropout=0.5, activation="silu")
    x = torch.randn(50, 4)
    assert not torch.equal(network.train()(x), network.train()(x))
    assert torch.equal(network.eval()(x), network.eval()(x))
    plain = built(dropout=0.0, activation="silu")
    torch.testing.assert_close(network.eval()(x), plain(x))
    assert not torch.allclose(plain(x), built()(x))
    with pytest.raises(ParameterError, match=r"activation must be one of .*, got 'tanh'"):
        spec(activation="tanh")


def test_multiplications_count_submodels() -> None:
    one = MemberNetworks([built()])
    weights = sum(weight.numel() for weight in one.parameters())
    assert one.products(rows=10, steps=1) == 10 * K * weights


def test_a_part_keeps_its_weights() -> None:
    networks = [built(seed) for seed in range(3)]
    x = torch.randn(5, 4)
    part = MemberNetworks(networks).part(slice(1, 2))
    assert isinstance(part.single, nn.Module)
    torch.testing.assert_close(part.outputs(x)[0], networks[1](x))
