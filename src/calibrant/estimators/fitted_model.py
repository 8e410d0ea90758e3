"""Mixin of fitted models: the check that they are fitted, and `load`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from torch import nn

from calibrant import errors
from calibrant.persistence import read_model


class FittedModel:
    """Mixin of models that are saved to folders; they implement `_from_folder`."""

    _fitted_attribute: ClassVar[str]  # `fit` sets it last
    _fit_call: ClassVar[str] = "fit(X, y)"  # in errors

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, network: nn.Module | None = None) -> Self:
        """Load a model that `save` wrote; it goes on as the saved one would.

        No code from the files is run. A model that was fitted with a module of the user needs an
        instance of it as `network`: weights are stored, classes are not.
        """
        return cls._from_folder(Path(path), *read_model(path), network=network)

    @classmethod
    def _from_folder(
        cls, path: Path, manifest: dict[str, Any], tensors: dict[str, NDArray[Any]], **options: Any
    ) -> Self:
        """Rebuild the model from the content of its folder; `options` are those of `load`."""
        raise NotImplementedError(f"{cls.__name__} must say how it is loaded.")

    def _check_fitted(self) -> None:
        if not hasattr(self, self._fitted_attribute):
            raise errors.NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call {self._fit_call} "
                "first."
            )
