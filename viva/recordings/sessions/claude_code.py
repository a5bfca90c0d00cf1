"""Reads `claude_code:FILE`: the session files of Claude Code (`~/.claude/projects/PROJECT/SESSION.jsonl`).

A line has a `type`; those of `user` and `assistant` hold a `message` of the Messages API of Anthropic. One answer
of the model is written as several lines with one `message.id`, a content block each, all with the usage of the whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from viva.recordings.recording import Recording, SourceNotes
from viva.recordings.sessions.draft import SessionDraft
from viva.recordings.sessions.lines import read_sessions_of
from viva.recordings.spans.files import EVALUATORS
from viva.recordings.spans.values import listed, read_time

AGENT = "Claude Code"
_TALK = ("user", "assistant")


class ClaudeCodeReader:
    """Reads `claude_code:FILE`."""

    evaluators = EVALUATORS

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read sessions, each with the sessions of its sub-agents after it.

        Args:
            source: A session's file, a folder with such files (of a project, or of all), or a glob.
            since: Files whose last line is older are left out.
            told: Takes what is not about a single session.

        Raises:
            RecordingError: while iterating: the file is not a session of Claude Code.
        """
        return read_sessions_of(source, _sessions, _has_talk, "a session of Claude Code", since, _when, told)


def _when(line: Mapping[str, Any]) -> int | None:
    return read_time(line.get("timestamp"))


def _has_talk(lines: list[Mapping[str, Any]]) -> bool:
    return bool(_talk_in(lines))


def _talk_in(lines: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [line for line in lines if line.get("type") in _TALK and isinstance(line.get("message"), Mapping)]


def _sessions(path: Path, lines: list[Mapping[str, Any]]) -> list[Recording]:
    talk = _talk_in(lines)
    if not talk or not any("sessionId" in line or "uuid" in line for line in talk):
        return []
    parts: dict[str, list[Mapping[str, Any]]] = {"": []}
    roots: dict[str, str] = {}
    for line in talk:
        parts.setdefault(_sub_agent(line, roots), []).append(line)
    others = Counter(str(line.get("type")) for line in lines if line.get("type") not in _TALK)
    found: list[Recording] = []
    for agent, own in parts.items():
        if own:
            found.append(_session(path, agent, own, others if not found else Counter()))
    return found


def _sub_agent(line: Mapping[str, Any], roots: dict[str, str]) -> str:
    """Return which sub-agent a line belongs to; empty for the session itself."""
    if line.get("isSidechain") is not True:
        return ""
    above = roots.get(str(line.get("parentUuid")))
    name = line.get("agentId") if isinstance(line.get("agentId"), str) else above or str(line.get("uuid"))
    roots[str(line.get("uuid"))] = str(name)
    return str(name)


def _session(path: Path, agent: str, lines: Sequence[Mapping[str, Any]], others: Counter[str]) -> Recording:
    draft = SessionDraft(f"{AGENT}, sub-agent" if agent else AGENT)
    answers: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["type"] == "assistant":
            _take_answer(draft, line, answers)
        else:
            _take_user(draft, line)
    first = lines[0]
    session = next((str(line["sessionId"]) for line in lines if line.get("sessionId")), path.stem)
    about = {name: first.get(name) for name in ("cwd", "gitBranch", "version", "userType") if first.get(name)}
    draft.kept = {"claude_code": {**about, **({"other_lines": dict(others)} if others else {})}}
    if others:
        named = ", ".join(f"{kind}: {count}" for kind, count in sorted(others.items()))
        draft.notes.append(f"lines that are not messages, counted and left out ({named})")
    key = f"{session}.{agent}" if agent else session
    version = first.get("version")
    return draft.recording(
        place=f"{path}, sub-agent {agent}" if agent else str(path),
        run_key=key,
        source="claude_code",
        session=session,
        version=version if isinstance(version, str) else None,
    )


def _take_answer(draft: SessionDraft, line: Mapping[str, Any], answers: dict[str, dict[str, Any]]) -> None:
    message = line["message"]
    texts, thoughts, calls = [], [], []
    content = message.get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else listed(content):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text":
            texts.append(str(block.get("text")))
        elif kind == "thinking":
            thoughts.append(str(block.get("thinking")))
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            calls.append((str(block.get("id")), str(block.get("name")), block.get("input")))
        elif isinstance(block, Mapping) and isinstance(block.get("tool_use_id"), str):
            draft.result(block["tool_use_id"], *_text_of(block.get("content")))
        elif kind is not None and kind != "redacted_thinking":
            texts.append(json.dumps(block, ensure_ascii=False))
    key = message.get("id") if isinstance(message.get("id"), str) else None
    step = answers.get(key) if key is not None else None
    if step is None:
        model = message.get("model")
        step = draft.said(
            "\n".join(texts),
            calls,
            thought="\n".join(thoughts),
            model=model if isinstance(model, str) else None,
            metrics=_metrics(message.get("usage")),
            when=line.get("timestamp"),
            raw={name: line[name] for name in ("uuid", "requestId", "isApiErrorMessage") if name in line},
        )
        if key is not None:
            answers[key] = step
        return
    step["message"] = "\n".join(part for part in (step["message"], *texts) if part)
    step["reasoning_content"] = "\n".join(part for part in (step["reasoning_content"], *thoughts) if part) or None
    # The usage of the last line is that of the whole answer.
    step["metrics"] = _metrics(message.get("usage")) or step["metrics"]
    draft.call(step, calls)


def _take_user(draft: SessionDraft, line: Mapping[str, Any]) -> None:
    content = line["message"].get("content")
    texts, images = [], []
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else listed(content):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_result":
            text, pictures = _text_of(block.get("content"))
            error = (text or "failed") if block.get("is_error") is True else None
            draft.result(str(block.get("tool_use_id")), text, pictures, error)
        elif kind == "text":
            texts.append(str(block.get("text")))
        elif kind == "image":
            images.append(_picture(block))
        elif kind is not None:
            texts.append(json.dumps(block, ensure_ascii=False))
    if not texts and not images:
        return
    text = "\n".join(texts)
    # What Claude Code itself puts between the messages: its own remarks, and the summary of what was compacted.
    if line.get("isMeta") is True or line.get("isCompactSummary") is True:
        draft.system(text, line.get("timestamp"))
    else:
        draft.user(text, images, line.get("timestamp"))


def _text_of(content: Any) -> tuple[str, list[str]]:
    """Return text and pictures of a tool's result."""
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False), []
    texts, images = [], []
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "image":
            images.append(_picture(block))
        elif kind == "text":
            texts.append(str(block.get("text")))
        else:
            texts.append(json.dumps(block, ensure_ascii=False))
    return "\n".join(texts), images


def _picture(block: Mapping[str, Any]) -> str:
    source = block.get("source")
    source = source if isinstance(source, Mapping) else {}
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    return str(source.get("url") or source.get("file_id") or "image")


def _metrics(usage: Any) -> dict[str, Any] | None:
    if not isinstance(usage, Mapping):
        return None
    read = usage.get("cache_read_input_tokens")
    parts = [usage.get("input_tokens"), usage.get("cache_creation_input_tokens"), read]
    given = [part for part in parts if isinstance(part, int)]
    return {
        # Anthropic counts cached tokens beside the others.
        "prompt_tokens": sum(given) if given else None,
        "completion_tokens": usage.get("output_tokens"),
        "cached_tokens": read,
    }
