"""UFO's options come from the command line, then the environment, then a file; a mistake names its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.errors import SetupError
from viva.judge.session.settings import Settings, load_settings, prompt_text


def test_without_anything_the_session_is_judged_with_all_screenshots() -> None:
    assert load_settings(environment={}) == Settings(level="session", screenshots="all")


@pytest.mark.parametrize(
    ("said", "level", "screenshots"),
    [
        ({"EVA_ROUND": "True"}, "both", "all"),
        ({"EVA_ROUND": "true", "EVA_SESSION": "false"}, "round", "all"),
        ({"EVA_SESSION": "1", "EVA_ALL_SCREENSHOTS": "False"}, "session", "ends"),
        ({"EVA_VISUAL_MODE": "no"}, "session", "none"),
        ({"EVA_ROUND": " "}, "session", "all"),
    ],
)
@pytest.mark.parametrize("where", ["environment", "file"])
def test_ufos_options_are_read_from_the_environment_or_a_file(
    said: dict[str, str], level: str, screenshots: str, where: str, tmp_path: Path
) -> None:
    file = tmp_path / "system.yaml"
    file.write_text("MAX_STEP: 50\n" + "".join(f"{key}: {value}\n" for key, value in said.items()))
    found = load_settings(environment=said) if where == "environment" else load_settings(config=file, environment={})
    assert (found.level, found.screenshots) == (level, screenshots)


def test_the_command_line_comes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text("EVA_ROUND: true\nEVA_ALL_SCREENSHOTS: false\n")
    assert load_settings(config=file, environment={"EVA_ROUND": "false"}).level == "session"
    assert load_settings(config=file, environment={"EVA_ROUND": "false"}).screenshots == "ends"
    assert load_settings("round", "none", config=file, environment={}).level == "round"
    assert load_settings("round", "none", config=file, environment={}).screenshots == "none"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"EVA_SESSION": "perhaps"}, "EVA_SESSION in the environment must be true or false, not 'perhaps'"),
        ({"EVA_SESSION": "false"}, "EVA_SESSION and EVA_ROUND are both false"),
        ({"EVALUATION_PROMPT": "/nowhere.md"}, "the prompt file /nowhere.md cannot be read"),
    ],
)
def test_a_mistake_in_the_environment_is_named(said: dict[str, str], words: str) -> None:
    with pytest.raises(SetupError, match=words):
        load_settings(environment=said)


@pytest.mark.parametrize("text", ["- a", "a: b: c"])
def test_a_file_that_is_no_mapping_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(SetupError, match=r"c\.yaml is not"):
        load_settings(config=tmp_path / "c.yaml", environment={})


def test_a_prompt_of_ufos_file_is_its_system_text(tmp_path: Path) -> None:
    (tmp_path / "evaluate.yaml").write_text('version: 1.0\nsystem: |-\n  Be strict. {apis} {{ "reason": "" }}\n')
    assert prompt_text(str(tmp_path / "evaluate.yaml")) == 'Be strict. {apis} { "reason": "" }'
    (tmp_path / "examples.yaml").write_text("example1: {Request: Say hello, Response: {complete: 'yes'}}\n")
    assert prompt_text(str(tmp_path / "examples.yaml")) == '[Request]: Say hello\n[Response]: {"complete": "yes"}'
    (tmp_path / "other.yaml").write_text("a: 1")
    with pytest.raises(SetupError, match="neither the key `system`"):
        prompt_text(str(tmp_path / "other.yaml"))


def test_a_prompt_may_be_a_text_file_or_words_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("Judge well.\n")
    assert prompt_text(str(tmp_path / "guide.md")) == "Judge well."
    assert prompt_text("Judge\nwell.") == "Judge\nwell."
    assert prompt_text("") == ""


def test_apis_are_read_as_text_or_as_ufos_yaml(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(
        "click_input:\n  summary: '\"click_input\" is to click'\n  usage: [1] API call\n"
    )
    (tmp_path / "api.txt").write_text("click: clicks")
    with pytest.raises(SetupError):
        load_settings(apis=tmp_path / "none.txt", environment={})
    assert load_settings(apis=tmp_path / "api.txt", environment={}).apis == "click: clicks"
    (tmp_path / "api.yaml").write_text("click_input:\n  summary: is to click\n  usage: an API call\n")
    assert load_settings(apis=tmp_path / "api.yaml", environment={}).apis == "- click_input: is to click an API call"


def test_a_misspelled_option_in_a_file_is_named_and_ufos_other_keys_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text("MAX_STEP: 50\nEVALUATION_AGENT: {}\n")
    assert load_settings(config=file, environment={}) == Settings()
    file.write_text("EVA_ALL_SCREENSHOT: false\n")
    with pytest.raises(SetupError, match=r"EVA_ALL_SCREENSHOT is not an option.*did you mean EVA_ALL_SCREENSHOTS\?"):
        load_settings(config=file, environment={})


def test_an_example_in_ufos_form_is_shown_as_the_json_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "examples.yaml"
    lines = ["example1:", "  Request: |-", "    Send hello", "  Response:", "    reason: Sent.", "    complete: yes"]
    file.write_text("\n".join(lines))
    assert prompt_text(str(file)) == '[Request]: Send hello\n[Response]: {"reason": "Sent.", "complete": "yes"}'
