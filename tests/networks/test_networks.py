"""Networks, heads and modules of the user's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from calibrant.errors import ParameterError
from calibrant.networks import MLP, GaussianHead, MemberNetworks, NetworkSpec


def test_mlp_is_the_papers() -> None:
    body = MLP(5, (256, 256))
    kinds = [type(layer).__name__ for layer in body]
    assert kinds == ["Linear", "ReLU", "Linear", "ReLU"]
    assert body(torch.zeros(3, 5)).shape == (3, 256)


def test_gaussian_head_is_mean_and_log_variance() -> None:
    outputs = torch.tensor([[1.0, -2.0], [0.0, 3.0]], dtype=torch.float64)
    dist = GaussianHead().torch_distribution(outputs)
    np.testing.assert_allclose(dist.loc, [1.0, 0.0])
    np.testing.assert_allclose(dist.variance, np.exp([-2.0, 3.0]), rtol=2e-3)
    same = GaussianHead().distribution(outputs)
    np.testing.assert_array_equal(same.stddev, dist.scale)


@pytest.mark.parametrize("log_variance", [-1e4, -60.0, 60.0, 1e4])
def test_extreme_log_variance_stays_finite_and_finds_back(log_variance: float) -> None:
    outputs = torch.tensor([[0.0, log_variance]], requires_grad=True)
    dist = GaussianHead().torch_distribution(outputs)
    assert 1e-6 < dist.scale.item() < 1e3
    dist.log_prob(torch.tensor([1.0])).sum().backward()
    assert torch.isfinite(outputs.grad).all()


def test_own_module_gets_a_head_and_is_not_changed() -> None:
    mine = nn.Sequential(nn.Linear(4, 7), nn.Tanh())
    network = NetworkSpec(body=mine, n_inputs=4).build()
    assert network.output.in_features == 7
    assert network.body is not mine
    assert network(torch.zeros(3, 4)).shape == (3, 2)


def test_errors_say_what_was_expected() -> None:
    with pytest.raises(ParameterError, match=r'network must be "mlp", "lstm", "gru" or a torch'):
        NetworkSpec(body="transformer", n_inputs=4, hidden=(8,)).build()
    with pytest.raises(ParameterError, match="at least one layer"):
        NetworkSpec(n_inputs=4, hidden=()).build()
    with pytest.raises(ParameterError, match=r"does not accept inputs of shape \(n, 4\)"):
        NetworkSpec(body=nn.Linear(5, 2), n_inputs=4).build()
    with pytest.raises(ParameterError, match=r"\(n, k\) features"):
        NetworkSpec(body=nn.Flatten(0), n_inputs=4).build()


def make_members(count: int, network: str | nn.Module = "mlp") -> list[nn.Module]:
    return [NetworkSpec(body=network, n_inputs=4, hidden=(8, 8)).build() for _ in range(count)]


@pytest.mark.parametrize("own", [False, True])
def test_members_as_one_are_the_members(own: bool) -> None:
    body = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh())
    networks = make_members(3, body if own else "mlp")
    for network in networks:
        nn.init.normal_(network.output.weight)
    members = MemberNetworks(networks)
    shared, each = torch.randn(5, 4), torch.randn(3, 5, 4)
    for x in (shared, shared[None]):
        torch.testing.assert_close(
            members.outputs(x), torch.stack([network(shared) for network in networks])
        )
    torch.testing.assert_close(
        members.outputs(each),
        torch.stack([network(x) for network, x in zip(networks, each, strict=True)]),
    )
    assert members(shared).loc.shape == (3, 5)


@pytest.mark.parametrize("count", [1, 3])
def test_member_weights_by_name_go_out_and_in(count: int) -> None:
    first, second = MemberNetworks(make_members(count)), MemberNetworks(make_members(count))
    x = torch.randn(7, 4)
    assert not torch.equal(first.outputs(x), second.outputs(x))
    second.load_by_name({name: value.clone() for name, value in first.by_name().items()})
    assert torch.equal(first.outputs(x), second.outputs(x))
    assert first.by_name()["body.0.weight"].shape == (count, 8, 4)
    with pytest.raises(KeyError, match="weights differ"):
        second.load_by_name({})
    with pytest.raises(ValueError, match=r"output\.bias has shape"):
        second.load_by_name(first.by_name() | {"output.bias": torch.zeros(9)})


def test_dropout_is_for_training_alone() -> None:
    members = MemberNetworks([NetworkSpec(n_inputs=4, hidden=(64,), dropout=0.5).build()] * 2)
    x = torch.randn(3, 4)
    members.eval()
    assert torch.equal(members.outputs(x)[0], members.outputs(x)[1])
    members.train()
    assert not torch.equal(members.outputs(x)[0], members.outputs(x)[1])


def test_passes_are_balanced_and_rows_do_not_see_each_other() -> None:
    torch.manual_seed(0)
    single = NetworkSpec(n_inputs=4, hidden=(32,), dropout=0.25).build()
    members = MemberNetworks([single]).eval()
    x = torch.randn(6, 4)
    passes = members.passes(x, 40, seed=0)
    assert passes.shape == (40, 6, 2)
    assert passes.std(dim=0).min() > 0
    # every unit is kept in as many passes: with one hidden layer their mean has no error
    torch.testing.assert_close(passes.mean(dim=0), single.eval()(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(members.passes(x[2:3], 40, seed=0)[:, 0], passes[:, 2])
    assert not torch.equal(members.passes(x, 40, seed=1), passes)
    with pytest.raises(ParameterError, match="Monte-Carlo passes need dropout"):
        MemberNetworks([NetworkSpec(n_inputs=4, hidden=(8,)).build()]).passes(x, 4, seed=0)
