"""Stage 2 on a copy of a user's network: minimise the CRPS of what it predicts."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from scipy.optimize import brentq
from torch import Tensor, nn
from torch.distributions import Distribution as TorchDistribution
from torch.distributions import Independent, MixtureSameFamily, Normal

from calibrant.calibration.network_outputs import torch_distribution
from calibrant.calibration.networks import NetworkSource
from calibrant.checks import Array, Index
from calibrant.errors import ParameterError
from calibrant.losses import crps

Weights = Literal["head", "all"]
_EPOCHS, _PATIENCE, _BATCH = 40, 6, 128
_LR = {"head": 1e-3, "all": 1e-4}
_ADVICE = {
    "head": ', those of the layer that its module lists last. Use refine="all".',
    "all": ": it may call detach() or no_grad(). Leave refine out.",
}
_HELD_OUT = 0.2  # share of the rows that decides which epoch is kept
_LEAST_SPREAD = 1e-3  # of points, in units of the largest residual


def refine_network(
    source: NetworkSource, X: Any, y: Array, rows: Index, weights: Weights, random_state: int
) -> NetworkSource:
    """Return the source with a refined copy of its module.

    The epoch with the best CRPS on a fifth of the rows is kept, which may be the start. The copy
    stays in evaluation mode: dropout and batch statistics are those of prediction.

    Points are scored as normals with the standard deviation that suits the rows best. Quantiles
    are sorted in every row, since levels that are trained apart may cross.

    Parameters
    ----------
    source : NetworkSource
    X : inputs of n rows
    y : array of shape (n,)
    rows : array of shape (m,)
        Rows to use.
    weights : {"head", "all"}
        Train the last layer with parameters, or all of them.
    """
    if weights not in _LR:
        raise ParameterError(f'refine must be "head", "all" or None, got {weights!r}.')
    module = copy.deepcopy(source.module)
    chosen = _parameters(module, weights)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name in chosen)
    trained = replace(source, module=module, refined=tuple(chosen))
    if not _loss(trained, X, y, rows[:2]).requires_grad:
        raise ParameterError(
            f'The output of the network does not depend on the weights that refine="{weights}" '
            "trains" + _ADVICE[weights]
        )
    optimizer = torch.optim.Adam(chosen.values(), lr=_LR[weights])
    rng = np.random.default_rng(random_state)
    order = rng.permutation(rows)
    held_out, train = np.split(order, [max(1, round(_HELD_OUT * len(order)))])
    best, kept, waited = _score(trained, X, y, held_out), copy.deepcopy(module.state_dict()), 0
    for _ in range(_EPOCHS):
        try:
            for batch in np.array_split(rng.permutation(train), max(1, len(train) // _BATCH)):
                optimizer.zero_grad()
                _loss(trained, X, y, batch).backward()
                optimizer.step()
            score = _score(trained, X, y, held_out)
        except ValueError:  # ours or torch's: outputs are no longer finite, training diverged
            break
        waited = 0 if score < best else waited + 1
        if score < best:
            best, kept = score, copy.deepcopy(module.state_dict())
        if waited >= _PATIENCE:
            break
    module.load_state_dict(kept)
    return trained


def _score(source: NetworkSource, X: Any, y: Array, rows: Index) -> float:
    with torch.no_grad():
        return float(_loss(source, X, y, rows))


def _loss(source: NetworkSource, X: Any, y: Array, rows: Index) -> Tensor:
    """Mean CRPS of some rows."""
    raw = source.call(X, rows)
    parameter = next(source.module.parameters())
    target = torch.as_tensor(y[rows], dtype=parameter.dtype, device=parameter.device)
    if source.output == "quantiles":
        return quantile_score(raw, target, np.asarray(source.levels, dtype=np.float64))
    if source.output == "mean":
        points = raw.reshape(target.shape)
        spread = best_spread((target - points).detach().cpu().double().numpy())
        dist: TorchDistribution = Normal(points, torch.full_like(points, spread))
    else:
        dist = _normals(torch_distribution(raw, source.output))
    return crps(dist, target, dtype=parameter.dtype).mean()


def quantile_score(quantiles: Tensor, y: Tensor, levels: Array) -> Tensor:
    """Twice the pinball loss, each level weighted by the part of [0, 1] that is closest to it.

    Parameters
    ----------
    quantiles : tensor of shape (n, K)
    y : tensor of shape (n,)
    levels : array of shape (K,)
    """
    middles = 0.5 * (levels[1:] + levels[:-1])
    weight = torch.as_tensor(np.diff(middles, prepend=0.0, append=1.0)).to(quantiles)
    level = torch.as_tensor(levels).to(quantiles)
    above = y[:, None] - quantiles
    return 2.0 * (weight * torch.maximum(level * above, (level - 1.0) * above)).sum(dim=1).mean()


def best_spread(residuals: Array) -> float:
    """Return the s for which normals N(0, s) have the least mean CRPS on residuals, (n,).

    There the mean normal density of ``residuals / s`` is ``1 / (2 sqrt(pi))``.
    """
    farthest = float(np.abs(residuals).max())
    if not 0.0 < farthest < np.inf:
        return 1.0  # exact points, or training that diverged

    def excess(log_spread: float) -> float:
        density = np.exp(-0.5 * (residuals / np.exp(log_spread)) ** 2) / np.sqrt(2.0 * np.pi)
        return float(np.mean(density) - 0.5 / np.sqrt(np.pi))

    low, high = np.log(_LEAST_SPREAD * farthest), np.log(2.0 * farthest)
    return float(np.exp(low if excess(low) > 0 else brentq(excess, low, high)))


def _normals(dist: TorchDistribution) -> TorchDistribution:
    """Normals of shape (n, 1), or independent ones, as (n,); mixtures of normals as they are."""
    while isinstance(dist, Independent):
        dist = dist.base_dist
    if isinstance(dist, Normal):
        return Normal(dist.loc.flatten(), dist.scale.flatten())
    if isinstance(dist, MixtureSameFamily) and isinstance(dist.component_distribution, Normal):
        return dist
    raise ParameterError(
        "refine needs the CRPS in closed form, and a network that returns a "
        f"{type(dist).__name__} has none. Return a Normal, a mixture of normals or quantiles "
        '(output="quantiles", levels=...), or leave refine out.'
    )


def _parameters(module: nn.Module, weights: Weights) -> dict[str, nn.Parameter]:
    """Parameters to train, by name: those of the last layer that has some, or all."""
    named = dict(module.named_parameters())
    if not named:
        raise ParameterError(
            "The network has no parameters that refine could train. Leave refine out."
        )
    if weights == "all":
        return named
    last = [part for part in module.modules() if list(part.parameters(recurse=False))][-1]
    own = {id(parameter) for parameter in last.parameters()}
    return {name: parameter for name, parameter in named.items() if id(parameter) in own}
