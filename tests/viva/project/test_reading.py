"""A mistake in `viva.yaml` is reported like one in a case: with file, line and the nearest key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from viva.cases import CaseError
from viva.cli.project.used_file import read_found
from viva.project.finding import read_file
from viva.project.reading import Project


def read(folder: Path, text: str | bytes) -> Project:
    file = folder / "viva.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_found(read_file(file))


# ruff: noqa: E501
MISTAKES = {
    "suits: {}": "1: unknown key 'suits'; did you mean 'suites'?",
    "suites:\n  a: {cases: x, agents: y.py:Y}": "2: unknown key 'agents'; did you mean 'agent'?",
    "suites:\n  a:\n    cases: x\n    fail-under: 0.9": "4: unknown key 'fail-under'; did you mean 'fail_under'?",
    "suites:\n  a:\n    cases: x\n    trials: many": "4: trials must be a whole number, not 'many'",
    "suites:\n  a:\n    cases: x\n    trials: true": "4: trials must be a whole number, not True",
    "suites:\n  a:\n    cases: x\n    trials: 0": "4: trials: 0 is not in the range x>=1",
    "suites:\n  a:\n    cases: x\n    threshold: 1.5": "4: threshold: 1.5 is not in the range 0<=x<=1",
    "suites:\n  a:\n    cases: x\n    threshold: .nan": "4: threshold: 'nan' is not a number",
    "suites:\n  a:\n    cases: x\n    isolate: 'yes'": "4: isolate must be true or false, not 'yes'",
    "suites:\n  a:\n    cases: x\n    sandbox: dokcer": "4: sandbox: 'dokcer' is not one of 'auto', 'docker', 'bwrap', 'process'",
    "suites:\n  a:\n    cases: x\n    timeout: soon": "4: timeout: 'soon' is not a duration above 0",
    "suites:\n  a:\n    cases: x\n    agent: {file: y.py}": "4: agent must be text, or a list of these, not {'file': 'y.py'}",
    "suites:\n  a:\n    cases: x\n    tag: [2026]": "4: tag must be text, or a list of these, not 2026; put it in quotes",
    "suites:\n  a:\n    cases: x\n    model: [a, b]": "4: model must be text, not ['a', 'b']",
    "suites:\n  a:\n    cases: x\n    model: ' '": "4: model is empty",
    "suites:\n  a:\n    cases: x\n    agent: []": "4: agent is an empty list; leave it out",
    "suites:\n  a:\n    cases: x\n    fail_under: [{a: [1]}]": "4: fail_under must be text or a number, not [1]",
    "suites:\n  a: {cases: x}\n  a: {cases: y}": "3: 'a' is a duplicate key",
    "suites:\n  a:\n    cases: x\n    trials: 1\n    trials: 2": "5: 'trials' is a duplicate key",
    "suites:\n  a: {trials: 2}": "2: the suite 'a' names no cases: `cases: FOLDER`",
    "suites:\n  a:": "2: the suite 'a' names no cases",
    "suites:\n  on: {cases: x}": "1: the name of a suite must consist of letters, digits, _ and -",
    "suites:\n  '../a': {cases: x}": "2: the name of a suite must consist of",
    "suites:\n  '--trust': {cases: x}": "2: the name of a suite must consist of",
    "suites: [a]": "1: suites must be a mapping, not ['a']",
    "suites:\n  a: x": "2: a must be a mapping, not 'x'",
    "run:\n  trials: 3": "2: unknown key 'trials'",
    "run:\n  fail_undr: 3": "2: unknown key 'fail_undr'; did you mean 'fail_under'?",
    "[]": "1: is not a mapping; see `viva docs viva-yaml`",
    "": "1: is not a mapping",
    "suites: {a: [": "1: is not valid YAML",
    "run:\n  model: sk-abcdefghijklmnop1234": "2: holds what looks like a key or a password",
    "run:\n  sink: webhook:https://me:secret@host/": "2: holds what looks like a key or a password",
    "run:\n  model: openai:${MODEL}": "2: model names an environment variable, which is not replaced here",
    "run:\n  model: \"a\\0b\"": "2: model holds a null character",
    # What permits something, or is about one call, has no key.
    "suites:\n  a:\n    cases: x\n    trust: true": "4: unknown key 'trust'",
    "suites:\n  a:\n    cases: x\n    trust_plan: true": "4: unknown key 'trust_plan'",
    "suites:\n  a:\n    cases: x\n    resume: runs/x": "4: unknown key 'resume'",
    "suites:\n  a:\n    cases: x\n    'agent --trust': y": "4: unknown key 'agent --trust'",
    "suites:\n  a:\n    cases: x\n    '--trust': true": "4: unknown key '--trust'",
    "suites:\n  a:\n    cases: x\n    paths: y": "4: unknown key 'paths'",
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES.items())
def test_a_mistake_is_told_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError) as caught:
        read(tmp_path, text)
    assert f"{tmp_path}/viva.yaml:{message}" in str(caught.value).replace("viva.yaml: ", "viva.yaml:")


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    with pytest.raises(CaseError) as caught:
        read(tmp_path, "suites:\n  a:\n    trials: x\n    votes: y\nsuits: 1\n")
    assert [each.line for each in caught.value.mistakes] == [2, 3, 4, 5]


BOMBS = {
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nsuites: {c: {cases: [*b, *b]}}",
    "anchor in itself": "suites: &a {a: *a}",
    "depth": "suites: " + "[" * 5000,
    "a hundred thousand values": "suites: {a: {cases: [" + "x," * 120_000 + "]}}",
    "size": "#" * 400_000,
    "a Python object": "suites: !!python/object/apply:os.system [id]",
    "a long number": "run: {max_rounds: " + "9" * 5000 + "}",
    "not UTF-8": b"suites: \xff",
    "a merged mapping": "x: &x {cases: y}\nsuites: {a: {<<: *x}}",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in BOMBS.items()])
def test_what_is_made_to_break_a_parser_is_refused(text: str | bytes, tmp_path: Path) -> None:
    with pytest.raises(CaseError):
        read(tmp_path, text)


def test_a_pipe_or_a_link_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "viva.yaml")
    with pytest.raises(CaseError, match="not a regular file"):
        read_file(tmp_path / "viva.yaml")
    (tmp_path / "other").mkdir()
    (tmp_path / "mine.yaml").write_text("suites: {}")
    (tmp_path / "other" / "viva.yaml").symlink_to(tmp_path / "mine.yaml")
    with pytest.raises(CaseError, match="it is a link"):
        read_file(tmp_path / "other" / "viva.yaml")
