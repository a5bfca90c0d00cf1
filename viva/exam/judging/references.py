"""Reference trajectories as the user gives them: a file that has one for each subject, or a field of each recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from viva.errors import SetupError
from viva.judge.trajectory.reference import NoReference, read_reference
from viva.records.transcript import Transcript
from viva.regular_files import MIB, read_text

IN_RECORDING = "recording:"
MOST_REFERENCES = 64 * MIB
"""Maximum size in bytes of a file of references, which has one for each task."""
SUBJECTS = ("subject", "task_id", "case", "task", "query", "id")
REFERENCES = ("reference", "calls", "actions", "tool_calls", "steps", "trajectory")


@dataclass(frozen=True)
class References:
    """Knows the reference of each subject."""

    by_subject: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    """Where in the fields of a recording around its messages the reference lies; empty if a file has them."""

    @cached_property
    def _by_words(self) -> Mapping[str, Any]:
        """References by the words of their subjects, where no other subject has the same words."""
        found: dict[str, list[Any]] = {}
        for subject, given in self.by_subject.items():
            found.setdefault(_words(subject), []).append(given)
        return {words: given[0] for words, given in found.items() if len(given) == 1}

    def find(self, subject: str, transcript: Transcript) -> Any:
        """Return the reference of a subject; None if there is none."""
        if not self.path:
            asked = next((each.examiner for each in reversed(transcript.rounds) if each.examiner), None)
            for key in (subject, asked or subject):
                if key in self.by_subject:
                    return self.by_subject[key]
            return self._by_words.get(_words(asked or subject), self._by_words.get(_words(subject)))
        found: Any = transcript.attributes.get("recording")
        for name in self.path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


def _words(subject: str) -> str:
    """Return a subject with its white space made plain: a question may hold line breaks and no-break spaces."""
    return " ".join(subject.split())


def load_references(spec: str) -> References:
    """Load references.

    Args:
        spec: A JSON or YAML file with an object (subject to reference) or a list, a JSON Lines file (each line an
            object with the subject and its reference), or `recording:PATH` for a field of each recording, as in
            `recording:info.task.actions`. `viva.judge.trajectory.reference.read_reference` says what a reference is.

    Raises:
        SetupError: the file cannot be read, or something in it is not a reference.
    """
    if spec.startswith(IN_RECORDING):
        path = tuple(part for part in spec.removeprefix(IN_RECORDING).split(".") if part)
        if not path:
            raise SetupError(
                f"--reference {spec}: name the field of the recordings, as in recording:info.task.actions."
            )
        return References(path=path)
    file = Path(spec)
    found: dict[str, Any] = {}
    for place, subject, given in _entries(file):
        if subject in found:
            raise SetupError(f"{place}: there are two references for {subject!r}.")
        try:
            read_reference(given)
        except NoReference as error:
            raise SetupError(f"{place}: {error} (subject {subject!r:.80}).") from error
        found[subject] = given
    if not found:
        raise SetupError(f"--reference {file}: the file holds no reference.")
    return References(found)


def _entries(file: Path) -> Iterator[tuple[str, str, Any]]:
    """Place, subject and reference of each entry."""
    text = read_text(file, "--reference: the file", MOST_REFERENCES)
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                place = f"{file}, line {number}"
                yield place, *_entry(place, _parsed(place, line, json.loads))
        return
    yaml_file = file.suffix.lower() in (".yaml", ".yml")
    document = _parsed(str(file), text, yaml.safe_load if yaml_file else json.loads)
    if isinstance(document, Mapping):
        for subject, given in document.items():
            yield str(file), str(subject), given
    elif isinstance(document, list):
        for number, each in enumerate(document, 1):
            place = f"{file}, element {number}"
            yield place, *_entry(place, each)
    else:
        raise SetupError(f"--reference {file}: it must hold an object (subject to reference) or a list.")


def _parsed(place: str, text: str, parse: Any) -> Any:
    try:
        return parse(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SetupError(f"{place}: cannot be read: {str(error)[:300]}") from error


def _entry(place: str, given: Any) -> tuple[str, Any]:
    if isinstance(given, Mapping):
        subject = next((given[key] for key in SUBJECTS if isinstance(given.get(key), str | int)), None)
        reference = next((given[key] for key in REFERENCES if key in given), None)
        if subject is not None and reference is not None:
            return str(subject), reference
    names = f"{' or '.join(SUBJECTS[:2])}, and {' or '.join(REFERENCES[:3])}"
    raise SetupError(f"{place}: no reference: it needs {names}.")
