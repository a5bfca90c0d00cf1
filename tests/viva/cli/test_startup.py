"""What a start of `viva` does not load: every import is time that each user pays on each call."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA, clean_environment
from viva.cli.group import COMMANDS, viva

HEAVY = {
    "autogen_core",
    "autogen_agentchat",
    "autogen_ext",
    "openai",
    "docker",
    "pydantic",
    "rich",
    "jinja2",
    "msgspec",
    "yaml",
}


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The top-level packages that a call of the installed script imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", VIVA, *arguments],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert len(lines) > 20, "nothing was measured"
    return {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)])
def test_the_version_and_the_help_load_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    packages = loaded(tmp_path, *arguments)
    assert not packages & {*HEAVY, "asyncio", "opentelemetry"}
    assert arguments != ("--version",) or not packages & {"click", "email", "inspect"}


def test_a_scripted_exam_judged_by_code_loads_no_autogen_and_no_model_client(desk: Desk) -> None:
    packages = loaded(desk.folder, "run", "echo", "--sandbox", "process", "--quiet")
    assert not {name for name in packages if name.startswith("autogen")} | (packages & {"openai", "httpx", "docker"})
    assert "viva" in packages


def test_judging_again_and_replay_load_no_autogen_and_no_model_client(desk: Desk) -> None:
    desk.run("echo")
    for arguments in (("judge", "journal", "--sandbox", "process", "--quiet"), ("replay", "journal")):
        packages = loaded(desk.folder, *arguments)
        assert not {name for name in packages if name.startswith("autogen")} | (packages & {"openai", "httpx"})


def test_garbage_is_not_searched_for_while_a_command_is_imported_and_is_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_command.py").write_text("import gc\n\ncommand = None\nsearched = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "imported", ("imported_command", "A command."))
    assert gc.isenabled()
    assert viva.get_command(click.Context(viva), "imported") is None
    assert gc.isenabled()
    assert sys.modules.pop("imported_command").searched is False


def test_who_has_switched_the_search_for_garbage_off_finds_it_off(desk: Desk) -> None:
    gc.disable()
    try:
        desk.viva("cases", expect=0)
        assert not gc.isenabled()
    finally:
        gc.enable()
