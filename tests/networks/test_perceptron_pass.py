"""The pass by hand against autograd."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from calibrant.networks import GaussianHead, MemberNetworks, MixtureHead, build_network


def networks(members: int, **settings) -> MemberNetworks:
    torch.manual_seed(0)
    settings = {"network": "mlp", "hidden": (7, 4), "head": GaussianHead()} | settings
    built = [build_network(n_features=3, **settings) for _ in range(members)]
    return MemberNetworks(built, sequences="steps" in settings).double()


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("hidden", [(2,), (7, 4), (5, 5, 5)])
@pytest.mark.parametrize("steps", [None, 2])
def test_outputs_and_gradients_are_those_of_autograd(members, hidden, steps) -> None:
    network = networks(members, hidden=hidden, **({"steps": steps} if steps else {}))
    weights = list(network.parameters())
    x = torch.rand(members, 20, *([steps] if steps else []), 3, dtype=torch.float64)
    slope = torch.rand(members, 20, 2, dtype=torch.float64)
    outputs = network.outputs(x)
    expected = torch.autograd.grad((slope * outputs).sum(), weights)
    by_hand = network.by_hand()
    torch.testing.assert_close(by_hand.forward(x), outputs.detach())
    by_hand.backward(slope)
    for weight, gradient in zip(weights, expected, strict=True):
        assert weight.grad.is_contiguous()
        torch.testing.assert_close(weight.grad, gradient)


def test_weights_are_looked_up_anew() -> None:
    """Averaging swaps the data of the weights between two passes."""
    network, x = networks(1), torch.rand(1, 5, 3, dtype=torch.float64)
    by_hand = network.by_hand()
    before = by_hand.forward(x)
    for weight in network.parameters():
        weight.data = weight.data * 0.5
    assert not torch.equal(by_hand.forward(x), before)
    torch.testing.assert_close(by_hand.forward(x), network.outputs(x).detach())


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.1},
        {"periodic": 0.1},
        {"gated": True},
        {"network": nn.Sequential(nn.Linear(3, 4), nn.ReLU()), "hidden": None},
        {"head": MixtureHead(1, spikes=1), "given": torch.zeros(2)},
    ],
    ids=["dropout", "embedding", "gate", "own module", "given outputs"],
)
@pytest.mark.parametrize("members", [1, 2])
def test_other_networks_have_none(settings, members) -> None:
    assert networks(members, **settings).by_hand() is None
