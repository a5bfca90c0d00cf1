"""Log folders of UFO read to the same steps in all dialects, with pictures of the folder and no others."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ufo_folders import (
    DOCUMENTED,
    OLDER,
    REQUEST,
    action,
    app_line,
    host_line,
    in_dialect,
    make_folder,
    picture,
    shared_folder,
)
from viva.judge.session.trajectory import step_words
from viva.recordings.desktop.ufo import read_session
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.table import read_recordings
from viva.records.transcript import Step, StepKind, StopReason, Transcript


def only(spec: str, **options: Any) -> Recording:
    (recording,) = read_recordings(spec, **options)
    return recording


def said(transcript: Transcript) -> list[tuple[Any, ...]]:
    """What must be the same in every dialect: all fields of the steps, and what the document names beside them."""
    named = ("subtask", "comment", "application", "status", "step", "plan", "image_roles")
    return [
        (
            round_.examiner,
            round_.agent,
            round_.attributes.get("plan"),
            round_.attributes.get("subtasks"),
            [replace(step, attributes={key: step.attributes.get(key) for key in named}) for step in round_.steps],
        )
        for round_ in transcript.rounds
    ]


@pytest.mark.parametrize("keys", [DOCUMENTED, OLDER], ids=["documented", "older"])
def test_the_shared_log_reads_to_the_same_steps_in_every_dialect(keys: dict[str, str], tmp_path: Path) -> None:
    folder = shared_folder()
    copy = shutil.copytree(folder, tmp_path / folder.name)
    lines = [json.loads(line) for line in (folder / "response.log").read_text().splitlines() if line.endswith("}")]
    (copy / "response.log").write_text("\n".join(json.dumps(in_dialect(line, keys)) for line in lines))
    today, other = read_session(folder).transcript, read_session(copy).transcript
    assert said(other) == said(today)
    assert [step.id for step in today.rounds[0].steps] == ["1", "2"]
    assert [step.tool for step in today.rounds[0].steps] == ["set_edit_text", "click_input"]
    assert today.rounds[0].attributes["subtasks"] == ["send hello to Zac"]
    assert today.stop is other.stop is StopReason.FINISHED


@pytest.mark.parametrize("keys", [DOCUMENTED, OLDER], ids=["documented", "older"])
def test_two_rounds_several_actions_and_a_failure_read_the_same_in_every_dialect(
    keys: dict[str, str], tmp_path: Path
) -> None:
    several = [action("type", {"text": "a"}), action("press", {"key": "enter"}, error="no window")]
    lines = [
        host_line(),
        app_line(1),
        app_line(2, action=several, status="FINISH"),
        host_line(1, request="Now tell Ann", current_subtask="tell Ann"),
        app_line(3, 1, request="Now tell Ann", action=[action("click", {}, error="gone")]),
    ]
    today = make_folder(tmp_path / "a" / "t", lines, pictures=(1, 2, 3))
    other = make_folder(tmp_path / "b" / "t", [in_dialect(line, keys) for line in lines], pictures=(1, 2, 3))
    assert said(read_session(other).transcript) == said(read_session(today).transcript)


def test_each_round_has_its_own_request_steps_plan_and_final_pictures(tmp_path: Path) -> None:
    lines = [host_line(), app_line(1), app_line(2), host_line(3, request="Second"), app_line(3, 3, request="Second")]
    folder = make_folder(tmp_path / "t", lines, pictures=(1, 2, 3))
    for name in ("action_round_0_final", "action_round_3_sub_round_10_final", "action_round_3_sub_round_2_final"):
        (folder / f"{name}.png").write_bytes(picture(name))
    first, second = read_session(folder).transcript.rounds
    assert (first.number, second.number) == (1, 2)
    assert (first.attributes["round"], second.attributes["round"]) == (0, 3)
    assert (first.examiner, second.examiner) == (REQUEST, "Second")
    assert [[step.id for step in round_.steps] for round_ in (first, second)] == [["1", "2"], ["3"]]
    assert first.images == ("action_round_0_final.png",)
    assert second.images == ("action_round_3_sub_round_2_final.png", "action_round_3_sub_round_10_final.png")
    assert second.attributes["image_roles"] == ["sub_round_final", "sub_round_final"]
    assert first.attributes["plan"] == ["tell the user"]


def test_several_actions_of_a_line_are_steps_below_it(tmp_path: Path) -> None:
    several = [action("type", {"text": "a"}), action("press", {"key": "enter"}, error="no window")]
    folder = make_folder(tmp_path / "t", [app_line(7, action=several)], pictures=(7,))
    parent, first, second = read_session(folder).transcript.rounds[0].steps
    assert [step.id for step in (parent, first, second)] == ["7", "7.1", "7.2"]
    assert (first.parent_id, second.parent_id) == ("7", "7")
    assert parent.thought == "thought 7"
    assert len(parent.images) == 4
    assert (first.tool, first.tool_input, first.result, first.error) == ("type", {"text": "a"}, "done", None)
    assert (second.tool, second.error) == ("press", "no window")


def test_pictures_have_roles_and_a_plan_is_kept_as_list_and_as_lines(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "t", [app_line(1)], pictures=(1,))
    transcript = read_session(folder).transcript
    (step,) = transcript.rounds[0].steps
    assert step.images == (
        "action_step1.png", "action_step1_annotated.png", "action_step1_selected_controls.png",
        "action_step1_concat.png",
    )  # fmt: skip
    assert step.attributes["image_roles"] == ["clean", "annotated", "selected_controls", "concatenated"]
    assert (step.plan, step.attributes["plan"]) == ("click send\nclose", ["click send", "close"])
    assert (transcript.images, transcript.attributes["image_roles"]) == (("action_step_final.png",), ["final"])


def test_lines_without_thoughts_plans_and_paths_are_steps_still(tmp_path: Path) -> None:
    bare = {"agent_type": "AppAgent", "session_step": 4, "action": [action("click", {})], "request": REQUEST}
    folder = make_folder(tmp_path / "t", [bare, {"agent_type": "AppAgent"}], pictures=(4,))
    first, second = read_session(folder).transcript.rounds[0].steps
    assert (first.id, first.tool, first.thought, first.plan) == ("4", "click", None, None)
    assert len(first.images) == 4, "without paths in the line, UFO's own names are looked for"
    assert second == Step("2", StepKind.THINK)


def test_nothing_that_a_line_says_is_thrown_away(tmp_path: Path) -> None:
    line = app_line(1, control_log={"left": 3}, app_root="TEAMS.EXE", novelty=[1, {"a": None}])
    folder = make_folder(tmp_path / "t", [line, {"agent_type": "Follower", "x": 1}], pictures=(1,))
    (round_,) = read_session(folder).transcript.rounds
    log = round_.steps[0].attributes["log"]
    assert (log["control_log"], log["app_root"], log["novelty"]) == ({"left": 3}, "TEAMS.EXE", [1, {"a": None}])
    assert round_.steps[0].attributes["action"]["target"]["name"] == "Send"
    assert round_.attributes["host"] == [{"x": 1}]


def test_broken_lines_are_skipped_counted_and_named(tmp_path: Path) -> None:
    lines = [app_line(1), "{broken", "[1, 2]", "", app_line(2), '{"agent_type": "AppAgent", "session_st']
    recording = read_session(make_folder(tmp_path / "t", lines))
    assert [step.id for step in recording.transcript.rounds[0].steps] == ["1", "2"]
    assert "3 lines are broken in response.log and skipped: lines 2, 3, 6" in recording.transcript.notes


def test_a_number_that_comes_twice_does_not_make_two_steps_one(tmp_path: Path) -> None:
    steps = read_session(make_folder(tmp_path / "t", [app_line(1), app_line(1)])).transcript.rounds[0].steps
    assert [step.id for step in steps] == ["1", "1-2"]


def test_a_folder_without_a_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        RecordingError,
        match=r"empty is not the log folder of a session: neither it nor a folder below it contains response\.log",
    ):
        only(f"ufo:{tmp_path / 'empty'}")
    with pytest.raises(RecordingError, match="nowhere does not exist"):
        only(f"ufo:{tmp_path / 'nowhere'}")


def test_a_log_without_a_step_of_an_app_agent_is_a_session_that_says_so(tmp_path: Path) -> None:
    recording = only(f"ufo:{make_folder(tmp_path / 't', [host_line()])}")
    assert recording.transcript.rounds[0].steps == ()
    assert recording.transcript.rounds[0].attributes["subtasks"] == ["send hello to Zac"]
    assert "no step of AppAgent is in response.log" in recording.transcript.notes
    with pytest.raises(RecordingError, match=r"holds no step of a session: it has only broken lines \(2\)"):
        only(f"ufo:{make_folder(tmp_path / 'u', ['{', 'x'])}")


@pytest.mark.parametrize(
    ("content", "words", "kept"),
    [
        (b"", "screenshots that are empty: 1", False),
        (picture("cut")[:300], "screenshots that are cut off: 1", True),
        (b"\x89PNG\r\n\x1a\n", "screenshots that are cut off: 1", True),
        (b"<html>", "screenshots that are not pictures: 1", False),
        (None, "screenshots that are missing: 1", False),
    ],
)
def test_a_picture_that_is_missing_empty_or_cut_off_is_noted(
    content: bytes | None, words: str, kept: bool, tmp_path: Path
) -> None:
    folder = make_folder(tmp_path / "t", [app_line(1)], pictures=(1,))
    file = folder / "action_step1_annotated.png"
    file.unlink() if content is None else file.write_bytes(content)
    transcript = read_session(folder).transcript
    (step,) = transcript.rounds[0].steps
    assert words in transcript.notes
    assert step.attributes["images_missing"][0].startswith("annotated: logs/t/action_step1_annotated.png ")
    assert ("annotated" in step.attributes["image_roles"]) is kept
    assert len(step.images) == len(step.attributes["image_roles"])


def test_a_missing_final_picture_is_noted(tmp_path: Path) -> None:
    transcript = read_session(make_folder(tmp_path / "t", [app_line(1)], pictures=(1,), final=False)).transcript
    assert transcript.images == ()
    assert transcript.attributes["images_missing"] == ["final: action_step_final.png is missing"]


@pytest.mark.parametrize("path", ["../secret.png", "/etc/secret.png", "..\\..\\secret.png", "C:\\x\\secret.png", ".."])
def test_no_path_of_a_line_leads_out_of_the_folder(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture("secret"))
    folder = make_folder(tmp_path / "t", [app_line(1, clean_screenshot_path=path)], pictures=(1,))
    (step,) = read_session(folder).transcript.rounds[0].steps
    assert "clean" not in step.attributes["image_roles"]
    assert all("secret" not in name and "/" not in name for name in step.images)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture("secret"))
    folder = make_folder(tmp_path / "t", [app_line(1)], pictures=(1,))
    (folder / "action_step1.png").unlink()
    (folder / "action_step1.png").symlink_to(tmp_path / "secret.png")
    transcript = read_session(folder).transcript
    assert "screenshots that lead out of the folder: 1" in transcript.notes
    assert "action_step1.png" not in transcript.rounds[0].steps[0].images
    other = tmp_path / "u"
    other.mkdir()
    (other / "response.log").symlink_to(folder / "response.log")
    with pytest.raises(RecordingError, match="is a link that leads out of the folder"):
        read_session(other)


def test_windows_paths_find_their_pictures(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "t", [app_line(1, clean_screenshot_path=r"logs\t\action_step1.png")], pictures=(1,))
    assert read_session(folder).transcript.rounds[0].steps[0].images[0] == "action_step1.png"


def test_a_tree_gives_each_session_and_what_cannot_be_read_stops_no_other(tmp_path: Path) -> None:
    make_folder(tmp_path / "day1" / "b", [app_line(1)])
    make_folder(tmp_path / "day1" / "a", [app_line(1)])
    make_folder(tmp_path / "day2" / "a", ["{"])
    found = list(read_recordings(f"ufo:{tmp_path}"))
    assert [(each.run_key, each.subject) for each in found] == [("day1/a", "a"), ("day1/b", "b"), ("day2/a", "a")]
    assert found[2].transcript.rounds == ()
    assert "holds no step of a session" in found[2].transcript.notes[0]


def test_a_mapping_file_reads_another_agents_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "shot-1.png").write_bytes(picture("one"))
    (folder / "end.png").write_bytes(picture("end"))
    line = {"goal": "Buy tea", "n": 1, "state": {"saw": "a shop"}, "why": "tea is there", "act": {"do": "click"},
            "args": {"at": [1, 2]}, "shot": "shot-1.png"}  # fmt: skip
    (folder / "steps.jsonl").write_text(json.dumps(line) + "\n")
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(
        "log: steps.jsonl\nagent: Shopper\n"
        "fields: {request: goal, step: n, observation: state.saw, thought: why, function: act.do, arguments: args}\n"
        "pictures: {clean: shot}\nfiles: {final: end.png}\n"
    )
    recording = only(f"ufo:{folder}", mapping=mapping)
    (step,) = recording.transcript.rounds[0].steps
    assert recording.agent == "Shopper"
    assert recording.transcript.rounds[0].examiner == "Buy tea"
    assert (step.id, step.observation, step.thought) == ("1", "a shop", "tea is there")
    assert (step.tool, step.tool_input, step.images) == ("click", {"at": [1, 2]}, ("shot-1.png",))
    assert recording.transcript.images == ("end.png",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fields: {reqest: goal}", r"fields\.reqest is not a key of a mapping file; did you mean request\?"),
        ("log: [1]", "log must be text"),
        ("- a", "is not a mapping of names"),
        ("a: b: c", "is not YAML"),
        ("files: {final: 3}", r"files\.final must be text"),
    ],
)
def test_a_mistake_in_a_mapping_file_is_named(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(RecordingError, match=words):
        only(f"ufo:{make_folder(tmp_path / 't', [app_line(1)])}", mapping=tmp_path / "m.yaml")


def test_a_mapping_cannot_name_a_picture_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture("secret"))
    (tmp_path / "m.yaml").write_text("files: {final: ../secret.png, clean: '../secret.png'}")
    recording = only(f"ufo:{make_folder(tmp_path / 't', [app_line(1)])}", mapping=tmp_path / "m.yaml")
    assert recording.transcript.images == ()


@pytest.mark.parametrize(
    "line",
    [
        {"agent_type": "AppAgent", "session_step": value, "round_num": value, "plan": value, "action": value,
         "observation": value, "llm_cost": value, "clean_screenshot_path": value, "request": value}
        for value in (None, [], {}, 3.5, True, -1, 10**30, "\ud800", [[["x"]]], {"function": {"a": 1}}, float("nan"))
    ],
)  # fmt: skip
def test_odd_values_make_a_step_and_no_error(line: dict[str, Any], tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "t", [line, app_line(2)])
    steps = [step for round_ in read_session(folder).transcript.rounds for step in round_.steps]
    assert any(step.thought == "thought 2" for step in steps)


def test_steps_numbered_anew_in_each_round_have_their_own_screenshots(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lines = [{"n": 1, "round": 0}, {"n": 1, "round": 1}]
    make_folder(folder, [json.dumps(line) for line in lines], final=False)
    mapping = tmp_path / "m.yaml"
    named = "fields: {step: n, round: round}\nfiles: {clean: 'r{round}_s{step}.png'}\n"
    for number in (0, 1):
        (folder / f"r{number}_s1.png").write_bytes(picture(f"round {number}"))
    mapping.write_text(named)
    talk = only(f"ufo:{folder}", mapping=mapping).transcript
    assert [round_.steps[0].images for round_ in talk.rounds] == [("r0_s1.png",), ("r1_s1.png",)]
    mapping.write_text(named.replace("r{round}_s{step}", "r0_s{step}"))
    talk = only(f"ufo:{folder}", mapping=mapping).transcript
    assert [round_.steps[0].images for round_ in talk.rounds] == [("r0_s1.png",), ()], "a picture shows one step"


def test_an_empty_plan_stays_for_the_step_the_round_and_the_judge(tmp_path: Path) -> None:
    lines = [host_line(plan=[], message=[]), app_line(1, plan=[]), app_line(2, plan=None)]
    (round_,) = read_session(make_folder(tmp_path / "t", lines)).transcript.rounds
    done, silent = round_.steps
    assert (done.plan, done.attributes["plan"]) == ("[]", [])
    assert (silent.plan, "plan" in silent.attributes) == (None, False)
    assert round_.attributes["plan"] == []
    assert (round_.attributes["host"][0]["plan"], round_.attributes["host"][0]["message"]) == ([], [])
    assert "plan: []" in step_words(done)
    assert "plan" not in step_words(silent)


def test_an_empty_plan_does_not_replace_the_rounds_plan(tmp_path: Path) -> None:
    lines = [host_line(), app_line(1), host_line(plan=[], status="FINISH")]
    (round_,) = read_session(make_folder(tmp_path / "t", lines)).transcript.rounds
    assert round_.attributes["plan"] == ["tell the user"]


HEADING = {"version": "1.2", "host": "desk"}


def test_a_line_without_any_known_key_is_no_step_and_begins_no_round(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("fields: {step: n, thought: why, round: r}\n")
    lines = [HEADING, {"n": 1, "why": "a", "r": 1}, {"trace": 7}, {"n": 2, "why": "b", "r": 1}, {"why": "c", "r": 1}]
    folder = make_folder(tmp_path / "t", lines, pictures=(1, 2))
    transcript = only(f"ufo:{folder}", mapping=tmp_path / "m.yaml").transcript
    (round_,) = transcript.rounds
    assert [(step.id, step.thought, len(step.images)) for step in round_.steps] == [
        ("1", "a", 4),
        ("2", "b", 4),
        ("3", "c", 0),
    ]
    assert transcript.attributes["log"] == [HEADING, {"trace": 7}], "nothing is thrown away"
    assert "lines without any known key are not steps, and are kept in `log`: 2" in transcript.notes


def test_a_step_without_a_number_takes_that_of_no_other(tmp_path: Path) -> None:
    lines = [app_line(1), {"agent_type": "AppAgent", "thought": "between"}, app_line(2)]
    steps = read_session(make_folder(tmp_path / "t", lines)).transcript.rounds[0].steps
    assert [(step.id, step.thought) for step in steps] == [("1", "thought 1"), ("2-2", "between"), ("2", "thought 2")]


def test_a_line_that_only_says_what_was_asked_is_no_step(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("fields: {step: n, thought: why, request: goal}\n")
    folder = make_folder(tmp_path / "t", [{"goal": "Buy tea", "shop": "x"}, {"n": 1, "why": "a"}])
    (round_,) = only(f"ufo:{folder}", mapping=tmp_path / "m.yaml").transcript.rounds
    assert (round_.examiner, [step.id for step in round_.steps]) == ("Buy tea", ["1"])
    assert round_.attributes["host"] == [{"shop": "x"}]


def default_folder(path: Path) -> Path:
    """A folder as UFO leaves it by default: each line names a concatenated picture and the desktop's."""
    lines = [app_line(step, desktop_screenshot_path=f"logs/t/desktop_step{step}.png") for step in (1, 2)]
    folder = make_folder(path, lines, pictures=(1, 2))
    for step in (1, 2):
        (folder / f"action_step{step}_concat.png").unlink()
    return folder


def test_pictures_that_ufo_takes_on_demand_only_are_not_missing_from_a_default_folder(tmp_path: Path) -> None:
    transcript = read_session(default_folder(tmp_path / "t")).transcript
    assert transcript.notes == ()
    step = transcript.rounds[0].steps[0]
    assert "images_missing" not in step.attributes
    assert step.attributes["images_not_taken"] == [
        "concatenated: logs/t/action_step1_concat.png",
        "desktop: logs/t/desktop_step1.png",
    ]


@pytest.mark.parametrize("name", ["action_step2_concat.png", "desktop_step2.png"])
def test_where_one_step_has_such_a_picture_that_of_another_is_missing(name: str, tmp_path: Path) -> None:
    folder = default_folder(tmp_path / "t")
    (folder / name).write_bytes(picture("second"))
    transcript = read_session(folder).transcript
    assert transcript.notes == ("screenshots that are missing: 1",)
    assert name.replace("2", "1") in transcript.rounds[0].steps[0].attributes["images_missing"][0]


def test_a_picture_that_a_mapping_file_names_is_missing_where_it_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("fields: {step: n}\npictures: {concatenated: both}\n")
    folder = make_folder(tmp_path / "t", [{"n": 1, "both": "both1.png"}])
    transcript = only(f"ufo:{folder}", mapping=tmp_path / "m.yaml").transcript
    assert "screenshots that are missing: 1" in transcript.notes


def test_a_session_that_never_came_to_an_application_has_no_final_picture_to_miss(tmp_path: Path) -> None:
    transcript = read_session(make_folder(tmp_path / "t", [host_line()], final=False)).transcript
    assert "images_missing" not in transcript.attributes
    assert not any("missing" in note for note in transcript.notes)
