"""Reads `openai_evals:FILE`: results that OpenAI's hosted evals exported as JSON Lines, one sample on each line.

A line has `run_id`, `data_source_idx`, `item` (the row of the dataset), `sample` (`input`, `outputs`, `error`,
`finish_reason`, `token_usage`), `grades` (numbers by the names of graders), `passes` (true or false by these names) and
`grader_samples`. The grades and passes are in the transcript's attributes, where the evaluator `grades` finds them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.recordings.chat_rounds import MessageError, read_messages
from viva.recordings.files.each_file import of_each_part
from viva.recordings.files.packed import open_recording
from viva.recordings.json_pieces import bounded_lines, load_line, stripped
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.recordings.subjects import subject_of
from viva.records.fault import Fault
from viva.records.transcript import StopReason, Transcript, Usage
from viva.records.usage import with_usage

GRADES = "grades"
"""The attribute of a transcript with the numbers that graders gave."""
PASSES = "passes"
"""The attribute of a transcript with what graders let pass."""
ASKED = ("input", "question", "query", "prompt", "message", "text", "user_input")
"""Keys of an item that hold what the user said, if the sample does not have the messages."""
UNKNOWN = ""
"""What a sample is counted under if its line is broken and shows no key: any that has no index may be its own."""
_IDS = re.compile(rb'"(run_id|data_source_idx)"\s*:\s*("[\w.-]+"|0|[1-9]\d{0,17})(?=\s*[,}])')


class OpenAIEvalsReader:
    """Reads `openai_evals:FILE`."""

    evaluators = (GRADES,)

    def read(self, source: str, *, told: SourceNotes | None = None) -> Iterator[Recording]:
        """Yield the samples of a file, in order.

        Args:
            source: The file.
            told: Says whether the file is followed, and takes what cannot be read of it then.

        Raises:
            RecordingError: while iterating, at the first line that is not a sample, after all samples before it.
        """
        path = Path(source)
        told = SourceNotes() if told is None else told
        seen, found = Counter[str](), False

        def sample(numbered: tuple[int, bytes | None]) -> Iterator[Recording]:
            nonlocal found
            number, line = numbered
            if line is None or stripped(line):
                found = True
                try:
                    yield _recording(load_line(line, path, number), f"{path}, line {number}", seen)
                except RecordingError:
                    seen[_key_in(line or b"")] += 1  # or the keys after it would be others when it has been mended
                    raise

        try:
            with open_recording(path) as file:
                lines = bounded_lines(file, half_written=told.passing_over(path))
                yield from of_each_part(lines, sample, told)
        except OSError as error:
            raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
        if not found:
            raise NothingYet(f"{path}: the file is empty")


def _key_in(line: bytes) -> str:
    """Return the key of a sample that cannot be read, as far as its line shows one; else `UNKNOWN`."""
    found = {name: json.loads(value) for name, value in reversed(_IDS.findall(line))}
    return _key(found.get(b"run_id"), found.get(b"data_source_idx")) if found else UNKNOWN


def _key(run: Any, index: Any) -> str:
    return f"{run or 'run'}#{'' if index is None else index}"


def _recording(document: Any, place: str, seen: Counter[str]) -> Recording:
    if not isinstance(document, Mapping) or not isinstance(document.get("sample"), Mapping | None):
        raise RecordingError(f"{place}: not a sample of OpenAI's evals: it must be an object with `item` and `sample`")
    if not {"item", "sample"} & document.keys():
        raise RecordingError(f"{place}: not a sample of OpenAI's evals: it has neither `item` nor `sample`")
    item, sample = document.get("item"), dict(document.get("sample") or {})
    asked, answered = _asked(item, sample), _messages(sample.get("outputs", sample.get("output")), "assistant")
    try:
        transcript = read_messages([*asked, *answered])
    except MessageError as error:
        raise RecordingError(f"{place}: {error}") from error
    transcript = _with_usage(_with_error(transcript, sample), sample)
    graded = {name: document[name] for name in (GRADES, PASSES) if isinstance(document.get(name), Mapping)}
    rest = {key: value for key, value in document.items() if key not in graded}
    attributes = {**transcript.attributes, **graded, "recording": rest}
    run, index = document.get("run_id"), document.get("data_source_idx")
    key = _key(run, index)
    seen[key] += 1
    number = seen[key] + (seen[UNKNOWN] if index is None else 0)
    model = sample.get("model")
    question = " ".join(str(each["content"]) for each in asked if each["role"] == "user")
    return Recording(
        with_usage(replace(transcript, attributes=attributes)),
        place=place,
        run_key=key if number == 1 else f"{key} ({number})",
        subject=subject_of(question) if question.strip() else None if index is None else str(index),
        trial=number - 1,
        agent=model if isinstance(model, str) and model else None,
    )


def _asked(item: Any, sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages before the answer: those of the sample, or else what the item says that the user asked."""
    if given := _messages(sample.get("input"), "user"):
        return given
    if isinstance(item, Mapping):
        for name in ("messages", "input", "conversation"):
            if isinstance(item.get(name), list) and (given := _messages(item[name], "user")):
                return given
        for name in ASKED:
            if isinstance(item.get(name), str) and item[name].strip():
                return [{"role": "user", "content": item[name]}]
    words = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    return [{"role": "user", "content": words}]


def _messages(value: Any, role: str) -> list[dict[str, Any]]:
    """Return chat messages of what a sample or an item holds: text, a message, or a list of them."""
    entries = value if isinstance(value, list) else [] if value in (None, "") else [value]
    found: list[dict[str, Any]] = []
    for entry in entries:
        if isinstance(entry, Mapping) and isinstance(entry.get("role"), str):
            found.append({**entry, "content": _text(entry.get("content"))})
        elif isinstance(entry, str):
            found.append({"role": role, "content": entry})
        elif isinstance(entry, Mapping):
            content = entry.get("content", entry.get("text", entry))
            found.append({"role": role, "content": _text(content)})
    return found


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "\n".join(_text(part.get("text", part) if isinstance(part, Mapping) else part) for part in content)
    return json.dumps(content, ensure_ascii=False)


def _with_error(transcript: Transcript, sample: Mapping[str, Any]) -> Transcript:
    error = sample.get("error")
    if error in (None, "", {}, []) or not transcript.rounds:
        return transcript
    detail = str(error.get("message", error) if isinstance(error, Mapping) else error)[:1000]
    return replace(transcript, stop=StopReason.TARGET_ERROR, stop_detail=detail, fault=Fault.TARGET)


def _with_usage(transcript: Transcript, sample: Mapping[str, Any]) -> Transcript:
    used = sample.get("token_usage", sample.get("usage"))
    if not isinstance(used, Mapping) or not transcript.rounds:
        return transcript
    usage = Usage(
        input_tokens=_count(used, "prompt_tokens", "input_tokens", "prompt"),
        output_tokens=_count(used, "completion_tokens", "output_tokens", "completion"),
        cached_tokens=_count(used, "cached_tokens", "cached"),
        calls=1,
    )
    last = replace(transcript.rounds[-1], usage=usage)
    return replace(transcript, rounds=(*transcript.rounds[:-1], last))


def _count(used: Mapping[str, Any], *names: str) -> int:
    found = (used[name] for name in names if isinstance(used.get(name), int) and not isinstance(used[name], bool))
    return max(0, next(found, 0))
