"""What the outputs of a user's network mean: detected or named, and refused where they can't."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.distributions import Distribution as TorchDistribution

from calibrant.calibration.answers import quantiles_at
from calibrant.calibration.torch_distributions import from_torch, per_row
from calibrant.checks import Array
from calibrant.distributions import Distribution, concatenate
from calibrant.errors import DataError, ParameterError
from calibrant.recalibration.models import Prediction

Output = Literal[
    "mean", "mean_logvar", "mean_scale", "distribution", "mixture", "mixture_logits", "quantiles"
]
OUTPUTS: tuple[str, ...] = get_args(Output)
_FARTHEST = 30.0  # typical residual over predicted spread, either way, of a plausible reading
_CLEARLY = 0.1  # by how much the mean log-likelihood must be higher to decide between readings


def read(raw: Any, output: str, levels: ArrayLike | None) -> Prediction:
    """Read the raw outputs of one batch as points, (n,), or distributions."""
    if output == "mean":
        points = per_row(_one(raw, output))
        if not np.isfinite(points).all():
            raise _not_finite(points)
        return points
    if output == "quantiles":
        if levels is None:
            raise ParameterError('output="quantiles" needs levels=, one for each column.')
        return quantiles_at(_one(raw, output), levels)
    return from_torch(torch_distribution(raw, output))


def torch_distribution(raw: Any, output: str) -> TorchDistribution:
    """Read raw outputs as a torch distribution with gradients; not for means and quantiles."""
    if output == "distribution":
        if not isinstance(raw, TorchDistribution):
            raise _unexpected(output, "a torch.distributions object", raw)
        return raw
    if output in ("mixture", "mixture_logits"):
        if not isinstance(raw, tuple | list) or len(raw) != 3 or any(p.ndim != 2 for p in raw):
            raise _unexpected(output, "a tuple (weights, means, scales), each (n, K)", raw)
        weights, means, scales = raw
        _check_finite(weights, means, scales)
        if output == "mixture_logits":
            mixing = Categorical(logits=weights)
            return MixtureSameFamily(mixing, Normal(means, scales.exp()))
        total = weights.sum(dim=-1)
        if bool((weights < 0).any()) or bool(((total - 1.0).abs() > 1e-3).any()):
            raise DataError(
                'output="mixture" needs weights of at least 0 that sum to 1 in every row. For '
                'logits and log-scales use output="mixture_logits".'
            )
        _check_scales(scales, output, "mixture_logits")
        return MixtureSameFamily(Categorical(probs=weights), Normal(means, scales))
    mean, second = _pair(raw, output)
    _check_finite(mean, second)
    if output == "mean_logvar":
        return Normal(mean, (0.5 * second).exp())
    _check_scales(second, output, "mean_logvar")
    return Normal(mean, second)


def detect(batches: Sequence[Any], y: Array, levels: ArrayLike | None) -> str:
    """Return what the raw outputs mean; raise where two readings are plausible.

    Parameters
    ----------
    batches : sequence of raw outputs
        Of all calibration rows.
    y : array of shape (n,)
    levels : array of shape (K,), optional
    """
    first = batches[0]
    if isinstance(first, TorchDistribution):
        return "distribution"
    if levels is not None:
        return "quantiles"
    if isinstance(first, Tensor) and (first.ndim == 1 or first.shape[1:] == (1,)):
        return "mean"
    if isinstance(first, tuple | list) and len(first) == 3:
        return _best_reading(batches, y, ["mixture", "mixture_logits"])
    two = isinstance(first, tuple | list) and len(first) == 2
    if two or (isinstance(first, Tensor) and first.shape[1:] == (2,)):
        return _best_reading(batches, y, ["mean_scale", "mean_logvar"])
    raise ParameterError(
        f"Can't tell what the network's output is: {_shapes(first)}. Name it, output=one of "
        f"{', '.join(OUTPUTS)}; quantiles need levels=."
    )


def check_plausible(prediction: Prediction, y: Array, output: str) -> None:
    """Refuse a reading under which the targets are absurd."""
    if isinstance(prediction, Distribution):
        low, centre, high = prediction.ppf([0.25, 0.5, 0.75]).T
        ratio = float(np.median(np.abs(y - centre)) / np.median(0.5 * (high - low)))
        if not 1.0 / _FARTHEST <= ratio <= _FARTHEST:
            raise DataError(
                f'Read as output="{output}", the typical residual is {ratio:.3g} times what the '
                "network predicts, which is no matter of calibration. Is output= what the network "
                "returns, and y in the units that it was trained on?"
            )
    else:
        centre = prediction
    spread = np.median(np.abs(y - np.median(y)))
    away = np.median(np.abs(y - centre))
    if away > _FARTHEST * spread > 0:
        raise DataError(
            f"The typical residual, {away:.3g}, is {away / spread:.0f} times the spread of y: the "
            "network predicts another quantity. Is y in the units that it was trained on?"
        )


def joined(parts: Sequence[Prediction]) -> Prediction:
    """Join the predictions of batches."""
    distributions = [part for part in parts if isinstance(part, Distribution)]
    if distributions:
        return concatenate(distributions)
    return np.concatenate([np.asarray(part) for part in parts])


def _best_reading(batches: Sequence[Any], y: Array, outputs: Sequence[str]) -> str:
    """Return the first reading if it is possible and clearly more likely; the second if only that.

    The first is the stricter one, with scales above 0. That the second is more likely does not
    prove it: an overconfident network looks better with any larger spread.
    """
    likelihood: dict[str, float] = {}
    for output in outputs:
        try:
            likelihood[output] = _likelihood(batches, y, output)
        except (DataError, ParameterError):  # scales below 0, weights that do not sum to 1
            continue
    if not likelihood:
        raise DataError(
            f"The network's output {_shapes(batches[0])} can be read neither as "
            f"{' nor as '.join(outputs)}. Name what it is with output=."
        )
    first, second = outputs
    if len(likelihood) == 2 and likelihood[first] - likelihood[second] < _CLEARLY:
        raise ParameterError(
            f"The network's output could be {first!r} or {second!r}, and the targets do not tell "
            "which. Name it with output=."
        )
    if first in likelihood and _likelihood(map(_rooted, batches), y, first) > (
        likelihood[first] + _CLEARLY
    ):
        raise ParameterError(
            f"The network's output could be {first!r}, but the targets fit better if it returns "
            f"variances. Then return their square roots; otherwise name it, output={first!r}."
        )
    return next(iter(likelihood))


def _likelihood(batches: Iterable[Any], y: Array, output: str) -> float:
    """Mean log-likelihood of the targets under a reading of the outputs."""
    prediction = joined([read(raw, output, None) for raw in batches])
    assert isinstance(prediction, Distribution)
    return float(np.mean(prediction.log_prob(y)))


def _rooted(raw: Any) -> Any:
    """The same outputs with the square root of the last part, as if it were a variance."""
    *others, last = raw.unbind(dim=1) if isinstance(raw, Tensor) else raw
    return *others, last.sqrt()


def _pair(raw: Any, output: str) -> tuple[Tensor, Tensor]:
    """Two tensors (n,) from a tuple of (n,) or (n, 1), or from (n, 2)."""
    parts = raw
    if isinstance(raw, Tensor) and raw.ndim == 2 and raw.shape[1] == 2:
        parts = raw.unbind(dim=1)
    if not isinstance(parts, tuple | list) or len(parts) != 2:
        raise _unexpected(output, "a tuple of two, (n,) each, or a tensor (n, 2)", raw)
    first, second = (p[:, 0] if p.ndim == 2 and p.shape[1] == 1 else p for p in parts)
    if first.ndim != 1 or first.shape != second.shape:
        raise _unexpected(output, "a tuple of two, (n,) each, or a tensor (n, 2)", raw)
    return first, second


def _one(raw: Any, output: str) -> Tensor:
    if not isinstance(raw, Tensor):
        raise _unexpected(output, "one tensor", raw)
    return raw


def _check_finite(*parts: Tensor) -> None:
    for part in parts:
        if not bool(torch.isfinite(part).all()):
            raise _not_finite(part.detach().cpu().numpy())


def _check_scales(scales: Tensor, output: str, other: str) -> None:
    wrong = int((scales <= 0).sum())
    if wrong:
        raise DataError(
            f'output="{output}" needs scales above 0, but {wrong} of {scales.numel()} are not (the '
            f'least is {float(scales.min()):g}). Are they logarithms? Then use output="{other}".'
        )


def _not_finite(values: Any) -> DataError:
    wrong = int((~np.isfinite(values)).sum())
    return DataError(
        f"The network predicts NaN or infinity in {wrong} of {np.size(values)} outputs. Check its "
        "weights, and X for gaps: a network needs imputed, scaled inputs, as in its training."
    )


def _unexpected(output: str, expected: str, raw: Any) -> ParameterError:
    return ParameterError(
        f'output="{output}" needs {expected} from the network, got {_shapes(raw)}.'
    )


def _shapes(raw: Any) -> str:
    if isinstance(raw, Tensor):
        return f"a tensor {tuple(raw.shape)}"
    if isinstance(raw, tuple | list):
        return f"{len(raw)} parts ({', '.join(_shapes(part) for part in raw)})"
    return type(raw).__name__
