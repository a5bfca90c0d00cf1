"""Reads the rows of a Parquet file, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from viva.errors import SetupError
from viva.recordings.files.cells import plain
from viva.recordings.files.packed import MOST_FREE, MOST_RATIO
from viva.recordings.recording import RecordingError
from viva.regular_files import MIB

MAGIC = b"PAR1"
LARGE_COLUMN = 16 * MIB
"""Bytes of a column beyond which few of its rows are read at once: a single value may be that large."""
ROWS = 256
"""Rows that are read at once where the columns are small."""
FEW_ROWS = 4


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
        table = parquet.ParquetFile(file)
        given = 0
        for batch in table.iter_batches(batch_size=_batch_size(table.metadata)):
            given += batch.nbytes
            if given > max(MOST_FREE, MOST_RATIO * size):
                raise RecordingError(f"{path}: it unpacks to more than {MOST_RATIO} times its size.")
            for row in batch.to_pylist():
                yield {str(key): value for key, cell in row.items() if (value := plain(cell)) is not None}
    except (ArrowException, OSError, ValueError, RecursionError, MemoryError) as error:
        words = " ".join(str(error).split())[:300]
        raise RecordingError(f"{path}: not a valid Parquet file: {words or type(error).__name__}.") from error


def _batch_size(metadata: Any) -> int:
    largest = max(
        (
            metadata.row_group(group).column(column).total_uncompressed_size
            for group in range(metadata.num_row_groups)
            for column in range(metadata.num_columns)
        ),
        default=0,
    )
    return ROWS if largest <= LARGE_COLUMN else FEW_ROWS
