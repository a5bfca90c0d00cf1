"""Files with measurements of judges, which are kept beside journals: one line of JSON for each measurement."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeVar

from viva.errors import SetupError
from viva.full_disk import error_words
from viva.journal.append_file import AppendFile
from viva.records.codec import decode_json, encode
from viva.records.text import one_line
from viva.regular_files import MOST_GIVEN, open_plain


class Measurement(Protocol):
    """A dataclass with the version of its format."""

    @property
    def v(self) -> int:
        """The version."""


MeasurementType = TypeVar("MeasurementType", bound=Measurement)


def read_measurements(file: Path, kind: type[MeasurementType], version: int) -> list[MeasurementType]:
    """Return the measurements in a file in their order; none if there is no file.

    Lines that are torn or of another version are passed over: a report does not fail because of them.
    """
    try:
        with open_plain(file) as opened:
            content = opened.read(MOST_GIVEN)
    except OSError:
        return []
    found = []
    for line in content.decode("utf-8", "replace").split("\n"):
        if line.strip():
            try:
                measurement = decode_json(kind, line)
            except (ValueError, RecursionError):
                continue
            if measurement.v == version:
                found.append(measurement)
    return found


def add_measurement(file: Path, measurement: Measurement, name: str) -> None:
    """Append a measurement with one write; folders that do not exist are made.

    Args:
        file: The file.
        measurement: The measurement.
        name: What an error calls it, such as "the calibration".

    Raises:
        SetupError: it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = AppendFile(file)
        try:
            opened.append(encode(measurement) + b"\n")
        finally:
            opened.close()
    except OSError as error:
        words = error_words(error, [file.parent])
        raise SetupError(f"{name} cannot be stored in {one_line(str(file))}: {words}.") from error
