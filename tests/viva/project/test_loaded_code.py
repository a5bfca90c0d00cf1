"""What loads code, starts a program or sends something is named; everything else is free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from viva.project.loaded_code import loaded_code, settings_files
from viva.project.moved_paths import moved

HERE = Path("/home/me/project")
NAMED: list[tuple[str, Any, str]] = [
    ("agents", ("my_agent.py:MyAgent",), "runs the code of my_agent.py:MyAgent"),
    ("agents", ("package.module:Agent@.venv",), "runs the code of package.module:Agent@.venv"),
    ("agents", ("cmd:rm -rf .",), "starts the program cmd:rm -rf ."),
    ("agents", ("cmd+plain:./x",), "starts the program cmd+plain:./x"),
    ("agents", ("acp:x",), "starts the program acp:x"),
    ("agents", ("taskweaver:project",), "runs the code of taskweaver:project"),
    ("agents", ("agent.yaml",), "starts the agent of the file agent.yaml"),
    ("agents", ("http://host/v1#m",), "talks to http://host/v1#m, and sends it the key in VIVA_AGENT_API_KEY"),
    ("agents", ("example:echo[system=../a.md]",), "gives its agents the text of ../a.md"),
    ("agents", ("example:echo[a=b]",), "sets a of its agents to b"),
    ("agents", ("a2a:http://host",), "talks to a2a:http://host, and sends it the key in VIVA_AGENT_API_KEY"),
    ("agents", ("someones_plugin:x",), "runs the code of someones_plugin:x"),
    ("agents", ("Example:careful",), "runs the code of Example:careful"),
    ("evaluators", ("scoring_points", "mine.py:Brevity(words=3)"), "imports mine.py:Brevity(words=3)"),
    ("evaluators", ("brief(words=3),mine.py:Brevity",), "imports mine.py:Brevity"),
    ("evaluators", ("a(b='x:y'),c:D",), "imports a(b='x:y'), c:D"),
    ("evaluators", ("exam,like(a='b.py\\x3ac')",), "imports like(a='b.py\\x3ac')"),
    ("match_arguments", "mine.py:same", "imports mine.py:same"),
    ("sinks", ("jsonl:/etc/x",), "sends the completed runs to jsonl:/etc/x"),
    ("sinks", ("webhook:https://host",), "sends the completed runs to webhook:https://host"),
    ("model", "model.json", "loads the model in model.json"),
    ("judge_model", ("openai:x", "model.yml"), "loads the model in model.yml"),
    ("exam_review", "model.yaml", "loads the model in model.yaml"),
    ("sandbox", "process", "runs the eval_code of its cases without a sandbox"),
    ("allow_pre_command", True, "permits --allow-pre-command: commands and packages that its cases name"),
    ("allow_source_dependencies", 1, "permits --allow-source-dependencies: commands and packages that its cases name"),
    ("engine", "ray", "sends its work to a Ray cluster (engine ray)"),
    ("ray_address", "host:1", "sends its work to a Ray cluster (ray_address host:1)"),
    ("vary", ("command=sh x,sh y",), "sets command of its agents to sh x, sh y"),
    ("vary", ("system=../a.md,b.md",), "gives its agents the text of ../a.md and sets system of its agents to b.md"),
    ("vary", ("system=a.md,0",), "sets system of its agents to a.md"),
    ("vary", ('words="1, 2",3',), 'sets words of its agents to "1, 2"'),
    ("out", Path("../elsewhere"), "writes its journal to ../elsewhere"),
    ("out", Path("/etc/x"), "writes its journal to /etc/x"),
    ("an_option_of_tomorrow", 1, "sets an_option_of_tomorrow, of which nothing is known here"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "words"), NAMED)
def test_what_loads_code_is_named(name: str, value: Any, words: str) -> None:
    assert list(loaded_code({name: value}, HERE, {name: value})) == [words]


def test_settings_behind_an_agent_are_named_like_those_that_are_varied() -> None:
    agents = ('cmd.yaml[command="sh -c id",system=/etc/a.txt,temperature=0]', "http://host/v1#m[url=http://other]")
    assert list(loaded_code({"agents": agents}, HERE, {})) == [
        "starts the agent of the file cmd.yaml",
        "sets command of its agents to sh -c id",
        "gives its agents the text of /etc/a.txt",
        "talks to http://host/v1#m, and sends it the key in VIVA_AGENT_API_KEY",
        "sets url of its agents to http://other",
    ]


def test_a_journal_behind_a_link_is_one_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "home" / "project").mkdir(parents=True)
    (tmp_path / "home" / "project" / "runs").symlink_to("..")
    (tmp_path / "mine").symlink_to(tmp_path / "home" / "project")
    for folder in (tmp_path / "mine", tmp_path / "home" / "project"):
        assert list(loaded_code({"out": Path("runs/x")}, folder, {})) == ["writes its journal to runs/x"]
        assert list(loaded_code({"out": Path("new/x")}, folder, {})) == []


FREE: list[tuple[str, Any]] = [
    ("agents", ("example:careful", "replay:runs/x", "example:echo[temperature=0.7]")),
    ("evaluators", ("scoring_points", "exam", "brief(words=3)")),
    ("match_arguments", "partial"),
    ("model", "openai:gpt-4o-mini"),
    ("exam_review", "judge"),
    ("sandbox", "docker"),
    ("allow_pre_command", False),
    ("engine", "local"),
    ("out", Path("runs/nightly")),
    ("fail_under", ("0.9",)),
    ("trials", 3),
    ("vary", ("temperature=0, 0.7,-1e3,.5",)),
    ("personas", ("all",)),
]


@pytest.mark.parametrize(("name", "value"), FREE)
def test_what_loads_nothing_is_free(name: str, value: Any) -> None:
    assert list(loaded_code({name: value}, HERE, {name: value})) == []


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, True),
        ({"sandbox": "auto"}, True),
        ({"sandbox": "docker"}, False),
        ({"sandbox": "bwrap"}, False),
        ({"judge": "model"}, False),
        ({"sandbox": "process"}, False),  # typed: what comes from the file is named by itself
    ],
)
def test_checks_of_the_files_cases_are_named_where_they_may_lack_a_sandbox(given: dict[str, Any], named: bool) -> None:
    found = list(loaded_code({"paths": ("cases",)}, HERE, {"paths": ("cases",), **given}))
    assert bool(found) is named
    assert list(loaded_code({}, HERE, {"paths": ("typed",)})) == []


def test_files_of_agents_and_models_are_settings_too() -> None:
    agents = ("a.yaml", "b.py:B", "cmd:c.yaml", "d.yml[temperature=0,system=e.yaml]", "b.py:B[system=f.yaml]")
    values = {"agents": agents, "model": "m.json", "judge_model": ("openai:x", "n.yml")}
    assert list(settings_files(values)) == ["a.yaml", "d.yml", "m.json", "n.yml"]


MOVED: list[tuple[str, Any, Any]] = [
    ("agents", ("mine.py:A",), ("sub/mine.py:A",)),
    ("agents", ("mine.py:A@env",), ("sub/mine.py:A@sub/env",)),
    ("agents", ("package.module:A@env",), ("package.module:A@sub/env",)),
    ("agents", ("package.module:A",), ("package.module:A",)),
    ("agents", ("agent.yaml",), ("sub/agent.yaml",)),
    ("agents", ("http://host/x.yaml#m",), ("http://host/x.yaml#m",)),
    ("agents", ("cmd:python mine.py --in=mine.py env",), ("cmd:python sub/mine.py --in=sub/mine.py env",)),
    ("agents", ("replay:journal#run-1",), ("replay:sub/journal#run-1",)),
    ("agents", ("/abs/mine.py:A",), ("/abs/mine.py:A",)),
    ("evaluators", ("exam,mine.py:B(x='a,b')",), ("exam,sub/mine.py:B(x='a,b')",)),
    ("match_arguments", "mine.py:same", "sub/mine.py:same"),
    ("match_arguments", "exact", "exact"),
    ("sinks", ("jsonl:new/file.jsonl", "mine.py:S:x", "otel"), ("jsonl:sub/new/file.jsonl", "sub/mine.py:S:x", "otel")),
    ("model", "model.json", "sub/model.json"),
    ("model", "openai:x", "openai:x"),
    ("paths", ("cases/", "echo"), ("sub/cases/", "echo")),
    ("baseline", "journal", "sub/journal"),
    ("examiner", "replay:journal", "replay:sub/journal"),
    ("examiner", "script", "script"),
    ("out", Path("new"), Path("sub/new")),
    ("label_files", (Path("labels.jsonl"),), (Path("sub/labels.jsonl"),)),
    ("names", ("cases",), ("cases",)),
    ("trials", 3, 3),
]


@pytest.mark.parametrize(("name", "value", "expected"), MOVED)
def test_a_path_means_the_same_file_in_another_folder(name: str, value: Any, expected: Any, tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    for each in ("journal", "cases", "env"):
        (folder / each).mkdir(parents=True)
    (folder / "mine.py").touch()
    assert moved({name: value}, folder, tmp_path) == {name: expected}
    assert moved({name: value}, tmp_path, tmp_path) == {name: value}
