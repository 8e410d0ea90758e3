"""Errors of Ray tasks and workers as errors of this package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from calibrant import errors
from calibrant.errors import CalibrantError

# Of an error that a task raised, Ray keeps the text of its traceback and often nothing else.
_OURS = re.compile(r"^calibrant\.errors\.(\w+Error): (.*)$", re.MULTILINE)
_LAST = re.compile(r"^[\w.]*(?:Error|Exception): .*$", re.MULTILINE)  # of a traceback


@contextmanager
def as_own_errors(what: str) -> Iterator[None]:
    """Turn a failure on Ray into the error of this package that a task raised, or one that says so.

    Parameters
    ----------
    what : str
        What is done on Ray, such as "Training".
    """
    from ray.exceptions import RayError
    from ray.train import TrainingFailedError

    try:
        yield
    except (RayError, TrainingFailedError) as error:
        found = _OURS.findall(str(error))
        if not found:
            said = (_LAST.findall(str(error)) or [str(error)])[-1]
            raise CalibrantError(f"{what} on Ray failed: {said}") from error
        name, said = found[-1]
        raise getattr(errors, name)(said) from error
