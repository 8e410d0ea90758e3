"""Parts of a model as JSON and arrays: only registered classes are saved and created."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from calibrant.errors import ModelFileError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PARTS: dict[str, type[Any]] = {}
Class = TypeVar("Class", bound=type[Any])


def savable_part(cls: Class) -> Class:
    """Register a dataclass whose instances a saved model may hold (see `pack`); a decorator.

    Other classes need ``saved_fields``, which returns values by name, and are rebuilt by
    ``from_fields``, or by the constructor, with these names as arguments.
    """
    _PARTS[cls.__name__] = cls
    return cls


def pack(
    value: Any,
    arrays: dict[str, NDArray[Any]],
    name: str,
    *,
    given: Mapping[str, object] | None = None,
) -> Any:
    """Turn a value into JSON; its arrays go to `arrays`, under names that begin with `name`.

    Parameters
    ----------
    value : number, text, None, array, list, dict or instance of a `savable_part`, nested
    arrays : dict
        Filled in place.
    name : str
        Path of the value, such as "predictor".
    given : mapping of name to object, optional
        Objects of the user that are not stored, such as a module, and have to be given again to
        load the model.
    """
    import numpy as np

    for key, own in (given or {}).items():
        if value is own:
            return {"given": key}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple):
        return [pack(item, arrays, f"{name}.{i}", given=given) for i, item in enumerate(value)]
    known = type(value) is _PARTS.get(type(value).__name__)
    if not known and not isinstance(value, Mapping):
        return to_json(value)
    if not known:
        fields = value
    elif hasattr(value, "saved_fields"):
        fields = value.saved_fields()
    else:
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {
        "part": type(value).__name__ if known else None,
        "fields": {
            key: pack(item, arrays, f"{name}.{key}", given=given) for key, item in fields.items()
        },
    }


def unpack(
    content: Any,
    arrays: Mapping[str, NDArray[Any]],
    *,
    given: Mapping[str, object] | None = None,
) -> Any:
    """Rebuild what `pack` took apart; only registered classes are created."""
    if isinstance(content, list):
        return tuple(unpack(item, arrays, given=given) for item in content)
    if not isinstance(content, dict):
        return content
    if "array" in content:
        return arrays[content["array"]]
    if "given" in content:
        return (given or {})[content["given"]]
    name = content["part"]
    fields = {key: unpack(item, arrays, given=given) for key, item in content["fields"].items()}
    if name is None:
        return fields
    if name not in _PARTS:
        raise ModelFileError(f"This version of calibrant does not know a {name!r}.")
    return getattr(_PARTS[name], "from_fields", _PARTS[name])(**fields)


def to_json(value: Any) -> Any:
    """Convert tuples to lists, NumPy numbers to numbers, and what is not finite to null."""
    import numpy as np

    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ParameterError(
        f"{value!r} can't be saved: a model folder holds JSON values, arrays, and classes that "
        "calibrant.persistence.savable_part marks."
    )
