"""A command is split as in a shell, without one, and every mistake in it is found before the first exam."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.adapters.connectors.command.command_line import CommandLine, read_command
from viva.adapters.connectors.spec import agent_label
from viva.adapters.connectors.table import load_agent
from viva.errors import SetupError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my agent.py").write_text("")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/x.json").write_text("{}")
    (tmp_path / "build").mkdir()
    (tmp_path / "locked").write_text("#!/bin/sh\n")
    own = tmp_path / "own"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    return tmp_path


def read(command: str | list[str], folder: Path) -> CommandLine:
    return read_command(command, folder, SetupError)


def test_paths_that_exist_become_absolute_and_other_words_stay(folder: Path) -> None:
    line = read("sh 'my agent.py' --config=conf/x.json ./conf build run . a.b http://host/x '' 'two words'", folder)
    assert line.words == (
        "sh",
        f"{folder}/my agent.py",
        f"--config={folder}/conf/x.json",
        f"{folder}/conf",
        "build",
        "run",
        str(folder),
        "a.b",
        "http://host/x",
        "",
        "two words",
    )
    assert Path(line.program).is_absolute()
    assert line.script == f"{folder}/my agent.py"
    assert read(["sh", "-c", "echo a | cat"], folder).words == ("sh", "-c", "echo a | cat")
    assert read("./own x", folder) == CommandLine(f"{folder}/own", ("./own", "x"), f"{folder}/own")


WRONG = {
    "": "it names no program",
    "''": "it names no program",
    "sh 'open": "the command cannot be split into words: no closing quotation",
    "sh \\": "the command cannot be split into words: no escaped character",
    "no-such-program-here x": "there is no program 'no-such-program-here' on the PATH$",
    "own": "there is no program 'own' on the PATH, but a file here: write ./own",
    "A=1 sh": "there is no program 'A=1' on the PATH; variables are set in the environment",
    "./nothing": "there is no program ./nothing",
    "./conf": "./conf is a folder, not a program",
    "./locked": "./locked is not executable: name its interpreter first, as in cmd:bash ./locked",
    "cat x | sort": r"\| means something to a shell only; write cmd:bash -c",
    "cat x > y": "> means something to a shell only",
}


@pytest.mark.parametrize("command", list(WRONG))
def test_a_mistake_says_what_to_write(folder: Path, command: str) -> None:
    with pytest.raises(SetupError, match=WRONG[command]):
        read(command, folder)


def test_an_operator_in_quotes_is_a_word(folder: Path) -> None:
    assert read("sh '|' \">\"", folder).words == ("sh", "|", ">")


@pytest.mark.parametrize("spec", ["cmd:", "cmd: ", "cmd+plain:"])
def test_a_spec_without_a_command_is_a_mistake(spec: str) -> None:
    with pytest.raises(SetupError, match=r"names no program; write cmd(\+plain)?:COMMAND"):
        load_agent(spec)


def test_an_agent_is_called_by_its_script(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.chdir(folder)
    agent = load_agent("cmd:sh 'my agent.py' --fast")
    assert (agent.kind, agent.name, agent.label) == ("cmd", "my agent.py", "sh 'my agent.py' --fast")
    assert agent.digest == "e3b0c44298fc"
    assert agent_label("cmd:node path/to/agent.js") == "node agent.js"
    assert load_agent("cmd:cat").digest is None
