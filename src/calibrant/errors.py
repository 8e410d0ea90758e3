"""The errors and warnings of calibrant.

Every error derives from `CalibrantError`, so that one ``except`` catches them all, and also from
the built-in or scikit-learn type that callers who do not know calibrant would expect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "CalibrantError",
    "CalibrantWarning",
    "ColumnWarning",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "MissingDependencyError",
    "MissingFileError",
    "ModelFileError",
    "NotFittedError",
    "OutputError",
    "OutputExistsError",
    "ParameterError",
]


class CalibrantError(Exception):
    """Base of every error that calibrant raises on purpose."""


class DataError(CalibrantError, ValueError):
    """Raised when the content of X, y, weights or a data file cannot be used.

    Examples are missing or infinite values, mismatched lengths, too few rows, unknown columns and
    a file whose checksum is not the registered one.
    """


class ParameterError(CalibrantError, ValueError):
    """Raised when an argument has a value outside its documented range or choices."""


class ModelFileError(CalibrantError, ValueError):
    """Raised when a saved model is damaged, was tampered with or has a newer format."""


class MissingFileError(CalibrantError, FileNotFoundError):
    """Raised when a data file or a saved model is not where it was looked for."""


class OutputError(CalibrantError, OSError):
    """Raised when a result can't be written, as on a full disk; nothing half-written stays."""


class OutputExistsError(CalibrantError, FileExistsError):
    """Raised when writing would replace something and the caller did not ask for that."""


class MissingDependencyError(CalibrantError, ImportError):
    """Raised when a feature needs an optional package that is not installed."""


class CalibrantWarning(UserWarning):
    """Base of every warning that calibrant issues."""


class DataWarning(CalibrantWarning):
    """Issued when the data can be used but should be checked.

    Examples are a constant target and columns that carry no information.
    """


class ColumnWarning(DataWarning):
    """Issued by ``fit`` when a column of a table is left out, has odd cells or suggests a bound.

    ``model.encoder_.describe()`` says what was done to every column.
    """


class ConvergenceWarning(CalibrantWarning):
    """Issued when training diverged and earlier weights are kept."""


if TYPE_CHECKING:

    class NotFittedError(CalibrantError, ValueError, AttributeError):
        """Raised when an estimator is asked to predict before ``fit``."""

else:
    # NotFittedError also derives from scikit-learn's class of that name. Importing scikit-learn
    # takes most of a second and every room imports this module, so the class is created on first
    # use: `calibrant --help` does not wait for it.
    def __getattr__(name: str) -> type:
        if name != "NotFittedError":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from sklearn.exceptions import NotFittedError as SklearnNotFittedError

        # type() rather than a class statement: the class gets a module-level __qualname__, which
        # pickle needs to send the error back from a worker process.
        made = type(
            name,
            (CalibrantError, SklearnNotFittedError),
            {
                "__doc__": "Raised when an estimator is asked to predict before ``fit``.",
                "__module__": __name__,
            },
        )
        # setdefault is atomic: two threads that ask at once get the same class.
        return globals().setdefault(name, made)
