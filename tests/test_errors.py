from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
import sklearn.exceptions

from calibrant import errors

BUILT_IN = {
    errors.DataError: ValueError,
    errors.ParameterError: ValueError,
    errors.ModelFileError: ValueError,
    errors.MissingFileError: FileNotFoundError,
    errors.OutputError: OSError,
    errors.OutputExistsError: FileExistsError,
    errors.MissingDependencyError: ImportError,
    errors.NotFittedError: sklearn.exceptions.NotFittedError,
}


@pytest.mark.parametrize(("ours", "built_in"), BUILT_IN.items())
def test_each_error_is_of_the_family_and_a_known_type(
    ours: type[Exception], built_in: type[Exception]
) -> None:
    with pytest.raises(errors.CalibrantError, match=r"^what came$"):
        raise ours("what came")
    with pytest.raises(built_in, match=r"^what came$"):
        raise ours("what came")


@pytest.mark.parametrize("name", errors.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    member = getattr(errors, name)
    assert member.__name__ == member.__qualname__ == name
    assert member.__module__ == "calibrant.errors"
    assert len(member.__doc__) > 30


def test_the_table_above_is_complete() -> None:
    family = {
        member
        for name in errors.__all__
        if issubclass(member := getattr(errors, name), errors.CalibrantError)
    }
    assert family == {errors.CalibrantError, *BUILT_IN}


@pytest.mark.parametrize("warning", [errors.DataWarning, errors.ConvergenceWarning])
def test_warnings_are_of_the_family(warning: type[Warning]) -> None:
    assert issubclass(warning, errors.CalibrantWarning)
    assert issubclass(warning, UserWarning)


@pytest.mark.parametrize("ours", BUILT_IN)
def test_errors_survive_a_worker_process(ours: type[Exception]) -> None:
    copy = pickle.loads(pickle.dumps(ours("text")))
    assert type(copy) is ours
    assert str(copy) == "text"


def test_not_fitted_error_is_one_class() -> None:
    from calibrant.errors import NotFittedError

    assert NotFittedError is errors.NotFittedError


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'NoSuchError'"):
        errors.NoSuchError  # noqa: B018


def test_importing_errors_does_not_import_sklearn() -> None:
    code = "import sys, calibrant.errors; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
