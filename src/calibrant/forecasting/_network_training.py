"""Training of the network for all steps: windows at random, the pinball loss of every step."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from calibrant.checks import Index
from calibrant.forecasting._window_source import WindowSource
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.networks import DirectNetwork

LEAST_SHARE = 8  # a window to train on has an eighth of its values
_LEAST_STEPS = 100  # of the optimiser: short series would hardly move the weights
_MIXER_EPOCHS = 2.0  # a mixer learns slower than a hidden layer over the whole window
_WARM_UP = 0.05  # share of the steps
_CLIP = 1.0
_ANONYMOUS = 0.1  # share of windows without their series' embedding, which new series lack


def n_steps(
    settings: GlobalNetwork, network: DirectNetwork, n_windows: int, share: float = 1.0
) -> int:
    """Steps of the optimiser for a share of the budget of a network."""
    epochs = settings.epochs * (_MIXER_EPOCHS if network.shape.mixed_season else 1.0)
    whole = max(_LEAST_STEPS, epochs * n_windows / settings.batch_size)
    return math.ceil(share * whole)


def train_network(
    network: DirectNetwork,
    source: WindowSource,
    origins: Index,
    levels: Tensor,
    settings: GlobalNetwork,
    seed: int,
    *,
    share: float,
    rate: float = 1.0,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Train in place on windows that end at `origins`.

    Parameters
    ----------
    seed : int
        Of the order of windows and of dropout.
    share : float
        Of the budget of steps.
    rate : float
        Factor of the learning rate.
    advance : callable
        Called after each step.
    """
    steps = n_steps(settings, network, len(origins), share)
    window = network.shape.window
    # The newest half of a window may be a gap; nothing can be learned from it.
    origins = origins[source.observed(window)[origins] >= window // LEAST_SHARE]
    if not len(origins):
        return
    rows = torch.as_tensor(origins, device=levels.device)
    optimiser = torch.optim.AdamW(
        network.parameters(),
        lr=settings.lr,
        weight_decay=settings.weight_decay,
        betas=(0.9, 0.98),
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.lr * rate, total_steps=max(2, steps), pct_start=_WARM_UP
    )
    network.train()
    with torch.random.fork_rng():  # dropout draws from torch's own stream
        torch.manual_seed(seed)
        for _ in range(steps):
            chosen = torch.randint(len(rows), (settings.batch_size,), device=rows.device)
            batch, _, _, weight, target = source.gather(rows[chosen], window)
            hidden = torch.rand(len(chosen), device=rows.device) < _ANONYMOUS
            batch = batch._replace(series=batch.series.masked_fill(hidden, 0))
            loss = pinball(network(batch), target, levels, weight)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimiser.step()
            schedule.step()
            advance()
    network.eval()


def pinball(quantiles: Tensor, target: Tensor, levels: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean pinball loss of all steps and levels; missing targets are left out.

    Parameters
    ----------
    quantiles : tensor of shape (n, H, Q)
    target : tensor of shape (n, H)
        nan where missing.
    levels : tensor of shape (Q,)
    weight : tensor of shape (n, 1)
        Scale of each window: quantiles and targets are in units of it, while forecasts are judged
        in those of the series, where a calm week counts less than a wild one.
    """
    there = torch.isfinite(target)
    away = torch.where(there, target, 0.0)[..., None] - quantiles
    loss = torch.maximum(levels * away, (levels - 1.0) * away).mean(dim=2)
    counted = torch.where(there, weight, 0.0)
    return (counted * loss).sum() / counted.sum().clamp(min=1e-9)
