"""Makes log folders as UFO writes them, in its three dialects, with real pictures; and finds the shared one."""

from __future__ import annotations

import io
import json
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

SHARED = Path(__file__).parents[2] / "shared/data/ufo_log"
REQUEST = "Send hello to Zac on Teams"
ROLES = ("", "_annotated", "_selected_controls", "_concat")
KEYS = {
    "": "clean_screenshot_path",
    "_annotated": "annotated_screenshot_path",
    "_selected_controls": "selected_control_screenshot_path",
    "_concat": "concat_screenshot_path",
}


def shared_folder() -> Path:
    """The log folder beside the repository; the test is skipped where it is not there, unless it is required."""
    if not (SHARED / "response.log").is_file():
        reason = f"{SHARED} is not there: the shared recordings lie beside the repository"
        if "data" in os.environ.get("VIVA_REQUIRE", "").split(","):
            pytest.fail(reason)
        pytest.skip(reason)
    return SHARED


def picture(words: str, size: tuple[int, int] = (320, 200), *, noise: bool = False) -> bytes:
    """A PNG that says something; with noise it cannot be packed small."""
    image = Image.new("RGB", size, "#dfe7ef")
    if noise:
        image = Image.frombytes("RGB", size, random.Random(words).randbytes(size[0] * size[1] * 3))
    draw = ImageDraw.Draw(image)
    draw.rectangle((10, 10, size[0] // 2, 60), fill="#224466")
    draw.text((20, 25), words, fill="#ffffff")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def flat_picture(size: tuple[int, int] = (1, 1), colour: str = "#ffffff") -> bytes:
    """A PNG of one colour, as placeholders are."""
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def app_line(step: int, round_: int = 0, **more: Any) -> dict[str, Any]:
    """A step as UFO writes it today."""
    line = {
        "agent_type": "AppAgent",
        "agent_name": "AppAgent/Teams",
        "application_process_name": "TEAMS.EXE",
        "session_step": step,
        "round_step": step,
        "round_num": round_,
        "status": "CONTINUE",
        "request": REQUEST,
        "llm_cost": 0.02,
        "observation": f"window {step}",
        "thought": f"thought {step}",
        "plan": ["click send", "close"],
        "comment": f"comment {step}",
        "action": [action("click_input", {"button": "left"})],
        "subtask": "send hello to Zac",
        **{key: f"logs/t/action_step{step}{role}.png" for role, key in KEYS.items()},
    }
    return line | more


def action(function: str, arguments: Mapping[str, Any], *, error: str | None = None) -> dict[str, Any]:
    """An action as UFO writes it today."""
    result = {"status": "failure" if error else "success", "error": error, "result": None if error else "done"}
    return {
        "function": function,
        "arguments": dict(arguments),
        "target": {"kind": "control", "name": "Send"},
        "result": result,
        "action_string": f"{function}({dict(arguments)})",
    }


def host_line(round_: int = 0, **more: Any) -> dict[str, Any]:
    """A line in which the host plans."""
    return {
        "agent_type": "HostAgent",
        "agent_name": "HostAgent",
        "step": 0,
        "round_num": round_,
        "request": REQUEST,
        "observation": "desktop",
        "thought": "use Teams",
        "current_subtask": "send hello to Zac",
        "plan": ["tell the user"],
        "message": ["send hello"],
        "comment": "",
        "status": "ASSIGN",
        "cost": 0.01,
    } | more


def make_folder(
    folder: Path, lines: Sequence[Mapping[str, Any] | str], *, pictures: Sequence[int] = (), final: bool = True
) -> Path:
    """Write a log folder; lines that are text are written as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    (folder / "response.log").write_text(text, encoding="utf-8")
    for step in pictures:
        for role in ROLES:
            (folder / f"action_step{step}{role}.png").write_bytes(picture(f"step {step}{role}"))
    if final:
        (folder / "action_step_final.png").write_bytes(picture("final"))
    return folder


# Today's keys to those of the other dialects. What a dialect has no key for is left out.
DOCUMENTED = {
    "agent_type": "agent_type", "agent_name": "agent_name", "application_process_name": "application",
    "session_step": "step", "round_step": "round_step", "round_num": "round_num", "status": "status",
    "request": "request", "llm_cost": "cost", "observation": "observation", "thought": "thought", "plan": "plan",
    "comment": "comment", "action": "action", "subtask": "subtask", "result": "result",
    "clean_screenshot_path": "screenshot_clean", "annotated_screenshot_path": "screenshot_annotated",
    "concat_screenshot_path": "screenshot_concat", "selected_control_screenshot_path": "screenshot_selected_control",
}  # fmt: skip
OLDER = {
    "agent_type": "Agent", "agent_name": "AgentName", "application_process_name": "Application", "session_step": "Step",
    "round_step": "RoundStep", "round_num": "Round", "status": "Status", "request": "Request", "llm_cost": "Cost",
    "observation": "Observation", "thought": "Thought", "plan": "Plan", "comment": "Comment", "subtask": "Subtask",
    "result": "Results", "action": "Action", "clean_screenshot_path": "CleanScreenshot",
    "annotated_screenshot_path": "AnnotatedScreenshot", "concat_screenshot_path": "ConcatScreenshot",
    "selected_control_screenshot_path": "SelectedControlScreenshot",
    "step": "Step", "cost": "Cost", "current_subtask": "Subtask", "message": "Message",
}  # fmt: skip


def in_dialect(line: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """A line of today's in another dialect."""
    told = {keys[key]: value for key, value in line.items() if key in keys}
    if keys is DOCUMENTED and line.get("agent_type") == "HostAgent":
        told |= {key: line[key] for key in ("step", "cost", "current_subtask", "message") if key in line}
    actions = line.get("action")
    if isinstance(actions, list) and line.get("agent_type") == "AppAgent":
        if keys is DOCUMENTED and len(actions) == 1:
            told["action"] = actions[0]
        elif keys is OLDER and len(actions) == 1:
            (only,) = actions
            told |= {"Function": only["function"], "Args": only["arguments"], "Action": only["action_string"]}
            told["Results"] = only["result"]["result"] or ""
            told |= {"error": only["result"]["error"]} if only["result"]["error"] else {}
        elif keys is OLDER:
            told["Action"] = [
                {"Function": each["function"], "Args": each["arguments"], "Results": each["result"]} for each in actions
            ]
    return told
