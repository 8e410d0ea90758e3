"""Training on windows into a series."""

from __future__ import annotations

import torch

from calibrant.losses import negative_log_likelihood
from calibrant.networks import MemberNetworks, NetworkSpec
from calibrant.training import Progress, Rows, SeriesWindows, Stage, run_stage
from calibrant.training import rows as rows_module
from calibrant.training.loop import validation_score


def make_rows(n: int, seed: int, dtype: torch.dtype = torch.float64) -> Rows:
    generator = torch.Generator().manual_seed(seed)
    series = torch.randn(n + 4, 2, generator=generator, dtype=dtype)
    ends = torch.arange(4, n + 4)
    return Rows(SeriesWindows(series, ends, 4), series[4:, 0], torch.ones(n, dtype=dtype))


def nll(network: MemberNetworks, rows: Rows) -> torch.Tensor:
    return negative_log_likelihood(network(rows.x), rows.y).mean(dim=-1)


def make_network(*seeds: int, cell: str = "lstm") -> MemberNetworks:
    networks = []
    for seed in seeds:
        torch.manual_seed(seed)
        networks.append(
            NetworkSpec(body=cell, n_inputs=2, hidden=(12, 8), steps=4, dropout=0.0).build()
        )
    return MemberNetworks(networks, sequences=True).double()


STAGE = Stage(
    number=1, loss=nll, score=nll, epochs=5, batch_size=32, lr=1e-2, weight_decay=0.0, patience=9
)


def run(network: MemberNetworks, *orders: int) -> None:
    generators = [torch.Generator().manual_seed(seed) for seed in orders]
    run_stage(STAGE, network, make_rows(128, 1), make_rows(50, 2), generators, Progress())


def test_windows_are_gathered_row_by_row() -> None:
    rows = make_rows(10, 0)
    series = rows.inputs.series
    assert torch.equal(rows.x[3], series[4:8])
    batch = rows.take(torch.tensor([[0, 9], [5, 5]]))
    assert batch.x.shape == (2, 2, 4, 2)
    assert torch.equal(batch.x[0, 1], series[10:14])
    assert torch.equal(batch.y[1], rows.y[[5, 5]])
    assert torch.equal(batch.flat[0, 1], series[10:14].reshape(-1))
    assert torch.equal(rows.take(slice(None, None, 3)).y, rows.y[::3])


def test_many_windows_are_scored_in_parts(monkeypatch) -> None:
    network, rows = make_network(0, 1), make_rows(50, 3)
    whole = validation_score(STAGE.score, network, rows)
    monkeypatch.setattr(rows_module, "_SCORED_AT_ONCE", {"cpu": 4 * 7})
    assert [len(part.y) for part in rows.parts(1)] == [7] * 7 + [1]
    torch.testing.assert_close(validation_score(STAGE.score, network, rows), whole)


def test_members_end_where_they_would_have_ended_alone() -> None:
    """Twenty steps of Adam: the batched products and torch's fused layers agree."""
    for cell in ("lstm", "gru"):
        together = make_network(0, 1, 2, cell=cell)
        run(together, 7, 8, 9)
        for i in range(3):
            alone = make_network(i, cell=cell)
            run(alone, 7 + i)
            for name, value in alone.by_name().items():
                torch.testing.assert_close(
                    together.by_name()[name][i], value[0], rtol=1e-5, atol=1e-5
                )
