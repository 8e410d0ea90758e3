"""Monte-Carlo passes: which units they drop, and what they leave behind."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from calibrant.networks.dropout import balanced_mask, drop_in_passes, monte_carlo_passes


def make_network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(3, 8), nn.Dropout(0.25), nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2)
    )


@pytest.mark.parametrize(("p", "dropped"), [(0.25, 5), (0.5, 10), (0.0, 0)])
def test_every_unit_is_dropped_in_the_same_share_of_the_passes(p: float, dropped: int) -> None:
    mask = balanced_mask(p, 20, 7, torch.Generator().manual_seed(0))
    assert ((mask == 0).sum(dim=0) == dropped).all()
    torch.testing.assert_close(mask.mean(dim=0), torch.ones(7, dtype=torch.float64))
    assert dropped == 0 or not torch.equal(mask[:, 0], mask[:, 1])


@pytest.mark.parametrize("shape", [(4, 3), (4, 5, 3)])
def test_a_pass_drops_the_same_units_of_every_row_and_step(shape: tuple[int, ...]) -> None:
    x, mask = torch.rand(shape) + 1.0, torch.tensor([[0.0, 2.0, 2.0], [2.0, 0.0, 2.0]])
    first = drop_in_passes(x, mask, n_rows=4)
    again = drop_in_passes(first, mask, n_rows=4)
    for i in range(2):
        torch.testing.assert_close(first.unflatten(0, (2, 4))[i], mask[i] * x)
        torch.testing.assert_close(again.unflatten(0, (2, 4))[i], mask[i] ** 2 * x)


def test_passes_are_those_of_thinned_networks() -> None:
    network, x = make_network(), torch.randn(6, 3)
    generator = torch.Generator().manual_seed(3)
    masks = [balanced_mask(p, 4, 8, generator).float() for p in (0.25, 0.5)]
    expected = [network[4](network[2](network[0](x) * masks[0][i]) * masks[1][i]) for i in range(4)]
    torch.testing.assert_close(monte_carlo_passes(network, x, 4, seed=3), torch.stack(expected))


def test_a_network_is_neither_copied_nor_changed(monkeypatch) -> None:
    network, x = make_network().eval(), torch.randn(6, 3)
    before = network(x)

    def refuse(*_: object) -> None:
        raise AssertionError("a pass copied the network")

    monkeypatch.setattr(copy, "deepcopy", refuse)
    passes = monte_carlo_passes(network, x, 4, seed=0)
    assert not torch.equal(passes[0], before)
    assert torch.equal(network(x), before)


def test_a_failing_pass_leaves_no_hook_behind() -> None:
    class Failing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("no")

    network = nn.Sequential(nn.Dropout(0.5), Failing())
    with pytest.raises(RuntimeError, match="no"):
        monte_carlo_passes(network, torch.ones(2, 3), 4, seed=0)
    assert torch.equal(network[0](torch.ones(2, 3)), torch.ones(2, 3))
