"""Reads and writes label files: what people say about scoring points, one label per line (`viva docs formats`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from viva.errors import SetupError
from viva.full_disk import error_words
from viva.journal.append_file import AppendFile
from viva.journal.lines import Damage
from viva.records.bounded_json import UnfitJson, read
from viva.records.text import one_line, storable
from viva.records.verdict import Label
from viva.regular_files import MIB, read_text

FORMAT = 1
LABELS = (Label.HIT.value, Label.MISS.value, Label.UNSURE.value)
"""What a person may say about a scoring point."""
MOST = 64 * MIB
"""Maximum size of a label file in bytes: about 200,000 labels."""
MOST_TEXT = 64 * 1024
"""Maximum number of characters of one text in a label file."""
RANDOM, SAMPLE, NAMED = "random", "sample", "named"
"""How a labelled point was chosen: at random among all, by `--sample` because it seemed hard, or in a run that the user
named."""
WHAT = "the label file"
_BEGINNING = '{"v": 1, "rater": '
"""How each line begins that `LabelWriter` writes."""
_REQUIRED = ("rater", "run", "criterion")
_OPTIONAL = ("case", "statement", "note", "at", "conversation", "chosen")


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What one person says about one scoring point of one run."""

    rater: str
    """Who says it."""
    run: str
    """The id of the run, as its journal has it."""
    criterion: str
    """The id of the scoring point."""
    label: str | None
    """`hit`, `miss` or `unsure`; None takes back what the rater said before."""
    case: str = ""
    statement: str = ""
    """The scoring point in words."""
    note: str = ""
    at: str = ""
    """When it was given, in UTC: `2026-11-22T23:30:00Z`."""
    seconds: float | None = None
    """How long the rater took; None if unknown."""
    conversation: str = ""
    """Tells which conversation the rater read (`conversation_digest`): ids of runs are the same in every suite.
    Empty if unknown, as in files of other programs."""
    chosen: str = ""
    """How the point was chosen: `RANDOM`, `SAMPLE` or `NAMED`; empty if unknown."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what a later label must have in common with this one to replace it."""
        return self.rater, self.run, self.criterion, self.conversation


def read_labels(path: Path, damage: Damage | None = None) -> list[HumanLabel]:
    """Return the labels that apply: the last one of each rater for each scoring point of a conversation.

    Labels that were taken back are left out, and so are torn lines, which a writer that was killed left.

    Args:
        path: The label file, or what the shell opened (`/dev/stdin`).
        damage: Counts the torn lines.

    Raises:
        SetupError: it cannot be read, or a line is not a label. The message names file and line.
    """
    return labels_in(read_text(path, WHAT, MOST, torn_lines=True), path, damage)


def labels_in(text: str, path: Path, damage: Damage | None = None) -> list[HumanLabel]:
    """Return the same as `read_labels` for the text of a file.

    Args:
        text: The content of the file.
        path: The file, for messages.
        damage: Counts the torn lines.

    Raises:
        SetupError: a line is not a label.
    """
    found: dict[tuple[str, str, str, str], HumanLabel] = {}
    # Not `splitlines`: a text may contain other separators of lines, which JSON does not escape.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            label = _label(line, f"{one_line(str(path))}, line {number}")
        except SetupError:
            if not _is_torn(line):
                raise
            if damage is not None:
                damage.add(number)
            continue
        found.pop(label.key, None)  # so that the order is that of the lines that apply
        if label.label is not None:
            found[label.key] = label
    return list(found.values())


def is_label_file(text: str) -> bool:
    """Return whether the text of a file is labels in this format, by the keys of its first whole line."""
    lines = (line for line in text.split("\n") if line.strip())
    first = next((line for line in lines if not _is_torn(line)), None)
    if first is None:  # nothing but a torn line: the first label of a writer that was killed
        return text.lstrip().startswith(_BEGINNING)
    try:
        plain = read(first.encode())
    except UnfitJson:
        return False
    return isinstance(plain, dict) and {"run", "criterion"} <= plain.keys()


def _is_torn(line: str) -> bool:
    """Return whether a line is the beginning of a label, which a writer that was killed left."""
    if not line.startswith("{"):
        return False
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return not line.rstrip().endswith("}") or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        return False
    return False


class LabelWriter:
    """Appends labels to a file, each with one write: a writer that is killed loses at most the label it was writing."""

    def __init__(self, path: Path) -> None:
        """Open the file for appending, and create it and its folder if necessary.

        Raises:
            SetupError: it cannot be written.
        """
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = AppendFile(path)
        except OSError as error:
            raise _not_written(path, error) from error

    def append(self, label: HumanLabel) -> None:
        """Append one label.

        Raises:
            SetupError: it cannot be written.
            ValueError: the label is none that can be read back.
        """
        if label.label is not None and label.label not in LABELS:
            raise ValueError(f"{label.label!r} is not a label")
        plain = {"v": FORMAT, **{name: value for name, value in asdict(label).items() if value not in ("", None)}}
        plain["label"] = label.label
        line = json.dumps(_storable(plain), ensure_ascii=False, allow_nan=False)
        try:
            self._file.append(f"{line}\n".encode())
        except OSError as error:
            raise _not_written(self._path, error) from error

    def close(self) -> None:
        """Close the file. It may be called twice."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return this writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


def _not_written(path: Path, error: OSError) -> SetupError:
    return SetupError(f"the label file {one_line(str(path))} cannot be written: {error_words(error, [path.parent])}.")


def _storable(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: storable(value) if isinstance(value, str) else value for name, value in plain.items()}


def _label(line: str, where: str) -> HumanLabel:
    try:
        plain = read(line.encode())
    except UnfitJson as error:
        raise SetupError(
            f"{where}: {error}. Each line is one label as a JSON object; repair or remove the line."
        ) from None
    if not isinstance(plain, dict):
        raise SetupError(f"{where}: it is not a JSON object. Each line is one label; repair or remove the line.")
    version = plain.get("v", FORMAT)
    if version != FORMAT or isinstance(version, bool):
        raise SetupError(f"{where}: the format is version {one_line(str(version), 20)}; this Viva reads {FORMAT}.")
    texts = {name: _text(plain, name, where) for name in (*_REQUIRED, *_OPTIONAL)}
    for name in _REQUIRED:
        if not texts[name].strip():
            raise SetupError(f"{where}: {name!r} is missing; a label requires rater, run, criterion and label.")
    return HumanLabel(**texts, label=_given(plain, where), seconds=_seconds(plain, where))


def _text(plain: Mapping[str, Any], name: str, where: str) -> str:
    value = plain.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SetupError(f"{where}: {name!r} is not a text.")
    if len(value) > MOST_TEXT:
        raise SetupError(f"{where}: {name!r} is longer than {MOST_TEXT:,} characters, the maximum.")
    return storable(value)


def _given(plain: Mapping[str, Any], where: str) -> str | None:
    if "label" not in plain:
        raise SetupError(f"{where}: 'label' is missing; a label requires rater, run, criterion and label.")
    value = plain["label"]
    if value is None or (isinstance(value, str) and value in LABELS):
        return value
    near = get_close_matches(value.lower(), LABELS, 1) if isinstance(value, str) else []
    meant = f" Did you mean {near[0]!r}?" if near else ""
    shown = one_line(json.dumps(value, ensure_ascii=False), 60)
    raise SetupError(
        f'{where}: {shown} is not a label; write "hit", "miss" or "unsure", or null to take one back.{meant}'
    )


def _seconds(plain: Mapping[str, Any], where: str) -> float | None:
    value = plain.get("seconds")
    if value is None:
        return None
    right = isinstance(value, int | float) and not isinstance(value, bool)
    # The largest float, because a whole number can be larger than any.
    if not right or not 0 <= value <= sys.float_info.max:
        raise SetupError(f"{where}: 'seconds' is not a number of seconds.")
    return float(value)
