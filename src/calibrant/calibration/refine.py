"""Stage 2 on a copy of a user's network: minimise the CRPS of the distributions it predicts."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.distributions import Distribution as TorchDistribution
from torch.distributions import Independent, Normal

from calibrant.calibration.network_outputs import torch_distribution
from calibrant.calibration.networks import NetworkSource
from calibrant.checks import Array, Index
from calibrant.errors import ParameterError
from calibrant.losses import crps

Weights = Literal["head", "all"]
_EPOCHS, _PATIENCE, _BATCH = 40, 6, 128
_LR = {"head": 1e-3, "all": 1e-4}
_HELD_OUT = 0.2  # share of the rows that decides which epoch is kept


def refine_network(
    source: NetworkSource, X: Any, y: Array, rows: Index, weights: Weights, random_state: int
) -> NetworkSource:
    """Return the source with a refined copy of its module.

    The epoch with the best CRPS on a fifth of the rows is kept, which may be the start. The copy
    stays in evaluation mode: dropout and batch statistics are those of prediction.

    Parameters
    ----------
    source : NetworkSource
        Of normals or mixtures of normals.
    X : inputs of n rows
    y : array of shape (n,)
    rows : array of shape (m,)
        Rows to use.
    weights : {"head", "all"}
        Train the last layer with parameters, or all of them.
    """
    if weights not in _LR:
        raise ParameterError(f'refine must be "head", "all" or None, got {weights!r}.')
    if source.output in ("mean", "quantiles"):
        raise ParameterError(
            "refine needs a network that returns normals or mixtures of them, and "
            f'"{source.output}" is neither. Leave refine out.'
        )
    module = copy.deepcopy(source.module)
    trained = replace(source, module=module)
    parameters = list((_last_layer(module) if weights == "head" else module).parameters())
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    for parameter in parameters:
        parameter.requires_grad_(True)
    optimizer = torch.optim.Adam(parameters, lr=_LR[weights])
    rng = np.random.default_rng(random_state)
    order = rng.permutation(rows)
    held_out, train = np.split(order, [max(1, round(_HELD_OUT * len(order)))])
    best, kept, waited = _score(trained, X, y, held_out), copy.deepcopy(module.state_dict()), 0
    for _ in range(_EPOCHS):
        for batch in np.array_split(rng.permutation(train), max(1, len(train) // _BATCH)):
            optimizer.zero_grad()
            _loss(trained, X, y, batch).backward()
            optimizer.step()
        score = _score(trained, X, y, held_out)
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


def _loss(source: NetworkSource, X: Any, y: Array, rows: Index) -> torch.Tensor:
    dist = _normals(torch_distribution(source.call(X, rows), source.output))
    parameter = next(source.module.parameters())
    target = torch.as_tensor(y[rows], dtype=parameter.dtype, device=parameter.device)
    return crps(dist, target, dtype=parameter.dtype).mean()


def _normals(dist: TorchDistribution) -> TorchDistribution:
    """Normals of shape (n, 1), or independent ones, as (n,)."""
    while isinstance(dist, Independent):
        dist = dist.base_dist
    if isinstance(dist, Normal) and dist.loc.ndim == 2 and dist.loc.shape[1] == 1:
        return Normal(dist.loc[:, 0], dist.scale[:, 0])
    return dist


def _last_layer(module: nn.Module) -> nn.Module:
    layers = [part for part in module.modules() if list(part.parameters(recurse=False))]
    if not layers:
        raise ParameterError("The network has no parameters that refine could train.")
    return layers[-1]
