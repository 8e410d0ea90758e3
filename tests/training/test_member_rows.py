"""Rows of their own for every member, and averaged weights."""

from __future__ import annotations

import torch

from calibrant.losses import negative_log_likelihood
from calibrant.networks import MemberNetworks, NetworkSpec
from calibrant.training import MemberRows, Progress, Rows, SeriesWindows, Stage, run_stage
from calibrant.training.averaging import WeightAverage


def make_rows(n: int = 10) -> Rows:
    weight = torch.arange(1.0, n + 1)
    return Rows(torch.randn(n, 3), torch.arange(float(n)), weight / weight.mean())


def mean_nll(network: MemberNetworks, rows: Rows) -> torch.Tensor:
    loss = negative_log_likelihood(network(rows.x), rows.y)
    return (rows.weight * loss).mean(dim=-1)


def test_every_member_sees_its_own_rows() -> None:
    rows = make_rows()
    members = MemberRows.of(rows, [torch.tensor([0, 1, 2]), torch.tensor([7, 8, 9])])
    assert members.n_rows == 3
    batch = members.take(torch.tensor([[2, 0], [1, 1]]))
    assert batch.y.tolist() == [[2.0, 0.0], [8.0, 8.0]]
    torch.testing.assert_close(batch.x, rows.x[torch.tensor([[2, 0], [8, 8]])])
    torch.testing.assert_close(members.weight.mean(dim=1), torch.ones(2))
    torch.testing.assert_close(members.weight[0] / members.weight[0, 0], torch.tensor([1.0, 2, 3]))


def test_unequal_parts_are_filled_up_with_nothing() -> None:
    members = MemberRows.of(make_rows(), [torch.tensor([4]), torch.tensor([5, 6, 7])])
    (everything,) = members.parts(2)
    assert everything.y.tolist() == [[4.0, 0.0, 0.0], [5.0, 6.0, 7.0]]
    assert (everything.weight[0] > 0).tolist() == [True, False, False]
    torch.testing.assert_close(everything.weight.mean(dim=1), torch.ones(2))


def test_windows_are_gathered() -> None:
    series = torch.arange(12.0).view(6, 2)
    windows = SeriesWindows(series, torch.tensor([2, 3, 4, 5]), 3)
    rows = Rows(windows, torch.arange(4.0), torch.ones(4))
    (batch,) = MemberRows.of(rows, [torch.tensor([0, 1]), torch.tensor([2, 3])]).parts(2)
    assert batch.x.shape == (2, 2, 3, 2)
    torch.testing.assert_close(batch.x[1, 0], series[2:5])


def test_the_average_is_a_mean_at_first_and_forgets_later() -> None:
    network = MemberNetworks([NetworkSpec(n_inputs=2, hidden=(3,)).build()])
    bias = network.single.output.bias
    average = WeightAverage(network, steps=4)
    seen = [bias.detach().clone()]
    for value in (1.0, 2.0, 3.0):
        with torch.no_grad():
            bias.fill_(value)
        seen.append(bias.detach().clone())
        average.update()
    with average.in_place():  # the first four, the start among them, count alike
        torch.testing.assert_close(bias.detach(), torch.stack(seen).mean(dim=0))
    assert bias.tolist() == [3.0, 3.0]
    for _ in range(60):
        average.update()
    with average.in_place():
        torch.testing.assert_close(bias.detach(), torch.full((2,), 3.0), atol=1e-4, rtol=0)


def test_rows_of_others_do_not_touch_a_member() -> None:
    """Other targets in rows 0 to 4 move the member that trains on them, and no other."""

    def trained(y: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)
        networks = [NetworkSpec(n_inputs=3, hidden=(8,)).build() for _ in range(2)]
        network = MemberNetworks(networks)
        parts = MemberRows.of(rows._replace(y=y), [torch.arange(5), torch.arange(5, 10)])
        stage = Stage(
            number=1, loss=mean_nll, score=mean_nll, epochs=3, batch_size=2, lr=1e-2,
            weight_decay=0.0, patience=3, keep_best=False,
        )  # fmt: skip
        generators = [torch.Generator().manual_seed(seed) for seed in (0, 1)]
        run_stage(stage, network, parts, parts, generators, Progress())
        return network.by_name()["output.weight"].clone()

    torch.manual_seed(1)
    rows = make_rows()
    before, after = trained(rows.y), trained(rows.y + (torch.arange(10) < 5))
    assert not torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])
