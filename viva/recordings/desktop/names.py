"""Defines what logs of desktop sessions call their fields: UFO's three dialects, and mapping files for other agents.

The dialects are those of github.com/microsoft/UFO: what it writes today (`session_step`, `clean_screenshot_path`), what
its documentation describes (`step`, `screenshot_clean`), and what it wrote before (`Step`, `CleanScreenshot`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from viva.errors import SetupError
from viva.recordings.recording import RecordingError
from viva.regular_files import MIB, read_text

ROLES = ("clean", "annotated", "selected_controls", "concatenated", "desktop")
"""What the picture of a step can show, in the order in which a step lists its pictures."""
ON_DEMAND = ("concatenated", "desktop")
"""The pictures that UFO names in every line, but takes only with `CONCAT_SCREENSHOT` and `SAVE_FULL_SCREEN`."""
MOST_MAPPING = MIB
"""The maximum bytes of a mapping file."""


@dataclass(frozen=True, slots=True)
class Names:
    """The keys of each field in a line of the log, and the file names of screenshots."""

    log: str = "response.log"
    """The file with the JSON lines, in the session's folder or, as `logs/steps.jsonl`, below it."""
    lines: str | None = None
    """The path of the list that holds the lines, if the log is one JSON document; `""` if the document is the list."""
    screenshots: str = ""
    """The folder with the screenshots, in the session's folder; empty if they lie in that itself."""
    asked: str | None = None
    """The request, for lines that give none."""
    agent: str = "UFO"
    """The name of the recorded agent."""
    steps_of: tuple[str, ...] | None = ("AppAgent",)
    """The values of `agent_type` whose lines are steps; None for all lines that are not `plans_of`."""
    plans_of: tuple[str, ...] = ("HostAgent",)
    """The values of `agent_type` whose lines hold the plan and the subtasks of a round."""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(FIELDS))
    """Maps each field to the keys that a line may have it under, tried in order."""
    pictures: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(PICTURES))
    """Maps each role of a picture to the keys that may hold its path."""
    files: Mapping[str, str] = field(default_factory=lambda: dict(FILES))
    """Maps each role to the file name if a line names none. `{step}`, `{round}` and `{sub}` stand for numbers."""
    first_round: int = 0
    """The number of the round for lines that give none."""
    mapped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The fields and pictures (`pictures.clean`) that the mapping file itself names, and their keys."""

    @property
    def on_demand(self) -> frozenset[str]:
        """Return the roles whose pictures are named in a line even if they were never to be taken."""
        return frozenset(role for role in ON_DEMAND if f"pictures.{role}" not in self.mapped)


FIELDS: Mapping[str, tuple[str, ...]] = {
    "agent_type": ("agent_type", "Agent", "AgentType"),
    "agent_name": ("agent_name", "AgentName"),
    "request": ("request", "Request"),
    "round": ("round_num", "Round"),
    "step": ("session_step", "step", "Step"),
    "subtask": ("subtask", "current_subtask", "Subtask", "Current Sub-Task", "CurrentSubtask"),
    "observation": ("observation", "Observation"),
    "thought": ("thought", "Thought"),
    "plan": ("plan", "Plan"),
    "comment": ("comment", "Comment"),
    "action": ("action", "Action"),
    "application": ("application_process_name", "application", "Application"),
    "status": ("status", "Status"),
    "function": ("function", "Function"),
    "arguments": ("arguments", "args", "Args"),
    "result": ("result", "results", "Result", "Results"),
    "error": ("error", "last_error", "Error"),
    "cost": ("llm_cost", "cost", "Cost"),
    "seconds": ("total_time",),
    "message": ("message", "Message"),
}
"""UFO's keys, in all dialects."""

PICTURES: Mapping[str, tuple[str, ...]] = {
    "clean": ("clean_screenshot_path", "screenshot_clean", "CleanScreenshot"),
    "annotated": ("annotated_screenshot_path", "screenshot_annotated", "AnnotatedScreenshot"),
    "selected_controls": (
        "selected_control_screenshot_path",
        "screenshot_selected_control",
        "SelectedControlScreenshot",
    ),
    "concatenated": ("concat_screenshot_path", "screenshot_concat", "ConcatScreenshot"),
    "desktop": ("desktop_screenshot_path", "screenshot_desktop", "DesktopScreenshot"),
}

FILES: Mapping[str, str] = {
    "clean": "action_step{step}.png",
    "annotated": "action_step{step}_annotated.png",
    "selected_controls": "action_step{step}_selected_controls.png",
    "concatenated": "action_step{step}_concat.png",
    "sub_round_final": "action_round_{round}_sub_round_{sub}_final.png",
    "round_final": "action_round_{round}_final.png",
    "final": "action_step_final.png",
}

UFO = Names()


def load_names(file: Path) -> Names:
    """Read a mapping file, which says what the log of another agent calls its fields.

    The file is YAML (or JSON) with these keys, all optional: `log` (the file with the JSON lines), `lines` (the path of
    their list, if the file is one JSON document), `agent` (who was recorded), `request` (what was asked, if the log
    does not say), `steps_of` and `plans_of` (values of `agent_type`), `first_round`, `fields` (each of `FIELDS` to a
    key of a line, `a.b` for a key inside an object, `a.0` for an element of a list, `a.*.b` for all of them, or a list
    of keys to try), `pictures` (role to such keys), `screenshots` (their folder) and `files` (role to a file name).
    Fields that it leaves out have UFO's names, except that all lines are steps unless it says
    which are.

    Raises:
        RecordingError: the file cannot be read, or holds something else. Names the file and the key.
    """
    try:
        found = yaml.safe_load(read_text(file, "the mapping file", MOST_MAPPING))
    except SetupError as error:
        raise RecordingError(str(error)) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise RecordingError(f"the mapping file {file} is not YAML: {' '.join(str(error).split())[:300]}.") from error
    if not isinstance(found, dict):
        raise RecordingError(f"the mapping file {file} is not a mapping of names; see `viva docs desktop-sessions`.")
    return _names(file, found)


def _names(file: Path, found: dict[Any, Any]) -> Names:
    known = (
        *("log", "lines", "agent", "request", "steps_of", "plans_of", "first_round"),
        *("fields", "pictures", "screenshots", "files"),
    )
    _check_keys(file, "", found, known)
    names = replace(UFO, agent="recorded", steps_of=None, plans_of=())
    names = replace(
        names,
        log=_path(file, "log", found.get("log", names.log)),
        lines=_text(file, "lines", found["lines"]).strip("*").rstrip(".") if "lines" in found else None,
        screenshots=_path(file, "screenshots", found["screenshots"]) if "screenshots" in found else "",
        asked=_text(file, "request", found["request"]) if "request" in found else None,
        agent=_text(file, "agent", found.get("agent", names.agent)),
        steps_of=_texts(file, "steps_of", found["steps_of"]) if "steps_of" in found else None,
        plans_of=_texts(file, "plans_of", found["plans_of"]) if "plans_of" in found else (),
    )
    if "first_round" in found:
        if type(found["first_round"]) is not int:
            raise RecordingError(f"{file}: first_round must be a whole number, not {found['first_round']!r:.80}.")
        names = replace(names, first_round=found["first_round"])
    fields = _section(file, "fields", found, tuple(FIELDS))
    pictures = _section(file, "pictures", found, ROLES)
    files = _section(file, "files", found, tuple(FILES))
    own = {key: _texts(file, f"fields.{key}", value) for key, value in fields.items()}
    shown = {key: _texts(file, f"pictures.{key}", value) for key, value in pictures.items()}
    return replace(
        names,
        mapped={**own, **{f"pictures.{key}": value for key, value in shown.items()}},
        fields={**FIELDS, **own},
        pictures={**PICTURES, **shown},
        files={**FILES, **{key: _text(file, f"files.{key}", value) for key, value in files.items()}},
    )


def _section(file: Path, name: str, found: dict[Any, Any], known: tuple[str, ...]) -> dict[str, Any]:
    section = found.get(name) or {}
    if not isinstance(section, dict):
        raise RecordingError(f"{file}: {name} must be a mapping, not {section!r:.80}.")
    _check_keys(file, f"{name}.", section, known)
    return section


def _check_keys(file: Path, before: str, found: dict[Any, Any], known: Iterable[str]) -> None:
    known = tuple(known)
    for key in found:
        if key not in known:
            close = get_close_matches(str(key), known, 1)
            hint = f"did you mean {close[0]}?" if close else f"the known ones are {', '.join(known)}."
            raise RecordingError(f"{file}: {before}{str(key)[:80]} is not a key of a mapping file; {hint}")


def _text(file: Path, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise RecordingError(f"{file}: {key} must be text, not {value!r:.80}.")
    return value


def _path(file: Path, key: str, value: Any) -> str:
    path = PurePosixPath(_text(file, key, value))
    if path.is_absolute() or ".." in path.parts:
        raise RecordingError(f"{file}: {key} must be a path inside the session's folder, not {value!r:.80}.")
    return path.as_posix()


def _texts(file: Path, key: str, value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(_text(file, key, each) for each in values)
