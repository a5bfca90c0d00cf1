"""A user's mistake: told in a line or two, with what to do, exit code 2, and nothing left lying about."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA
from viva.adapters.connectors.spec import FORMS
from viva.cases import BUNDLED, find_cases

Prepare = Callable[[Desk], None]


@dataclass(frozen=True)
class Mistake:
    """What was typed, and what must be in the answer."""

    command: str
    said: tuple[str, ...]
    prepare: Prepare = lambda desk: None
    environment: Mapping[str, str] = field(default_factory=dict)


def _broken_yaml(desk: Desk) -> None:
    (desk.folder / "exam").mkdir()
    (desk.folder / "exam" / "case.yaml").write_text("task_description: x\nscoring_points:\n  - {weight: 1\n")


def _exams(desk: Desk) -> None:
    for name, tag in (("one", "sums"), ("two", "short")):
        (desk.folder / "exams" / name).mkdir(parents=True)
        (desk.folder / "exams" / name / "case.yaml").write_text(
            f"task_description: x\ntags: [{tag}]\nscript: [Hello]\n"
            "scoring_points:\n  - {score_point: y, weight: 1, eval_code: 'assert True'}\n"
        )


def _agents(desk: Desk) -> None:
    (desk.folder / "agent.py").write_text(
        "class Agent:\n    def get_reply_from_agent(self, message): return message\n\n\nclass Mute:\n    pass\n\n\n"
        "number = 3\n"
    )
    (desk.folder / "broken.py").write_text("import os\nimport no_such_module\n")
    (desk.folder / "lazy.py").write_text(
        "class _Lazy(type):\n"
        "    def __getattr__(cls, name):\n"
        "        globals()['more'] = 1\n"
        "        raise AttributeError(name)\n\n\n"
        "class Thing(metaclass=_Lazy):\n"
        "    pass\n"
    )
    (desk.folder / "leaves.py").write_text("raise SystemExit(0)\n")


def _file(desk: Desk) -> None:
    (desk.folder / "file").write_text("I am no folder.")


def _empty_journal(desk: Desk) -> None:
    (desk.folder / "empty").mkdir()
    (desk.folder / "empty" / "journal.jsonl").touch()


def _torn_journal(desk: Desk) -> None:
    (desk.folder / "torn").mkdir()
    (desk.folder / "torn" / "journal.jsonl").write_text('{"v":1,"event":"setting","ru\n')


def _run(desk: Desk) -> None:
    desk.run("echo")


def _caseless(desk: Desk) -> None:
    desk.run("echo")
    for file in (desk.folder / "journal" / "cases").iterdir():
        file.unlink()


MISTAKES = {
    "unknown case": Mistake("run sum_1_to_5", ("sum_1_to_5:", "Did you mean 'sum_1_to_50'?")),
    "unknown case like none": Mistake("run zzzz", ("Bundled:", "weather_asks_back")),
    "endless case name": Mistake("run " + "a" * 5000, ("no such case",)),
    "broken YAML": Mistake("run exam", ("exam/case.yaml:4:", "not valid YAML"), _broken_yaml),
    "folder without a case": Mistake("run .", ("no YAML file",)),
    "unknown agent class": Mistake("run echo --agent agent.py:Agnet", ("Did you mean agent.py:Agent?",), _agents),
    "no agent class": Mistake("run echo --agent agent.py", ("write agent.py:Agent",), _agents),
    "missing agent file": Mistake("run echo --agent agnt.py:Agent", ("Did you mean agent.py?",), _agents),
    "missing agent module": Mistake("run echo --agent no.such:Agent", ("'no.such'",)),
    "adapter without its method": Mistake("run echo --agent agent.py:Mute", ("get_reply_from_agent",), _agents),
    "agent that is no class": Mistake("run echo --agent agent.py:number", ("number",), _agents),
    "agent file that cannot be imported": Mistake(
        "run echo --agent broken.py:A", ("broken.py:2", "no_such_module"), _agents
    ),
    "agent file that leaves": Mistake("run echo --agent leaves.py:A", ("leaves.py:1", "SystemExit"), _agents),
    "agent SPEC without sense": Mistake("run echo --agent nonsense", ("package.module:Class", "http(s)://")),
    "agent that is a model": Mistake("run echo --agent openai:gpt-4o", ("--agent https://api.openai.com/v1#gpt-4o",)),
    "agent that is a model with a name like a class": Mistake(
        "run echo --agent openai:o3", ("--agent https://api.openai.com/v1#o3",)
    ),
    "agent that is a module which imports more when asked": Mistake(
        "run echo --agent lazy:Agent", ("lazy has no 'Agent'",), _agents
    ),
    "agent's address without its scheme": Mistake(
        "run echo --agent 127.0.0.1:8000", ("write http://127.0.0.1:8000/v1#MODEL",)
    ),
    "agent's address and model without the scheme": Mistake(
        "run echo --agent localhost:80/chat#m", ("write http://localhost:80/chat#m",)
    ),
    "agent's address with a misspelt scheme": Mistake(
        "run echo --agent htp://localhost/v1#m", ("Did you mean http://localhost/v1#m?",)
    ),
    "environment before the class": Mistake(
        "run echo --agent agent.py@.agent:Agent", ("write agent.py:Agent@.agent",), _agents
    ),
    "misspelt example": Mistake("run echo --agent exmple:careful", ("Did you mean example:careful?",)),
    "misspelt example in its own process": Mistake(
        "run echo --isolate --agent exmple:careful", ("Did you mean example:careful?",)
    ),
    "class that cannot be one": Mistake("run echo --agent agent.py:gpt-4", ("'gpt-4' cannot be a class",), _agents),
    "chat endpoint without a model": Mistake("run echo --agent http://127.0.0.1:1/v1", ("#MODEL",)),
    "no key for a model": Mistake("run echo --model openai:gpt-4o", ("OPENAI_API_KEY",)),
    "unknown form of a model": Mistake("run echo --model gpt-4o", ("openai:NAME",)),
    "missing model file": Mistake("run echo --model model.yaml", ("model.yaml",)),
    "judge without a model": Mistake("run echo --judge model", ("--judge model requires a model", "--model")),
    "both judges without a model": Mistake("run echo --judge both", ("--judge both requires a model",)),
    "examiner without a model": Mistake("run echo --examiner model", ("--model openai:NAME",)),
    "unknown examiner": Mistake("run echo --examiner parrot", ("script, model, auto or replay:JOURNAL", "'parrot'")),
    "examiner of another case": Mistake(
        "run weather_asks_back --examiner replay:journal", ("belong to the case 'echo'",), _run
    ),
    "speed without pace": Mistake("replay journal --speed 3", ("--speed requires --pace",), _run),
    "examiner from no journal": Mistake("run echo --examiner replay:nowhere", ("there is no folder nowhere",)),
    "docker without a daemon": Mistake(
        "run echo --sandbox docker",
        ("no Docker daemon answers at unix:///nowhere/docker.sock", "Start Docker"),
        environment={"DOCKER_HOST": "unix:///nowhere/docker.sock"},
    ),
    "docker at an address without sense": Mistake(
        "run echo --sandbox docker", ("DOCKER_HOST",), environment={"DOCKER_HOST": "nonsense"}
    ),
    "output below a file": Mistake("run echo --out file/journal", ("file/journal", "--out"), _file),
    "output is a file": Mistake("run echo --out file", ("file", "--out"), _file),
    "output where nobody can write": Mistake("run echo --out /proc/viva/journal", ("/proc/viva/journal", "--out")),
    "judging into a file": Mistake("judge journal --out file", ("--out",), lambda desk: (_run(desk), _file(desk))[0]),
    "replay of no journal": Mistake("replay .", ("is not a journal", "journal.jsonl")),
    "replay of a file": Mistake("replay file", ("file",), _file),
    "replay with no journal at all": Mistake("replay", ("no journal under runs/",)),
    "replay of an empty journal": Mistake("replay empty", ("empty holds no run",), _empty_journal),
    "replay of an unknown run": Mistake("replay journal#nobody", ("no run 'nobody'", "It has: echo-"), _run),
    "judge of an empty journal": Mistake("judge empty", ("empty holds no run",), _empty_journal),
    "judge of a torn journal": Mistake("judge torn", ("torn holds no run",), _torn_journal),
    "judge of no journal": Mistake("judge nowhere", ("there is no folder nowhere",)),
    "judge of an unknown run": Mistake("judge journal#nobody", ("no run 'nobody'", "It has: echo-"), _run),
    "judge of a journal that lost its case": Mistake("judge journal", ("the case 'echo' cannot be read",), _caseless),
    "unknown option": Mistake("run echo --agnet x", ("--agent",)),
    "unknown command": Mistake("rum echo", ("'rum'", "Did you mean 'run'?")),
    "command like no other": Mistake("frobnicate", ("The commands are init, run, suite, status, pause",)),
    "fail-under beyond 1": Mistake("run echo --fail-under 80", ("--fail-under",)),
    "several agents": Mistake("run echo --agent example:careful --agent example:hasty", ("viva suite", "one agent")),
    "several cases": Mistake("run echo sum_1_to_50", ("viva suite", "one case")),
    "folder of cases": Mistake("run exams", ("viva suite exams",), _exams),
    "no case": Mistake("run", ("Missing argument 'CASE'",)),
    "option of a suite": Mistake("run echo --tag nope", ("--tag is an option of viva suite",)),
    "option of a suite with its value": Mistake("run echo --trials=3", ("--trials is an option of viva suite",)),
    "unknown tag": Mistake("suite exams --tag nope", ("No case has the tag 'nope'", "short, sums"), _exams),
    "unknown tag of a bundled case": Mistake("suite echo --tag nope", ("No case has the tag 'nope'", "smoke")),
    "gate of a run without an agent": Mistake("run echo --fail-under 0.5", ("--fail-under without --agent",)),
    "gate of a suite without an agent": Mistake("suite echo --fail-under 0.5", ("--fail-under without --agent",)),
    "drop without an agent": Mistake(
        "suite echo --baseline journal --max-drop 0.5", ("--max-drop without --agent", "example:careful"), _run
    ),
    "duration in words": Mistake("run echo --timeout soon", ("--timeout", "'soon'", "5m")),
    "duration of no time": Mistake("run echo --timeout 0m", ("--timeout", "above 0")),
    "duration that is no number": Mistake("suite echo --max-time nan", ("--max-time", "5m")),
    "no rounds": Mistake("run echo --max-rounds 0", ("--max-rounds",)),
}
USAGE_LINES = 4
"""What click itself finds wrong comes with a usage line, a pointer to --help and a blank one."""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_a_line_or_two_with_what_to_do(desk: Desk, name: str) -> None:
    mistake = MISTAKES[name]
    mistake.prepare(desk)
    before = _files(desk.folder)
    done = desk.viva(*mistake.command.split(), environment=mistake.environment, expect=2)
    assert done.stdout == ""
    for words in mistake.said:
        assert words in done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) <= (USAGE_LINES if lines[0].startswith("Usage:") else 3), done.stderr
    assert len(done.stderr) < 7000
    assert _files(desk.folder) == before, "a mistake leaves nothing behind"


def test_mistakes_are_told_without_control_characters(desk: Desk) -> None:
    done = desk.viva("run", "\x1b[31mred\x1b]8;;http://x\x07\u202e", expect=2)
    assert "\x1b" not in done.stderr
    assert "\x07" not in done.stderr
    assert "\u202e" not in done.stderr
    assert r"\x1b[31mred" in done.stderr


def test_all_mistakes_of_a_case_are_told_at_once(desk: Desk) -> None:
    case = desk.case(max_rounds=-1, scoring_point="x", timeout="soon")
    done = desk.viva("run", case, expect=2)
    for words in ("max_rounds", "did you mean 'scoring_points'?", "timeout"):
        assert words in done.stderr


@pytest.mark.parametrize("command", ["run", "suite", "pytest"])
def test_the_help_tells_every_form_of_an_agent(desk: Desk, command: str) -> None:
    """Without blanks, which the help adds where it breaks a line."""
    if command == "pytest":
        done = subprocess.run([VIVA.with_name("pytest"), "--help"], cwd=desk.folder, capture_output=True, text=True)
        shown = done.stdout
    else:
        shown = desk.viva(command, "--help", expect=0).stdout
    assert "".join(FORMS.split()) in "".join(shown.split())


def test_help_of_every_command_can_be_had(desk: Desk) -> None:
    shown = desk.viva("--help", expect=0).stdout
    for command in ("run", "replay", "judge", "cases"):
        assert command in shown
        assert "Usage: viva" in desk.viva(command, "--help", expect=0).stdout


def test_the_list_of_cases_breaks_no_name_on_a_narrow_terminal(desk: Desk) -> None:
    shown = desk.viva("cases", expect=0, environment={"COLUMNS": "80"}).stdout
    for folder in find_cases(BUNDLED):
        assert folder.name in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_the_help_tells_every_exit_code_and_what_leads_to_it(desk: Desk) -> None:
    shown = " ".join(desk.viva("--help", expect=0).stdout.split())
    for words in (
        "0 done",
        "1 below --fail-under, dropped by more than --max-drop, or above --max-examiner-faults",
        "2 usage error",
        "3 some runs could not be scored",
        "130 stopped",
    ):
        assert words in shown


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_every_case_is_checked_though_one_of_them_is_not_there(desk: Desk) -> None:
    done = desk.viva("cases", "check", "nowhere", "echo", expect=2)
    assert "nowhere: there is no such case" in done.stderr
    assert "valid, 2 scoring points" in done.stdout
