"""Climatology: quantiles of the recent past in the same phase of the season."""

from __future__ import annotations

import torch
from torch import Tensor

_DECAY = 14.0  # seasons after which a value counts 1 / e
_SEASONS = 56  # that are looked at
_MOST_ROWS = 4096  # of a short step, such as minutes
_LEAST_SEASONS = 4
_WEEK = 7  # seasons
_WEEKDAY_PRIOR = 1.0  # values at its mean that the effect of a weekday is shrunk by
_RIDGE = 0.05  # penalty of the covariates' effects, per value
_CLIP = 3.0  # standard deviations: effects are not extrapolated further
# The mean error of the last days goes on, and fades: (seasons averaged, weight, seasons to fade).
_PERSISTENCE = ((1, 0.5, 1.0), (7, 0.3, 7.0))
_LEAST_WEIGHT = 3.0  # values for quantiles of a phase; with fewer all phases are taken together


def seasons_seen(season: int) -> tuple[int, int]:
    """Seasons that a climatology looks at, and rows per season; 1 row where one is too long."""
    seasons = min(_SEASONS, _MOST_ROWS // season)
    return (seasons, season) if seasons >= _LEAST_SEASONS else (_SEASONS, 1)


def climatology(
    x: Tensor, past: Tensor, ahead: Tensor, levels: Tensor, season: int, *, weekly: bool
) -> Tensor:
    """Quantiles of every step, from exponentially weighted values of the same phase.

    The value of a phase is its weighted mean, plus the effect of covariates (a ridge regression of
    their deviations from their own means by phase) and of the weekday, plus what is left of the
    errors of the last days. Quantiles are those of the errors around it, of the phase and its two
    neighbours.

    Parameters
    ----------
    x : tensor of shape (n, R * season)
        Values up to the origin; nan where missing.
    past : tensor of shape (n, R * season, c)
        Covariates of the same rows.
    ahead : tensor of shape (n, H, c)
        Covariates of the steps to forecast.
    levels : tensor of shape (Q,)
    season : int
    weekly : bool
        Whether seven seasons are a cycle too.

    Returns
    -------
    tensor of shape (n, H, Q)
    """
    n, horizon = len(x), ahead.shape[1]
    x = x.reshape(n, -1, season)  # origin, season, phase
    age = torch.arange(x.shape[1] - 1, -1, -1, dtype=x.dtype, device=x.device)
    weight = torch.exp(-age / _DECAY)[None, :, None] * torch.isfinite(x)
    x = torch.nan_to_num(x)
    level = _mean(x, weight, dim=(1, 2))
    by_phase = level + _mean(x - level, weight, dim=1)
    error, forecast = x - by_phase, _repeated(by_phase, horizon)
    if past.shape[2]:
        effect, coming = _covariate_effect(error, weight, past, ahead)
        error, forecast = error - effect, forecast + coming
    if weekly and x.shape[1] >= 2 * _WEEK:
        effect, coming = _weekday_effect(error, weight, horizon)
        error, forecast = error - effect, forecast + coming
    steps = torch.arange(1, horizon + 1, dtype=x.dtype, device=x.device) / season
    for seasons, share, fade in _PERSISTENCE:
        recent = (error * (weight > 0))[:, -seasons:].mean(dim=(1, 2))[:, None]
        forecast = forecast + share * recent * torch.exp(-steps / fade)
    spread = _quantiles(error, weight, levels)  # n, season, Q
    phase = torch.arange(horizon, device=x.device) % season
    return forecast[..., None] + spread[:, phase]


def _mean(x: Tensor, weight: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """Weighted mean, 0 without any weight."""
    total = weight.sum(dim=dim, keepdim=True)
    return (weight * x).sum(dim=dim, keepdim=True) / total.clamp(min=1e-9)


def _repeated(cycle: Tensor, horizon: int) -> Tensor:
    """The values of a cycle (n, 1, length) over the horizon, (n, horizon)."""
    at = torch.arange(horizon, device=cycle.device) % cycle.shape[2]
    return cycle[:, 0, at]


def _covariate_effect(
    error: Tensor, weight: Tensor, past: Tensor, ahead: Tensor
) -> tuple[Tensor, Tensor]:
    """Effect of the covariates on the past values and on the steps to come."""
    n, seasons, season = error.shape
    past = past.reshape(n, seasons, season, -1).to(error.dtype)
    recent = weight.amax(dim=2, keepdim=True).expand_as(weight)[..., None]
    usual = _mean(past, recent, dim=1)  # n, 1, season, c
    phase = torch.arange(ahead.shape[1], device=error.device) % season
    away, coming = past - usual, ahead - usual[:, 0, phase]
    size = _mean(away**2, recent, dim=(1, 2)).sqrt().clamp(min=1e-6)  # n, 1, 1, c
    away = (away / size).clamp(-_CLIP, _CLIP).flatten(1, 2)
    coming = (coming / size[:, 0]).clamp(-_CLIP, _CLIP)
    rows = weight.flatten(1)[..., None]
    gram = (rows * away).transpose(1, 2) @ away
    ridge = _RIDGE * rows.sum(dim=1, keepdim=True).clamp(min=1e-6)
    gram = gram + ridge * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    moment = (rows * away).transpose(1, 2) @ error.flatten(1)[..., None]
    slope = torch.linalg.solve(gram, moment)
    return (away @ slope).reshape(error.shape), (coming @ slope)[..., 0]


def _weekday_effect(error: Tensor, weight: Tensor, horizon: int) -> tuple[Tensor, Tensor]:
    """Mean error of each phase of the week, shrunk, of the past values and the steps to come."""
    n, seasons, season = error.shape
    weeks = seasons // _WEEK
    late, weight = (part[:, -weeks * _WEEK :].reshape(n, weeks, -1) for part in (error, weight))
    total, count = (
        torch.stack([part.sum(dim=1, keepdim=True).roll(by, dims=2) for by in (-1, 0, 1)]).sum(0)
        for part in (late * weight, weight)
    )
    effect = total / (count + 3 * _WEEKDAY_PRIOR)  # n, 1, week
    at = torch.arange(-seasons * season, 0, device=error.device) % effect.shape[2]
    return effect[:, 0, at].reshape(error.shape), _repeated(effect, horizon)


def _quantiles(error: Tensor, weight: Tensor, levels: Tensor) -> Tensor:
    """Weighted quantiles of each phase with its neighbours, (n, season, Q)."""
    near, own = (
        torch.cat([part.roll(by, dims=2) for by in (-1, 0, 1)], dim=1) for part in (error, weight)
    )
    by_phase = _weighted_quantiles(near.transpose(1, 2), own.transpose(1, 2), levels)
    overall = _weighted_quantiles(error.flatten(1)[:, None], weight.flatten(1)[:, None], levels)
    enough = own.sum(dim=1)[..., None] >= _LEAST_WEIGHT
    return torch.where(enough, by_phase, overall)


def _weighted_quantiles(x: Tensor, weight: Tensor, levels: Tensor) -> Tensor:
    """Quantiles along the last dimension, linear between the values; 0 without any."""
    x, order = torch.where(weight > 0, x, torch.inf).sort(dim=-1)  # those without weight last
    weight = weight.gather(-1, order)
    reached = weight.cumsum(dim=-1) - 0.5 * weight  # at the middle of each value
    reached = reached / weight.sum(dim=-1, keepdim=True).clamp(min=1e-9)
    wanted = levels.to(x.dtype).expand(*x.shape[:-1], -1).contiguous()
    last = (weight > 0).sum(dim=-1, keepdim=True).sub(1).clamp(min=0)
    above = torch.minimum(torch.searchsorted(reached, wanted), last)
    below = (above - 1).clamp(min=0)
    low, high = reached.gather(-1, below), reached.gather(-1, above)
    share = ((wanted - low) / (high - low).clamp(min=1e-12)).clamp(0.0, 1.0)
    low, high = (torch.nan_to_num(x.gather(-1, at), posinf=0.0) for at in (below, above))
    return low + share * (high - low)
