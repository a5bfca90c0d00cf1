"""The start page, the gallery and the page for users of other tools show what their commands print."""

from __future__ import annotations

import contextlib
import io
import runpy
import shlex
from pathlib import Path

import pytest

from docs.site.outputs import PAGES, ROOT, SILENT, commands, prepare, shown, without_times, words_of
from tests.model_server import ModelServer, Request, verdict
from tests.viva.viva_command import in_this_process


def judge(_: Request) -> str:
    """Judge every statement alike."""
    return verdict("miss", "The answer is another one.")


def printed(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What a command prints; it must succeed."""
    if words[0] == "python":
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            runpy.run_path(str(folder / words[1]))
        return out.getvalue()
    assert words[0] == "viva"
    here = {"DOCKER_HOST": f"unix://{folder}/no-daemon", "COLUMNS": "80"} | environment
    done = in_this_process(*words[1:], cwd=folder, environment=here)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(name: str, tmp_path: Path) -> None:
    page = ROOT / "docs" / name
    prepare(page, tmp_path)
    with ModelServer({"gpt-4o-mini": judge}) as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "unused"}
        for command, output in commands(page):
            if words := words_of(command):
                found = shown(printed(words, tmp_path, {}))
                assert without_times(found) == without_times(output), command
            elif (words := shlex.split(command))[0] not in SILENT:
                printed(words, tmp_path, model)
                assert output.strip() == ""
