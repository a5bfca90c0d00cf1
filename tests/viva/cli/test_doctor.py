"""`viva doctor` and `viva sandbox`: their reports are true, and say how to install what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributions import install
from viva.adapters.connectors.table import BY_FORM, CONNECTORS
from viva.cli.diagnosis import Diagnosis, diagnose
from viva.judge.registry import EVALUATORS
from viva.plugins.kinds import load
from viva.sandbox.docker.base_image import MIRROR_VARIABLE, SUITE_VARIABLE, debootstrap_command
from viva.sinks import SINKS

ROOT = Path(__file__).parents[3]


def viva(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "viva.cli.main", *words]
    env = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)


def named(diagnosis: Diagnosis, name: str) -> object:
    return next(finding for finding in diagnosis.findings if finding.name == name)


async def test_what_is_missing_comes_with_a_remedy_and_what_is_weak_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    diagnosis = await diagnose()
    assert diagnosis.sandbox == "process"
    assert "Start Docker" in diagnosis.note
    assert "bubblewrap" in diagnosis.note
    for finding in diagnosis.findings:
        assert finding.detail
        assert finding.there or finding.remedy, f"{finding.name} is missing without a remedy"
    weak = {finding.name: finding.weaknesses for finding in diagnosis.findings}
    assert any("read and write every file" in weakness for weakness in weak["sandbox process"])


async def test_a_key_is_found_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2")
    assert "hunter2" not in repr(await diagnose())


def test_the_command_prints_one_json_object() -> None:
    done = viva("doctor", "--json", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["sandbox"] in ("bwrap", "process")
    assert {"python", "sandbox docker", "sandbox bwrap", "sandbox process"} <= {one["name"] for one in said["findings"]}


def test_the_command_prints_lines_for_people() -> None:
    done = viva("doctor", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 0, done.stderr
    assert "remedy: Start Docker" in done.stdout
    assert "not guaranteed:" in done.stdout
    assert "--sandbox auto selects" in done.stdout


def test_the_parts_are_listed_with_where_they_come_from_even_where_one_is_broken(tmp_path: Path) -> None:
    points = {
        "viva.connectors": {"rooms": "our_parts:Rooms"},
        "viva.readers": {"broken": "our_parts.nowhere:Reader"},
        "viva.sinks": {"post\x1b[31m": "our_parts:Post"},
    }
    site = install(tmp_path, "our-parts", "1.2", {"our_parts": "raise RuntimeError('imported')"}, points)
    environment = {"DOCKER_HOST": "unix:///nonexistent/docker.sock", "PYTHONPATH": str(site)}
    done = viva("doctor", "--json", **environment)
    assert done.returncode == 0, done.stderr
    parts = json.loads(done.stdout)["parts"]
    assert {"name": "rooms", "where": "our-parts 1.2", "target": "our_parts:Rooms"} in parts["connectors"]
    *built_in, last = ((one["name"], one["where"]) for one in parts["readers"])
    assert built_in[0] == ("chat", "built-in")
    assert {where for _, where in built_in} == {"built-in"}
    assert last == ("broken", "our-parts 1.2")
    assert parts["evaluators"][0]["name"] == "scoring_points"
    assert parts["sinks"][-1]["where"] == "our-parts 1.2"
    done = viva("doctor", **environment)
    assert f"built-in: {', '.join([*BY_FORM, *CONNECTORS.builtin])}\n" in done.stdout
    assert "rooms: our-parts 1.2 (our_parts:Rooms)" in done.stdout
    assert "broken: our-parts 1.2 (our_parts.nowhere:Reader)" in done.stdout
    assert "\x1b" not in done.stdout


def test_every_built_in_evaluator_and_sink_can_be_imported() -> None:
    for kind in (EVALUATORS, SINKS):
        for name in kind.builtin:
            assert load(kind, name)


@pytest.mark.parametrize("words", [("sandbox", "build"), ("sandbox", "prune")])
def test_without_a_daemon_the_sandbox_commands_say_what_to_do(words: tuple[str, ...]) -> None:
    done = viva(*words, DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 2
    assert "Start Docker" in done.stderr
    assert "Traceback" not in done.stderr


def test_packages_come_from_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUITE_VARIABLE, "trixie")
    monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1/debian")
    command = debootstrap_command(Path("/x"))
    assert command[0] == "debootstrap"
    assert command[-3:] == ["trixie", "/x", "http://127.0.0.1/debian"]
