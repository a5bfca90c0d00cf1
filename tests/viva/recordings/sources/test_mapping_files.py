"""A mapping file reads the logs of other agents whole: lists in paths, named actions, one document, and subfolders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.viva.viva_command import in_this_process
from viva.journal.reader import read_runs
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.table import read_recordings

BROWSER_USE = """\
log: history.json
lines: history                # the log is one JSON document, and this list in it holds the lines
agent: browser-use
request: Find the price of green tea.
fields:
  step: metadata.step_number
  observation: model_output.evaluation_previous_goal
  thought: model_output.next_goal
  plan: model_output.plan_update
  comment: model_output.memory
  application: state.url
  action: model_output.action
  result: result.*.extracted_content
  error: result.*.error
pictures:
  clean: state.screenshot_path
screenshots: screenshots      # the folder with the pictures
"""
"""The mapping file for what `AgentHistoryList.save_to_file` of browser-use writes, as the documentation shows it."""


def result(words: str | None = None, error: str | None = None, **more: Any) -> dict[str, Any]:
    """One `ActionResult`, without its empty fields, as browser-use writes it."""
    told = {"extracted_content": words, "error": error}
    return {"is_done": False, **{key: value for key, value in told.items() if value is not None}, **more}


def item(number: int, goal: str, actions: list[dict[str, Any]], results: list[dict[str, Any]]) -> dict[str, Any]:
    """One `AgentHistory` of browser-use."""
    state = {
        "tabs": [{"url": "https://tea.example", "title": "Tea", "target_id": "A1", "parent_target_id": None}],
        "screenshot_path": f"/tmp/browser_use_agent_1/screenshots/step_{number}.png",
        "interacted_element": [None] * len(actions),
        "url": "https://tea.example",
        "title": "Tea",
    }
    metadata = {"step_start_time": 1760000000.0 + number, "step_end_time": 1760000001.0 + number}
    return {
        "model_output": {
            "evaluation_previous_goal": f"Step {number} went well.",
            "memory": f"{number} done",
            "next_goal": goal,
            "action": actions,
        },
        "result": results,
        "state": state,
        "metadata": {**metadata, "step_number": number, "step_interval": None},
        "state_message": None,
    }


HISTORY = {
    "history": [
        item(1, "Open the shop.", [{"navigate": {"url": "https://tea.example", "new_tab": False}}], [result("Opened")]),
        item(
            2,
            "Search for it.",
            [{"input": {"index": 3, "text": "green tea", "clear": True}}, {"click": {"index": 9}}],
            [result("Typed 'green tea'"), result(error="Element 9 is not there")],
        ),
        item(3, "Go back.", [{"go_back": {}}], [result()]),
        item(
            4,
            "Tell the price.",
            [{"done": {"text": "It costs 7 euros.", "success": True, "files_to_display": []}}],
            [result("It costs 7 euros.", is_done=True, success=True)],
        ),
    ]
}


def session(folder: Path, history: Any = HISTORY) -> Path:
    """Write a folder as browser-use leaves it, with screenshots in a folder of their own."""
    (folder / "screenshots").mkdir(parents=True)
    for number in range(1, 5):
        Image.new("RGB", (40, 30), (number * 50, 0, 0)).save(folder / "screenshots" / f"step_{number}.png")
    (folder / "history.json").write_text(json.dumps(history, indent=2))
    return folder


def read(folder: Path, mapping: str) -> Recording:
    (folder.parent / "mapping.yaml").write_text(mapping)
    (recording,) = read_recordings(f"ufo:{folder}", mapping=folder.parent / "mapping.yaml")
    return recording


def test_a_log_of_browser_use_is_read_whole(tmp_path: Path) -> None:
    recording = read(session(tmp_path / "run"), BROWSER_USE)
    (round_,) = recording.transcript.rounds
    assert round_.examiner == "Find the price of green tea."
    assert [(step.id, step.tool, step.tool_input, step.result, step.error) for step in round_.steps] == [
        ("1", "navigate", {"url": "https://tea.example", "new_tab": False}, "Opened", None),
        ("2", None, None, None, None),
        ("2.1", "input", {"index": 3, "text": "green tea", "clear": True}, "Typed 'green tea'", None),
        ("2.2", "click", {"index": 9}, None, "Element 9 is not there"),
        ("3", "go_back", {}, None, None),
        (
            "4",
            "done",
            {"text": "It costs 7 euros.", "success": True, "files_to_display": []},
            "It costs 7 euros.",
            None,
        ),
    ]
    first = round_.steps[0]
    assert (first.thought, first.observation, first.images) == (
        "Open the shop.",
        "Step 1 went well.",
        ("step_1.png",),
    )
    assert first.attributes["log"]["state"]["title"] == "Tea", "what has no field is kept"
    assert "field plan (model_output.plan_update) was found in 0 of 4 lines" in recording.notes


def test_pictures_in_a_subfolder_are_in_the_journal(tmp_path: Path) -> None:
    session(tmp_path / "run")
    (tmp_path / "mapping.yaml").write_text(BROWSER_USE)
    done = in_this_process(
        *("trace", "ufo:run", "--mapping", "mapping.yaml", "--evaluators", "loops", "--out", "j"), cwd=tmp_path
    )
    (run,) = read_runs(tmp_path / "j")
    images = [image for step in run.transcript.rounds[0].steps for image in step.images]
    assert len(images) == 4
    assert all((tmp_path / "j" / image).is_file() for image in images), done.stderr


def test_a_field_that_no_line_has_is_named(tmp_path: Path) -> None:
    wrong = BROWSER_USE.replace("model_output.next_goal", "model_output.goal").replace("step_number", "steps")
    notes = read(session(tmp_path / "run"), wrong).transcript.notes
    assert "field thought (model_output.goal) was found in 0 of 4 lines" in notes
    assert "field step (metadata.steps) was found in 0 of 4 lines" in notes
    assert not any("field action" in note or "field result" in note for note in notes)


def test_a_log_in_a_subfolder_is_found_in_each_session(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = session(tmp_path / "all" / name)
        (folder / "logs").mkdir()
        (folder / "history.json").rename(folder / "logs" / "history.json")
    (tmp_path / "m.yaml").write_text(BROWSER_USE.replace("log: history", "log: logs/history"))
    found = list(read_recordings(f"ufo:{tmp_path}/all", mapping=tmp_path / "m.yaml"))
    assert [(each.run_key, len(each.transcript.rounds[0].steps)) for each in found] == [("a", 6), ("b", 6)]


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (BROWSER_USE.replace("lines: history", "lines: steps"), "there is no list under 'steps'"),
        (BROWSER_USE.replace("log: history.json", "log: ../run/history.json"), "log must be a path inside"),
        (BROWSER_USE.replace("screenshots: screenshots", "screenshots: /tmp"), "screenshots must be a path inside"),
    ],
)
def test_a_mistake_in_a_path_is_named(tmp_path: Path, mapping: str, words: str) -> None:
    with pytest.raises(RecordingError, match=words):
        read(session(tmp_path / "run"), mapping)


@pytest.mark.parametrize(
    ("key", "expected"),
    [("calls.0.name", "first"), ("calls.1.name", "second"), ("calls.*.name", "first\nsecond"), ("a.b", "dotted")],
)
def test_paths_lead_into_lists(tmp_path: Path, key: str, expected: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    line = {"calls": [{"name": "first"}, {"name": "second"}], "a.b": "dotted", "a": {"b": "nested"}}
    (folder / "log.jsonl").write_text(json.dumps(line))
    recording = read(folder, f"log: log.jsonl\nfields: {{thought: '{key}'}}\n")
    assert recording.transcript.rounds[0].steps[0].thought == expected
