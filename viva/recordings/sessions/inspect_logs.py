"""Reads `inspect:FILE`: the evaluation logs of Inspect AI (`.eval`, or its older `.json`), a recording for each sample.

The format is that of the package `inspect-ai` (`inspect_ai.log.EvalLog`, version 2 of its schema): an archive with
`header.json` and `samples/ID_epoch_N.json`.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from viva.errors import SetupError
from viva.recordings.files.each_file import of_each_file
from viva.recordings.files.locations import find_files
from viva.recordings.files.packed import MOST_RATIO, most_unpacked, open_recording
from viva.recordings.json_pieces import MOST_DOCUMENT, load_document, read_document
from viva.recordings.numbers import finite
from viva.recordings.recording import HalfWritten, Recording, RecordingError, SourceNotes
from viva.recordings.sessions.draft import SessionDraft
from viva.recordings.sessions.inspect_repeats import Repeats
from viva.recordings.spans.values import listed, read_time
from viva.recordings.tool_definitions import normal
from viva.regular_files import in_words

ENDINGS = (".eval", ".json")
_ZIP = b"PK"
_HEADER, _START, _SAMPLES = "header.json", "_journal/start.json", "samples/"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's letters: correct, partially correct, incorrect, no answer (`inspect_ai.scorer.value_to_float`)."""
_BLOCK = 4096
"""Bytes of a member that are unpacked at once. `zipfile` limits what it reads of the archive, but not in every version
what that unpacks to: bzip2 and zstd reach several ten thousand times the size."""


class InspectReader:
    """Reads `inspect:FILE`."""

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read the samples of logs, in the order of the files and of the samples in them.

        A sample is one run: its id is the subject, its epoch the trial, and its score the reward.

        Args:
            source: A log, a folder with logs, or a glob.
            since: Samples that began before are left out.
            told: Takes what is not about a single sample.

        Raises:
            RecordingError: while iterating: the only file, or each of several, is not a log of Inspect. One of several
                is lost.
        """
        found = find_files((source,), ENDINGS)
        least = 0 if since is None else int(since.timestamp() * 10**9)
        told = SourceNotes() if told is None else told
        found.tell(told)
        for recording, began in of_each_file(found.files, _samples, told):
            if began is None or began >= least:
                yield told.on(recording)


def log_samples(path: Path) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield the header of a log with each of its samples, as plain data.

    Raises:
        RecordingError: while iterating: the file is not a log of Inspect.
    """
    try:
        with open_recording(path) as file:
            packed = file.peek(2)[:2] == _ZIP  # type: ignore[attr-defined]
            yield from _of_archive(path, file) if packed else _of_document(path, file)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror or error}") from error


def _samples(path: Path) -> Iterator[tuple[Recording, int | None]]:
    repeats = Repeats(path)
    for header, sample in log_samples(path):
        try:
            found = _recording(path, header, sample, repeats)
        except RecursionError as error:
            raise RecordingError(f"{path}: a sample cannot be read: it is nested too deeply.") from error
        yield found


def _of_document(path: Path, file: IO[bytes]) -> Iterator[tuple[Any, Any]]:
    document = read_document(path, file)
    if not isinstance(document, Mapping) or not isinstance(document.get("eval"), Mapping):
        raise RecordingError(f"{path}: not a log of Inspect: it must have `eval` and `samples`.")
    samples = document.get("samples")
    if not isinstance(samples, list | None):
        raise RecordingError(f"{path}: not a log of Inspect: its `samples` are not a list.")
    for sample in samples or ():
        yield document, sample


def _of_archive(path: Path, file: IO[bytes]) -> Iterator[tuple[Any, Any]]:
    module = _zip_module()
    try:
        with _opened(module, path, file) as archive:
            names = [info.filename for info in archive.infolist()]
            head = next((name for name in (_HEADER, _START) if name in names), None)
            if head is None:
                raise RecordingError(f"{path}: not a log of Inspect: it holds no {_HEADER}.")
            members = _Members(path, archive, file.seek(0, os.SEEK_END))
            header = load_document(members.read(head), path)
            for name in names:
                if name.startswith(_SAMPLES) and name.endswith(".json"):
                    yield header, load_document(members.read(name), path)
    except NotImplementedError as error:
        raise SetupError(f"{path} is packed with zstd, which requires: pip install 'vivavoce[zstd]'.") from error
    except (zipfile.BadZipFile, module.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError) as error:
        raise RecordingError(f"{path}: the archive is damaged: {error}.") from error


def _opened(module: Any, path: Path, file: IO[bytes]) -> Any:
    try:
        return module.ZipFile(file)
    except (zipfile.BadZipFile, module.BadZipFile) as error:  # its directory is written last
        raise HalfWritten(f"{path}: the archive is damaged: {error}.") from error


def _zip_module() -> Any:
    """Return a module that reads archives with zstd, which Inspect writes: that of Python 3.14, or its backport."""
    try:
        from backports.zstd import zipfile as module
    except ImportError:
        return zipfile
    return module


class _Members:
    """The members of an archive, which may be no larger together than what other packed files unpack to."""

    def __init__(self, path: Path, archive: Any, size: int) -> None:
        self._path, self._archive = path, archive
        self._left = most_unpacked(size)

    def read(self, name: str) -> bytes:
        """Return what a member holds.

        Raises:
            RecordingError: it is too large, or all that were read are too large together.
        """
        # What the archive says of its sizes may be wrong, so no more is unpacked than is allowed.
        most = min(MOST_DOCUMENT, self._left)
        data = bytearray()
        with self._archive.open(name) as file:
            while len(data) <= most and (block := file.read(_BLOCK)):
                data += block
        if len(data) > MOST_DOCUMENT:
            raise RecordingError(f"{self._path}: {name} is larger than {in_words(MOST_DOCUMENT)}, the maximum.")
        if len(data) > self._left:
            raise RecordingError(f"{self._path}: it unpacks to more than {MOST_RATIO} times its size.")
        self._left -= len(data)
        return bytes(data)


def _recording(path: Path, header: Mapping[str, Any], sample: Any, repeats: Repeats) -> tuple[Recording, int | None]:
    if not isinstance(sample, Mapping) or not isinstance(sample.get("messages"), list):
        raise RecordingError(f"{path}: not a log of Inspect: a sample has no `messages`.")
    name, epoch = str(sample.get("id")), sample.get("epoch")
    place = f"{path}, sample {name}, epoch {epoch}"
    about = header.get("eval") if isinstance(header.get("eval"), Mapping) else {}
    assert isinstance(about, Mapping)
    told = {"task": about.get("task"), "model": about.get("model")}
    repeats.see(place, told, about.get("solver"))
    sample = repeats.resolved(place, sample)
    draft = SessionDraft(_text(about.get("solver")) or _text(about.get("task")) or "inspect")
    models = {key: event for event in _events(sample, "model") if (key := _message_id(event))}
    for message in sample["messages"]:
        if isinstance(message, Mapping):
            _take(draft, message, models.get(str(message.get("id")), {}))
    rest = {key: value for key, value in sample.items() if key not in ("messages", "events", "attachments", "store")}
    kinds = Counter(str(event.get("event")) for event in listed(sample.get("events")) if isinstance(event, Mapping))
    draft.kept = {"inspect": {**rest, "events": kinds, **told}}
    reward, notes = _reward(sample.get("scores"))
    if isinstance(sample.get("error"), Mapping):
        draft.notes.append(f"the sample ended with an error: {str(sample['error'].get('message'))[:300]}")
    recording = draft.recording(
        place=place,
        run_key=_text(sample.get("uuid")) or f"{path.name}, sample {name}, epoch {epoch}",
        source="inspect",
        tools=_tools(sample),
    )
    recording = replace(
        recording,
        subject=name if sample.get("id") is not None else recording.subject,
        trial=epoch if type(epoch) is int else None,
        reward=reward,
        notes=tuple(notes),
    )
    return recording, read_time(sample.get("started_at"))


def _take(draft: SessionDraft, message: Mapping[str, Any], event: Mapping[str, Any]) -> None:
    role = message.get("role")
    text, thought, images = _content(message.get("content"))
    if role == "user":
        draft.user(text, images)
    elif role == "assistant":
        calls = [
            (str(call.get("id")), str(call.get("function")), call.get("arguments"))
            for call in listed(message.get("tool_calls"))
            if isinstance(call, Mapping)
        ]
        draft.said(
            text,
            calls,
            thought=thought,
            model=_text(message.get("model")) or _text(event.get("model")),
            metrics=_metrics(event),
            when=event.get("timestamp"),
        )
    elif role == "tool":
        error = message.get("error")
        failed = str(error.get("message") or error.get("type")) if isinstance(error, Mapping) else None
        draft.result(str(message.get("tool_call_id")), text, images, failed)
    else:
        draft.system(text)


def _content(content: Any) -> tuple[str, str, list[str]]:
    """Return text, reasoning and images of a message."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else "", "", []
    texts, thoughts, images = [], [], []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text":
            texts.append(str(part.get("text")))
        elif kind == "reasoning":
            thoughts.append(str(part.get("reasoning") or part.get("summary") or ""))
        elif kind == "image":
            images.append(str(part.get("image")))
        elif kind is not None:
            texts.append(json.dumps(part, ensure_ascii=False))
    return "\n".join(texts), "\n".join(thoughts), images


def _metrics(event: Mapping[str, Any]) -> dict[str, Any] | None:
    output = event.get("output")
    usage = output.get("usage") if isinstance(output, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    cached = usage.get("input_tokens_cache_read")
    given = usage.get("input_tokens")
    # Inspect counts cached tokens beside the others.
    beside = [usage.get("input_tokens_cache_write"), cached]
    if isinstance(given, int):
        given += sum(each for each in beside if isinstance(each, int))
    return {"prompt_tokens": given, "completion_tokens": usage.get("output_tokens"), "cached_tokens": cached}


def _reward(scores: Any) -> tuple[float | None, list[str]]:
    """Return the reward, and notes where it is not certain."""
    if not isinstance(scores, Mapping) or not scores:
        return None, ["samples without a score have no reward"]
    name, score = next(iter(scores.items()))
    value = score.get("value") if isinstance(score, Mapping) else None
    reward = _GRADES.get(value) if isinstance(value, str) else finite(value)
    if isinstance(value, bool):
        reward = float(value)
    notes = []
    if reward is None:
        notes.append(f"the score {name} is neither a number nor one of {', '.join(_GRADES)}, and is not the reward")
    elif len(scores) > 1:
        notes.append(f"a sample has several scores ({', '.join(scores)}); the first is the reward")
    return reward, notes


def _tools(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for event in _events(sample, "model"):
        for given in listed(event.get("tools")):
            if (tool := normal(given)) is not None:
                found[str(tool)] = tool
    return list(found.values())


def _events(sample: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [e for e in listed(sample.get("events")) if isinstance(e, Mapping) and e.get("event") == kind]


def _message_id(event: Mapping[str, Any]) -> str | None:
    output = event.get("output")
    choices = listed(output.get("choices")) if isinstance(output, Mapping) else []
    message = choices[0].get("message") if choices and isinstance(choices[0], Mapping) else None
    return _text(message.get("id")) if isinstance(message, Mapping) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
