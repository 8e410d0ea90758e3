"""The network for all steps, by a hidden layer and by a mixer of seasons."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from calibrant.networks import DirectNetwork, DirectShape, WindowBatch

SHAPE = DirectShape(
    window=14, horizon=10, n_levels=5, n_series=2, n_known=3, n_past=1, n_static=2, hidden=8,
    dropout=0.0,
)  # fmt: skip
SEASON = 4
KINDS = pytest.mark.parametrize("mixed_season", [0, SEASON])


def batch(shape: DirectShape, n: int = 6) -> WindowBatch:
    torch.manual_seed(0)
    return WindowBatch(
        past=torch.randn(n, shape.window),
        past_inputs=torch.randn(n, shape.window, shape.n_past),
        known=torch.randn(n, shape.horizon, shape.n_known),
        static=torch.randn(n, shape.n_static),
        series=torch.arange(n) % (shape.n_series + 1),
        seasonal=torch.randn(n, shape.horizon, shape.n_levels).sort(dim=2).values,
    )


@KINDS
def test_it_starts_near_the_seasonal_quantiles(mixed_season: int) -> None:
    shape = replace(SHAPE, mixed_season=mixed_season)
    x = batch(shape)
    quantiles = DirectNetwork(shape)(x)
    assert quantiles.shape == (6, shape.horizon, shape.n_levels)
    assert (quantiles - x.seasonal).abs().mean() < 0.2


@KINDS
@pytest.mark.parametrize("name", ["past", "past_inputs", "known", "static", "series", "seasonal"])
def test_every_input_matters(mixed_season: int, name: str) -> None:
    shape = replace(SHAPE, mixed_season=mixed_season)
    x = batch(shape)
    network = DirectNetwork(shape)
    other = x._replace(**{name: getattr(x, name).roll(1, dims=0)})
    assert not torch.allclose(network(x), network(other))


@KINDS
def test_known_inputs_are_optional(mixed_season: int) -> None:
    shape = replace(SHAPE, mixed_season=mixed_season, n_known=0, n_past=0)
    assert DirectNetwork(shape)(batch(shape)).isfinite().all()


@KINDS
def test_windows_do_not_mix(mixed_season: int) -> None:
    shape = replace(SHAPE, mixed_season=mixed_season)
    x = batch(shape)
    network = DirectNetwork(shape).eval()
    alone = network(WindowBatch(*(part[2:3] for part in x)))
    torch.testing.assert_close(network(x)[2:3], alone)


def test_a_mixer_reads_whole_seasons_only() -> None:
    shape = replace(SHAPE, mixed_season=SEASON)
    x = batch(shape)
    network = DirectNetwork(shape)
    torch.nn.init.zeros_(network.linear.weight)
    older = x.past.clone()
    older[:, : shape.window % SEASON] += 5.0  # before the first whole season
    torch.testing.assert_close(network(x), network(x._replace(past=older)))
