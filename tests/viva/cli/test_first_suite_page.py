"""The page "a gated suite in ten minutes": a newcomer types what it prints, and has a suite with a gate."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from tests.viva.viva_command import in_this_process

PAGE = Path(__file__).resolve().parents[3] / "docs" / "first-suite.md"


def typed() -> list[list[str]]:
    """The commands of the page, in order."""
    return [shlex.split(line) for line in re.findall(r"^\$ (.+)$", PAGE.read_text(), re.MULTILINE)]


def test_the_commands_of_the_page_lead_to_a_gated_suite(tmp_path: Path) -> None:
    install, *commands = typed()
    assert install[:2] == ["pip", "install"]
    for words in commands:
        if words[0] == "git":
            assert all((tmp_path / name).exists() for name in words[2:] if words[1] == "add"), words
            continue
        assert words[0] == "viva"
        # The image of the sandbox Docker need not be here; bubblewrap is as good for this.
        more = ("--sandbox", "bwrap") if words[1] == "suite" else ()
        done = in_this_process(*words[1:], *more, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    workflow = yaml.safe_load((tmp_path / ".github/workflows/exams.yml").read_text())
    last = shlex.split(workflow["jobs"]["exams"]["steps"][-1]["run"])
    quiet = ("--sandbox", "bwrap", "--quiet")
    state = {"XDG_STATE_HOME": str(tmp_path / "nothing-is-trusted-in-ci")}
    assert in_this_process(*last[1:], *quiet, cwd=tmp_path, environment=state).returncode == 0
    worse = tmp_path / "my_agent.py"
    worse.write_text(re.sub(r"return f.*", 'return "no"', worse.read_text()))
    done = in_this_process(*last[1:], *quiet, cwd=tmp_path, environment=state)
    assert done.returncode == 1
    assert "below 0.9" in done.stderr


def test_the_file_on_the_page_is_the_one_that_is_written(tmp_path: Path) -> None:
    words = next(words for words in typed() if words[1:3] == ["init", "suite"])
    in_this_process(*words[1:], cwd=tmp_path)
    shown = re.search(r"^# viva\.yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert yaml.safe_load((tmp_path / "viva.yaml").read_text()) == yaml.safe_load(shown[1])


def test_a_newcomer_types_as_little_as_the_page_says() -> None:
    words, commands = sum(map(len, typed())), len(typed())
    assert (words, commands) == (39, 8)
    assert "eight commands, 39 words" in PAGE.read_text()
