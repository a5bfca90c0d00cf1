"""Reads `codex:FILE`: the session files of OpenAI's Codex (`~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`).

A line has `timestamp`, `type` and `payload`. `response_item` is an item of the Responses API, `event_msg` what Codex
showed, `session_meta` and `turn_context` the setting. Older files hold the items without that around them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from viva.recordings.chat_messages import read_arguments
from viva.recordings.recording import Recording, SourceNotes
from viva.recordings.sessions.draft import SessionDraft
from viva.recordings.sessions.lines import read_sessions_of
from viva.recordings.spans.files import EVALUATORS
from viva.recordings.spans.values import listed, read_time

AGENT = "Codex"
_ITEMS = (
    *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
    *("local_shell_call", "web_search_call"),
)
_SURROUNDINGS = re.compile(r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|skill)\b|# AGENTS\.md instr)")
"""How messages begin that Codex sends in the user's role, for files that do not say what is the user's own."""
_EXIT_CODE = re.compile(r"(?:Exit code:|Process exited with code) (-?\d+)\b")


class CodexReader:
    """Reads `codex:FILE`."""

    evaluators = EVALUATORS

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read sessions.

        Args:
            source: A session's file, a folder with such files, or a glob.
            since: Files whose last line is older are left out.
            told: Takes what is not about a single session.

        Raises:
            RecordingError: while iterating: the file is not a session of Codex.
        """
        return read_sessions_of(source, _sessions, _has_items, "a session of Codex", since, _when, told)


def _when(line: Mapping[str, Any]) -> int | None:
    return read_time(line.get("timestamp"))


def _has_items(lines: list[Mapping[str, Any]]) -> bool:
    return any(_item(line) is not None for line in lines)


def _sessions(path: Path, lines: list[Mapping[str, Any]]) -> list[Recording]:
    if not _has_items(lines):
        return []
    wrapped = any(line.get("type") in ("session_meta", "response_item") for line in lines)
    if not wrapped and not any("instructions" in line or "record_type" in line for line in lines[:3]):
        return []
    reader = _RolloutReader(lines)
    for line in lines:
        reader.take(line)
    return [reader.recording(path)]


def _item(line: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the item of a line: the payload, or in older files the line itself."""
    item = line.get("payload") if line.get("type") == "response_item" else line
    return item if isinstance(item, Mapping) and item.get("type") in _ITEMS else None


class _RolloutReader:
    def __init__(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._draft = SessionDraft(AGENT)
        self._asked = _asked_in(lines)
        self._meta: dict[str, Any] = {}
        self._model: str | None = None
        self._thoughts: list[str] = []
        self._step: dict[str, Any] | None = None
        """The answer that is being read: one answer of the model is several items."""
        self._others: Counter[str] = Counter()

    def take(self, line: Mapping[str, Any]) -> None:
        item, kind, payload = _item(line), line.get("type"), line.get("payload")
        payload = payload if isinstance(payload, Mapping) else {}
        if item is not None:
            self._take_item(item, line.get("timestamp"))
        elif kind == "session_meta":
            self._meta = self._meta or dict(payload)
        elif kind is None and "instructions" in line:
            self._meta = self._meta or dict(line)
        elif kind == "turn_context":
            model = payload.get("model")
            self._model = model if isinstance(model, str) else self._model
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._count(payload.get("info"))
        else:
            self._others[str(payload.get("type") or kind or line.get("record_type"))] += 1

    def _take_item(self, item: Mapping[str, Any], when: Any) -> None:
        kind = item["type"]
        if kind == "message":
            self._message(item, when)
        elif kind == "reasoning":
            self._close_after_results()
            parts = [*listed(item.get("summary")), *listed(item.get("content"))]
            self._thoughts += [str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text")]
        elif str(kind).endswith("_output"):
            text, images, error = _result(item.get("output"))
            self._draft.result(str(item.get("call_id")), text, images, error)
        else:
            self._close_after_results()
            step = self._open(when)
            key = item.get("call_id") or item.get("id") or f"call {len(self._draft.steps)}"
            self._draft.call(step, [(str(key), *_call(item))])

    def _message(self, item: Mapping[str, Any], when: Any) -> None:
        text, images = _content(item.get("content"))
        role = item.get("role")
        if role == "assistant":
            self._close_after_results()
            step = self._open(when)
            step["message"] = "\n".join(part for part in (step["message"], text) if part)
            return
        self._step = None
        own = text in self._asked if self._asked else not _SURROUNDINGS.match(text)
        if role == "user" and own:
            self._draft.user(text, images, when)
        else:
            self._draft.system(text, when)

    def _open(self, when: Any) -> dict[str, Any]:
        if self._step is None:
            thought, self._thoughts = "\n".join(self._thoughts), []
            self._step = self._draft.said("", thought=thought, model=self._model, when=when)
        return self._step

    def _close_after_results(self) -> None:
        """End the answer if a result of its calls is there: what follows is another one."""
        if self._step is not None and "observation" in self._step:
            self._step = None

    def _count(self, info: Any) -> None:
        usage = info.get("last_token_usage") if isinstance(info, Mapping) else None
        step = next((each for each in reversed(self._draft.steps) if each["source"] == "agent"), None)
        if not isinstance(usage, Mapping) or step is None or step["metrics"] is not None:
            return
        step["metrics"] = {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "cached_tokens": usage.get("cached_input_tokens"),
        }
        self._step = None

    def recording(self, path: Path) -> Recording:
        draft, session = self._draft, self._meta.get("id") or self._meta.get("session_id")
        about = {key: value for key, value in self._meta.items() if key not in ("id", "session_id", "type")}
        draft.kept = {"codex": {**about, **({"other_lines": dict(self._others)} if self._others else {})}}
        if self._others:
            named = ", ".join(f"{kind}: {count}" for kind, count in sorted(self._others.items()))
            draft.notes.append(f"lines that are not messages, counted and left out ({named})")
        version = self._meta.get("cli_version")
        return draft.recording(
            place=str(path),
            run_key=session if isinstance(session, str) and session else path.stem,
            source="codex",
            session=session if isinstance(session, str) else None,
            version=version if isinstance(version, str) else None,
        )


def _asked_in(lines: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return what the user wrote: Codex sends more in the user's role, and says beside it what is the user's own."""
    asked = {str(event.get("message")) for event in _events(lines, "user_message")}
    for event in _events(lines, "item_completed"):
        item = event.get("item")
        if isinstance(item, Mapping) and item.get("type") == "UserMessage":
            asked.add(_content(item.get("content"))[0])
    return asked


def _events(lines: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        payload = line.get("payload")
        if line.get("type") == "event_msg" and isinstance(payload, Mapping) and payload.get("type") == kind:
            yield payload


def _call(item: Mapping[str, Any]) -> tuple[str, Any]:
    """Return tool and arguments of a call."""
    kind = item["type"]
    if kind in ("local_shell_call", "web_search_call"):
        return str(kind).removesuffix("_call"), item.get("action")
    given = item.get("input") if kind == "custom_tool_call" else read_arguments(item.get("arguments"))
    return str(item.get("name")), given


def _content(content: Any) -> tuple[str, list[str]]:
    if isinstance(content, str):
        return content, []
    texts, images = [], []
    for part in listed(content):
        if not isinstance(part, Mapping):
            continue
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif part.get("type") == "input_image":
            images.append(str(part.get("image_url")))
        else:
            texts.append(json.dumps(part, ensure_ascii=False))
    return "\n".join(texts), images


def _result(output: Any) -> tuple[str, list[str], str | None]:
    """Return text, pictures and error of a result: text, parts, or an object with the text and how it ended."""
    error = None
    value = read_arguments(output)
    if isinstance(value, Mapping):
        about = value.get("metadata")
        code = about.get("exit_code") if isinstance(about, Mapping) else None
        if value.get("success") is False:
            error = "failed"
        elif isinstance(code, int) and code != 0:
            error = f"exit code {code}"
        inner = value.get("output", value.get("content"))
        output = inner if isinstance(inner, str | list) else output
    text, images = _content(output) if isinstance(output, str | list) else (json.dumps(output, ensure_ascii=False), [])
    found = _EXIT_CODE.search(text[:300])
    if error is None and found is not None and int(found[1][:9]) != 0:
        error = f"exit code {found[1]}"
    return text, images, text if error == "failed" and text else error
