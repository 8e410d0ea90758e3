"""A user's trained ``torch.nn.Module``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.utils.data import default_collate

from calibrant.calibration import network_outputs
from calibrant.calibration.regressors import medians
from calibrant.checks import Array, Index, count_rows, take_rows
from calibrant.errors import DataError, ParameterError
from calibrant.recalibration.models import Prediction
from calibrant.tables import to_local

Collate = Callable[[Any], Any]  # from rows of X to what the module is called with
_BATCH = 1024


@dataclass(frozen=True)
class NetworkSource:
    """A copy of a trained module, in evaluation mode, and how to call it.

    Nobody else has the copy, so it can't change, and the user's module is never touched.

    Parameters
    ----------
    module : nn.Module
    output : str
        What it returns; one of `network_outputs.OUTPUTS`.
    levels : array of shape (K,), optional
    collate : callable, optional
    refined : tuple of str
        Names of the weights of the copy that were trained further. Its quantiles are sorted then,
        since they may cross.
    """

    module: nn.Module
    output: str
    levels: ArrayLike | None = None
    collate: Collate | None = None
    refined: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        module: nn.Module,
        X: Any,
        y: Array,
        *,
        output: str | None,
        levels: ArrayLike | None,
        collate: Collate | None,
    ) -> NetworkSource:
        """Copy the module and find out, or check, what it returns."""
        if output is not None and output not in network_outputs.OUTPUTS:
            raise ParameterError(
                f"output must be one of {', '.join(network_outputs.OUTPUTS)}, got {output!r}."
            )
        source = cls(copy.deepcopy(module).eval(), output or "", levels, collate)
        batches = list(source.raw(X))
        if output is None:
            source = cls(source.module, network_outputs.detect(batches, y, levels), levels, collate)
        prediction = source._read(batches, count_rows(X))
        network_outputs.check_plausible(prediction, y, source.output)
        source._check_repeatable(X, prediction)
        return source

    def refined_weights(self) -> dict[str, NDArray[Any]]:
        """Weights that were trained further, by name."""
        state = self.module.state_dict()
        found = {name: state[name].cpu() for name in self.refined}
        return {
            name: weight.to(torch.promote_types(weight.dtype, torch.float32)).numpy()
            for name, weight in found.items()
        }

    def with_refined(self, weights: Mapping[str, NDArray[Any]]) -> NetworkSource:
        """Put the weights of `refined_weights` into the copy of the module."""
        state = {name: torch.as_tensor(weight) for name, weight in weights.items()}
        try:
            unknown = self.module.load_state_dict(state, strict=False).unexpected_keys
        except RuntimeError as cause:  # other shapes
            raise _another_network(list(state)) from cause
        if unknown:
            raise _another_network(unknown)
        return replace(self, refined=tuple(weights))

    def predict(self, X: Any) -> Prediction:
        """Return what the module predicts for every row."""
        return self._read(list(self.raw(X)), count_rows(X))

    def raw(self, X: Any) -> Iterator[Any]:
        """Yield the raw outputs of batches, without gradients."""
        n_rows = count_rows(X)
        if n_rows == 0:
            raise DataError("X has no rows.")
        with torch.no_grad():
            for start in range(0, n_rows, _BATCH):
                yield self.call(X, np.arange(start, min(start + _BATCH, n_rows)))

    def call(self, X: Any, rows: Index) -> Any:
        """Call the module with some rows of X: a tensor, ``*tuple`` or ``**dict``."""
        given = self._collated(take_rows(X, rows))
        weight = next(self.module.parameters(), torch.empty(0))
        given = _moved(given, weight.device, weight.dtype)
        if isinstance(given, Mapping):
            raw = self.module(**given)
        else:
            raw = self.module(*given) if isinstance(given, tuple | list) else self.module(given)
        return raw.sort(dim=-1).values if self.refined and self.output == "quantiles" else raw

    def _collated(self, rows: Any) -> Any:
        if self.collate is not None:
            return self.collate(rows)
        if isinstance(rows, list):  # samples of a data set
            return default_collate(rows)
        if isinstance(rows, Mapping | tuple | Tensor):
            return rows
        try:  # one table: whole numbers among its features are measurements, too
            return torch.as_tensor(np.array(to_local(rows), dtype=np.float64))
        except (TypeError, ValueError) as cause:
            raise DataError(
                f"Can't make a tensor of X for the network: {cause}. Pass numbers, or a collate "
                "function from rows of X to what the network is called with."
            ) from cause

    def _read(self, batches: list[Any], n_rows: int) -> Prediction:
        parts = [network_outputs.read(raw, self.output, self.levels) for raw in batches]
        prediction = network_outputs.joined(parts)
        if len(prediction) != n_rows:
            raise DataError(
                f"The network predicts {len(prediction)} rows for {n_rows} rows of X. It must "
                "return one prediction per row."
            )
        return prediction

    def _check_repeatable(self, X: Any, prediction: Prediction) -> None:
        rows = np.arange(min(16, count_rows(X)))
        first, second = medians(prediction[rows]), medians(self.predict(take_rows(X, rows)))
        # Sums over another batch size may differ in their last digits.
        if not np.allclose(first, second, rtol=1e-3, atol=1e-3 * (1e-12 + np.ptp(first))):
            raise ParameterError(
                "The network predicts something else when it is asked again, even in evaluation "
                "mode. Fix its randomness (dropout or sampling in forward) and calibrate again."
            )


def _another_network(names: list[str]) -> ParameterError:
    return ParameterError(
        f"The refined weights {', '.join(names[:3])} do not fit the network. Pass the network that "
        "was calibrated, or one of the same shape."
    )


def _moved(given: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """Tensors on the device of the module; floating ones in its precision."""
    if isinstance(given, Mapping):
        return {name: _moved(part, device, dtype) for name, part in given.items()}
    if isinstance(given, tuple | list):
        return tuple(_moved(part, device, dtype) for part in given)
    if not isinstance(given, Tensor):
        given = torch.as_tensor(np.array(to_local(given)))
    return given.to(device, dtype) if given.is_floating_point() else given.to(device)
