"""The pass by hand against autograd."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from calibrant.networks import MLP, GaussianHead, MemberNetworks, MixtureHead, build_network


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


def spectral_norm_first(body: MLP) -> MLP:
    body[0] = nn.utils.parametrizations.spectral_norm(body[0])
    return body


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.1},
        {"periodic": 0.1},
        {"gated": True},
        {"network": nn.Sequential(nn.Linear(3, 4), nn.ReLU()), "hidden": None},
        {"network": MLP(3, (4,)).append(nn.Linear(4, 5)), "hidden": None},
        {"network": spectral_norm_first(MLP(3, (4,))), "hidden": None},
        {"head": MixtureHead(1, spikes=1), "given": torch.zeros(2)},
    ],
    ids=["dropout", "embedding", "gate", "own module", "longer", "normalised", "given outputs"],
)
@pytest.mark.parametrize("members", [1, 2])
def test_other_networks_have_none(settings, members) -> None:
    assert networks(members, **settings).by_hand() is None


def test_a_perceptron_meets_a_window_once_and_an_lstm_at_every_step() -> None:
    for network, times in (("mlp", 20), ("lstm", 20 * 5)):
        both = networks(2, network=network, hidden=(4,), steps=5)
        assert both.products(rows=20, steps=5) == times * sum(w.numel() for w in both.parameters())
