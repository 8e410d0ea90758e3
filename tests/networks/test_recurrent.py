"""Recurrent networks against torch's own layers."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from calibrant.errors import ParameterError
from calibrant.networks import MemberNetworks, NetworkSpec, Recurrent
from calibrant.networks.dropout import SequenceDropout
from calibrant.networks.recurrent import gru_states, lstm_states
from calibrant.training.averaging import WeightAverage

CELLS = ["lstm", "gru"]


@pytest.fixture
def blocks(monkeypatch) -> set[tuple[int, ...]]:
    """Where torch has laid out weights as cuDNN wants them; a layer with others fails to run."""
    found: set[tuple[int, ...]] = set()

    def places(layer: nn.RNNBase) -> tuple[int, ...]:
        return tuple(weight.data_ptr() for weight in layer._flat_weights)

    def forward(layer: nn.LSTM, x: Tensor) -> tuple[Tensor, None]:
        assert places(layer) in found
        return x.new_ones(*x.shape[:-1], layer.hidden_size), None

    monkeypatch.setattr(nn.RNNBase, "flatten_parameters", lambda layer: found.add(places(layer)))
    monkeypatch.setattr(nn.LSTM, "forward", forward)
    return found


def test_weights_of_one_network_are_always_one_block(blocks) -> None:
    """Else cuDNN copies them in every call, and warns."""
    built = [
        NetworkSpec(body="lstm", n_inputs=4, hidden=(6, 5), dropout=0.25, steps=5).build()
        for _ in range(3)
    ]
    x = torch.zeros(2, 5, 4)
    one = MemberNetworks(built, sequences=True).part(slice(1, 2))
    one.outputs(x)
    twin = copy.deepcopy(one)
    with pytest.raises(AssertionError):
        twin.outputs(x)
    twin.to(torch.float64).outputs(x.double())
    one.passes(x, 4, seed=0)
    average = WeightAverage(one, 10)
    for _ in range(2):
        with average.in_place():
            one.outputs(x)
        one.outputs(x)


@pytest.mark.parametrize(("kind", "states"), [(nn.LSTM, lstm_states), (nn.GRU, gru_states)])
@pytest.mark.parametrize("steps", [1, 6])
def test_plain_products_are_torchs_layer(
    kind: type[nn.RNNBase], states: Callable[[nn.RNNBase, Tensor], Tensor], steps: int
) -> None:
    """Values, and gradients of the inputs and of all weights."""
    torch.manual_seed(0)
    layer = kind(3, 7, batch_first=True).double()
    x = torch.randn(4, steps, 3, dtype=torch.float64, requires_grad=True)
    pull = torch.randn(4, steps, 7, dtype=torch.float64)
    wanted, got = layer(x)[0], states(layer, x)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
    leaves = [x, *layer.parameters()]
    for a, b in zip(
        torch.autograd.grad((got * pull).sum(), leaves, materialize_grads=True),
        torch.autograd.grad((wanted * pull).sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    single = layer.float()(x.float())[0]
    torch.testing.assert_close(states(layer, x.float()), single, rtol=0, atol=1e-6)


def test_lstm_is_the_papers() -> None:
    """128, then 64, the last state, then the linear layer."""
    network = NetworkSpec(body="lstm", n_inputs=6, steps=5, dropout=0.0).build()
    first, second = network.body.layers
    assert (first.input_size, first.hidden_size) == (6, 128)
    assert (second.input_size, second.hidden_size) == (128, 64)
    x = torch.randn(3, 5, 6)
    by_hand = network.output(second(first(x)[0])[0][:, -1])
    assert torch.equal(network(x), by_hand)


@pytest.mark.parametrize("cell", CELLS)
def test_members_as_one_are_the_members(cell: str) -> None:
    torch.manual_seed(0)
    networks = [
        NetworkSpec(body=cell, n_inputs=4, hidden=(9, 6), steps=5, dropout=0.0).build()
        for _ in range(3)
    ]
    members = MemberNetworks(networks, sequences=True)
    assert members.by_name()["body.layers.0.weight_ih_l0"].shape[0] == 3
    shared, each = torch.randn(7, 5, 4), torch.randn(3, 7, 5, 4)
    alone = torch.stack([network(shared) for network in networks])
    for x in (shared, shared[None]):
        torch.testing.assert_close(members.outputs(x), alone, rtol=0, atol=1e-6)
    torch.testing.assert_close(
        members.outputs(each),
        torch.stack([network(x) for network, x in zip(networks, each, strict=True)]),
        rtol=0,
        atol=1e-6,
    )


def test_mlp_reads_all_steps_at_once() -> None:
    network = NetworkSpec(n_inputs=4, hidden=(8,), steps=5).build()
    x = torch.randn(3, 5, 4)
    assert torch.equal(network(x), network(x.reshape(3, 20)))


@pytest.mark.parametrize("cell", CELLS)
def test_dropout_drops_a_unit_in_all_steps(cell: str) -> None:
    torch.manual_seed(0)
    dropped = SequenceDropout(0.5)(torch.ones(50, 4, 8))
    assert torch.equal(dropped, dropped[:, :1].expand(-1, 4, -1))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert 0.35 < (dropped == 0).float().mean() < 0.65  # 400 draws, six standard errors
    body = Recurrent(cell, 3, (16, 8), 0.5)  # type: ignore[arg-type]
    x = torch.randn(2, 4, 3)
    assert not torch.equal(body(x), body(x))
    body.eval()
    assert torch.equal(body(x), body(x))


@pytest.mark.parametrize("cell", CELLS)
def test_passes_drop_the_same_units_in_every_row_and_step(cell: str) -> None:
    torch.manual_seed(0)
    members = MemberNetworks(
        [NetworkSpec(body=cell, n_inputs=4, hidden=(32, 16), dropout=0.25, steps=5).build()],
        sequences=True,
    )
    x = torch.randn(6, 5, 4)
    passes = members.passes(x, 8, seed=0)
    assert passes.shape == (8, 6, 2)
    assert passes.std(dim=0).min() > 0
    torch.testing.assert_close(members.passes(x[2:3], 8, seed=0)[:, 0], passes[:, 2])


def test_errors_say_what_to_do() -> None:
    with pytest.raises(
        ParameterError, match=r"table of 4 columns: pass X of shape \(n, steps, d\)"
    ):
        NetworkSpec(body="lstm", n_inputs=4, hidden=(8,)).build()
    with pytest.raises(ParameterError, match=r"does not accept inputs of shape \(n, 5, 4\)"):
        NetworkSpec(body=nn.Linear(3, 2), n_inputs=4, steps=5).build()

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(4, 3, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.lstm(x)[0][:, -1]

    networks = [NetworkSpec(body=Own(), n_inputs=4, steps=5).build() for _ in range(2)]
    assert MemberNetworks(networks[:1], sequences=True).outputs(torch.zeros(3, 5, 4)).shape[0] == 1
    with pytest.raises(ParameterError, match='use network="lstm" or "gru"'):
        MemberNetworks(networks, sequences=True).outputs(torch.zeros(3, 5, 4))
