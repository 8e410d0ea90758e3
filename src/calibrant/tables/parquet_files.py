"""Parquet files on any filesystem: finding them, their metadata, and opening them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.errors import CalibrantError, DataError, MissingFileError

if TYPE_CHECKING:
    import pyarrow as pa
    from fsspec import AbstractFileSystem

_BUFFER = 1 << 18  # bytes read ahead per column: a row group may be larger than memory


@dataclass(frozen=True)
class ParquetFile:
    """A file of a source and the rows of its row groups."""

    path: str
    group_rows: tuple[int, ...]
    schema: pa.Schema = field(compare=False, repr=False)


def as_url(path: Path) -> str:
    """Return the URL of a path, which loses slashes where it is read as a path; others as text."""
    text = re.sub(r"(^|::)([a-z][a-z0-9+.-]+):/(?!/)", r"\1\2://", str(path))
    # "file:///data" names no host: of its three slashes a path keeps one.
    return re.sub(r"(^|::)(file|local)://(?!/)", r"\1\2:///", text)


def find_files(path: str) -> list[str]:
    """Files of a path, folder or pattern, in order, as URLs or local paths."""
    from fsspec.core import url_to_fs

    try:
        filesystem, root = url_to_fs(path)
        found = _files_below(filesystem, root, path)
    except CalibrantError:
        raise
    except Exception as error:  # the packages behind fsspec have no errors in common
        raise DataError(f"{path} can't be opened: {_in_words(error)}.") from error
    return [_full_name(filesystem, path, each) for each in sorted(found)]


def _files_below(filesystem: AbstractFileSystem, root: str, path: str) -> list[str]:
    if any(sign in root for sign in "*?["):
        found = [each for each in filesystem.glob(root) if not filesystem.isdir(each)]
        if not found:
            raise MissingFileError(f"No file matches {path!r}.")
        return found
    if filesystem.isdir(root):
        found = [each for each in filesystem.find(root) if _is_data(each[len(root) :])]
        if not found:
            raise MissingFileError(f"The folder {path} holds no file that ends in .parquet.")
        return found
    if not filesystem.exists(root):
        raise MissingFileError(f"There is no file {path}.")
    return [root]


def _full_name(filesystem: AbstractFileSystem, given: str, found: str) -> str:
    first, _, inner = given.partition("::")
    if "://" in given:
        url = str(filesystem.unstrip_protocol(found))
        if not inner:
            return url
        # "zip://*.parquet::s3://bucket/a.zip" names what is inside, "simplecache::s3://a" a cache.
        return f"{url}::{inner}" if "://" in first else f"{first}::{url}"
    return found if os.path.isabs(given) else os.path.relpath(found)


def _is_data(below: str) -> bool:
    names = below.strip("/").split("/")
    return names[-1].endswith(".parquet") and not any(name[0] in "_." for name in names if name)


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Reader of a Parquet file; local files are read by Arrow itself."""
    from pyarrow import parquet

    checked = partial(parquet.ParquetFile, page_checksum_verification=True)  # where there are any
    if "://" not in path:
        # Without pre_buffer=False Arrow ignores the buffer size and holds the whole row group.
        with checked(path, buffer_size=_BUFFER, pre_buffer=False) as reader:
            yield reader
        return
    import fsspec

    # Over a network a row group is read ahead as a whole: many small requests would be slow.
    with fsspec.open(path, "rb") as file, checked(file) as reader:
        yield reader


def read_metadata(path: str) -> ParquetFile:
    """Rows of the row groups of a file, and its columns."""
    with as_data_errors(path), opened(path) as reader:
        groups = range(reader.num_row_groups)
        rows = tuple(reader.metadata.row_group(i).num_rows for i in groups)
        return ParquetFile(path, rows, plain_schema(reader.schema_arrow))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Schema without metadata, and with decimals as floats: pandas makes objects of them."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(each.name, pa.float64() if pa.types.is_decimal(each.type) else each.type)
            for each in schema
        ]
    )


def common_schema(files: Sequence[ParquetFile]) -> pa.Schema:
    """Schema that the columns of all files can be converted to, in the order of the first."""
    import pyarrow as pa

    first = files[0]
    schema = first.schema
    for each in files[1:]:
        if each.schema.equals(schema):
            continue
        other = set(each.schema.names) ^ set(schema.names)
        if other:
            raise DataError(
                f"All files must have the same columns, but {sorted(other)[0]!r} is in only one of "
                f"{first.path} and {each.path}."
            )
        for name in schema.names:
            own, its = schema.field(name).type, each.schema.field(name).type
            try:
                common = pa.unify_schemas(
                    [pa.schema([(name, own)]), pa.schema([(name, its)])],
                    promote_options="permissive",
                )
            except pa.ArrowException as error:
                raise DataError(
                    f"All files must have the same columns, but {name!r} is {own} in {first.path} "
                    f"and {its} in {each.path}."
                ) from error
            schema = schema.set(schema.get_field_index(name), common.field(0))
    return schema


@contextmanager
def as_data_errors(where: str) -> Iterator[None]:
    """Turn failures of reading into errors that name the file and row group."""
    import pyarrow as pa

    try:
        yield
    except (CalibrantError, GeneratorExit):
        raise
    except FileNotFoundError as error:
        raise MissingFileError(f"{where}: the file is not there any more.") from error
    except PermissionError as error:
        raise DataError(f"{where} can't be opened: {_in_words(error)}.") from error
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise DataError(
            f"{where} can't be read as Parquet: {_in_words(error)}. Is the file empty or cut off?"
        ) from error
    except Exception as error:
        if "://" not in where:  # no failure of the packages behind fsspec, but a bug
            raise
        raise DataError(f"{where} can't be read: {_in_words(error)}.") from error


def _in_words(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
