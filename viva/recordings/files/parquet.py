"""Reads the rows of a Parquet file, a few at a time.

A column may hold a long text once and repeat it in every row, or many times within a list, which takes a few bytes in
the file. So texts are read as dictionaries, which hold each of them once, and are put into the rows only after it is
known how large these become. Nothing is read of a file whose own figures tell that it unpacks to too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from viva.errors import SetupError
from viva.recordings.files.cells import plain
from viva.recordings.files.packed import MOST_RATIO, most_unpacked
from viva.recordings.recording import RecordingError
from viva.regular_files import MIB

MAGIC = b"PAR1"
LARGE_COLUMN = 16 * MIB
"""Bytes of a column beyond which few of its rows are read at once: a single value may be that large."""
ROWS = 256
"""Rows that are read at once where the columns are small."""
FEW_ROWS = 4
MOST_AT_ONCE = 64 * MIB
"""Bytes beyond which rows that were read at once are unpacked in parts; a single row may be larger."""
VALUE, OBJECT = 64, 384
"""Bytes of an element of a list, and of an object or list, as the Python objects that a row is made of."""
_TEXT, _FIXED = "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"
_WIDTHS = {"BOOLEAN": 1 / 8, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8, _TEXT: 4}
"""Bytes of a value in memory; of a text, those of its number in a dictionary."""
_TOO_LARGE = f"it unpacks to more than {MOST_RATIO} times its size."


def rows_of(path: Path, file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, without their empty cells.

    Raises:
        SetupError: pyarrow is not installed.
        RecordingError: the file is damaged, or unpacks to far more than its size.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise SetupError(f"{path} is a Parquet file, which requires: pip install 'vivavoce[parquet]'.") from error
    size = file.seek(0, 2)
    file.seek(0)
    try:
        metadata = parquet.ParquetFile(file).metadata
        columns = [metadata.schema.column(number) for number in range(metadata.num_columns)]
        texts = [number for number, column in enumerate(columns) if column.physical_type == _TEXT]
        left = most_unpacked(size)
        if _told_size(metadata, columns) > left:
            raise RecordingError(f"{path}: {_TOO_LARGE}")
        table = parquet.ParquetFile(file, metadata=metadata, read_dictionary=texts)
        for batch in _batches(table, _batch_size(metadata, columns)):
            for part, part_size in _parts(batch):
                left -= part_size
                if left < 0:
                    raise RecordingError(f"{path}: {_TOO_LARGE}")
                for row in _unpacked(part).to_pylist():
                    yield {str(key): value for key, cell in row.items() if (value := plain(cell)) is not None}
    except (ArrowException, OSError, ValueError, RecursionError, MemoryError) as error:
        words = " ".join(str(error).split())[:300]
        raise RecordingError(f"{path}: not a valid Parquet file: {words or type(error).__name__}.") from error


def _told_size(metadata: Any, columns: Sequence[Any]) -> int:
    """Return the number of bytes to which a file unpacks at least, as its figures tell it.

    A list may hold any number of values in one row, so the number of rows that are read at once is no limit for it.
    """
    widths = [column.length if column.physical_type == _FIXED else _WIDTHS[column.physical_type] for column in columns]
    return sum(
        max(chunk.total_uncompressed_size, int(chunk.num_values * width))
        for group in map(metadata.row_group, range(metadata.num_row_groups))
        for chunk, width in zip(map(group.column, range(len(columns))), widths, strict=True)
    )


def _batches(table: Any, rows: int) -> Iterator[Any]:
    """Yield so many rows at a time of one row group after another.

    Row groups have dictionaries of their own, and pyarrow cannot put two of them together within a list or an object.
    """
    for group in range(table.metadata.num_row_groups):
        yield from table.iter_batches(batch_size=rows, row_groups=[group])


def _batch_size(metadata: Any, columns: Sequence[Any]) -> int:
    rows = ROWS
    for number, column in enumerate(columns):
        groups = (metadata.row_group(group).column(number) for group in range(metadata.num_row_groups))
        if max((group.total_uncompressed_size for group in groups), default=0) > LARGE_COLUMN:
            rows = min(rows, FEW_ROWS)
        if column.physical_type == _FIXED:
            rows = min(rows, MOST_AT_ONCE // max(1, column.length))
    return max(1, rows)


def _parts(batch: Any) -> Iterator[tuple[Any, int]]:
    """Yield some rows at a time, with the number of bytes to which they unpack."""
    waiting = [batch]
    while waiting:
        part = waiting.pop()
        size = sum(_size(column) for column in part.columns)
        if size > MOST_AT_ONCE and part.num_rows > 1:
            half = part.num_rows // 2
            waiting += [part.slice(half), part.slice(0, half)]
        else:
            yield part, size


def _size(array: Any) -> int:
    """Return the number of bytes to which an array unpacks: each value counts wherever it is repeated.

    Within a list, it counts what Python needs for it: a single row may hold millions of values of less than a byte.
    """
    from pyarrow import compute, types

    kind = array.type
    if types.is_dictionary(kind):
        if kind.value_type not in _texts():
            return 8 * len(array)  # numbers, times
        lengths = compute.take(compute.binary_length(array.dictionary), array.indices)
        return int(compute.sum(lengths).as_py() or 0) + 4 * len(array)
    objects = OBJECT * int(len(array) - array.null_count)
    if types.is_struct(kind):
        return objects + sum(_size(field) for field in array.flatten())
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        begin, end = (array.offsets[place].as_py() for place in (0, -1))
        values = array.values.slice(begin, end - begin)
    elif types.is_fixed_size_list(kind):
        values = array.flatten()
    else:
        return _size(array.storage) if hasattr(array, "storage") else int(array.nbytes)
    return objects + VALUE * len(values) + _size(values)


@cache
def _texts() -> frozenset[Any]:
    import pyarrow

    return frozenset({pyarrow.string(), pyarrow.binary(), pyarrow.large_string(), pyarrow.large_binary()})


def _unpacked(batch: Any) -> Any:
    """Return a batch with plain columns, which become Python objects in a fraction of the time."""
    from pyarrow import RecordBatch

    return RecordBatch.from_arrays([_plain_array(each) for each in batch.columns], names=batch.schema.names)


def _plain_array(array: Any) -> Any:
    import pyarrow

    if pyarrow.types.is_dictionary(array.type):
        return array.dictionary_decode()
    kind = _plain_type(array.type)
    if kind == array.type:
        return array
    # A cast of some of the rows unpacks what the lists in the others hold, too: a copy has no others.
    return array.take(pyarrow.array(range(len(array)))).cast(kind)


def _plain_type(kind: Any) -> Any:
    """Return a type without dictionaries, also within lists and objects."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(kind):
        return kind.value_type
    if types.is_struct(kind):
        return pyarrow.struct([_plain_field(kind.field(place)) for place in range(kind.num_fields)])
    if types.is_map(kind):
        return pyarrow.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(_plain_field(kind.value_field), kind.list_size)
    if types.is_list(kind):
        return pyarrow.list_(_plain_field(kind.value_field))
    return pyarrow.large_list(_plain_field(kind.value_field)) if types.is_large_list(kind) else kind


def _plain_field(field: Any) -> Any:
    return field.with_type(_plain_type(field.type))
