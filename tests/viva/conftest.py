"""What tests of the harness share: a working folder in which `viva` is called, and journals of all kinds of text."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import missing as missing
from tests.viva.reports.made import write_hostile
from tests.viva.viva_command import in_a_process, in_this_process, start
from tests.webhooks import Hook, listening
from viva.journal.writer import scan

AGENTS = Path(__file__).resolve().parents[2] / "examples" / "agents"


class Desk:
    """A working folder, and the command run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def viva(
        self,
        *arguments: str | Path,
        expect: int | None = None,
        environment: Mapping[str, str] | None = None,
        process: bool = False,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Call `viva`; `expect` is the exit code it must end with.

        It runs in this process unless `process` asks for one of its own, or `options` of one are given, or variables
        that Python reads when it starts.
        """
        process = process or bool(options) or any(name.startswith("PYTHON") for name in environment or ())
        call = partial(in_a_process, **options) if process else in_this_process
        done = call(*arguments, cwd=self.folder, environment=environment)
        assert "Traceback" not in done.stderr, done.stderr
        if expect is not None:
            assert done.returncode == expect, f"ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start `viva` and leave it running."""
        return start(*arguments, cwd=self.folder)

    def run(
        self,
        case: str,
        *arguments: str | Path,
        expect: int = 0,
        out: str | None = "journal",
        process: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """`viva run` in the process sandbox; returns the record as its JSON says. The rest is as with `viva`."""
        target = () if out is None else ("--out", out)
        sandbox = () if "--sandbox" in arguments else ("--sandbox", "process")
        words = ("run", case, *arguments, *sandbox, *target, "--json")
        done = self.viva(*words, expect=expect, process=process, **options)
        record: dict[str, Any] = json.loads(done.stdout)["run"]
        return record

    def case(self, name: str = "exam", data: Mapping[str, str] | None = None, **fields: Any) -> str:
        """Write a case folder; returns its name. A field that is None is left out."""
        folder = self.folder / name
        folder.mkdir()
        content = {
            "task_description": "Say something.",
            "scoring_points": [{"score_point": "It speaks.", "weight": 1, "eval_code": "assert rounds"}],
            "script": ["Hello."],
            **fields,
        }
        for file, text in (data or {}).items():
            (folder / file).write_text(text)
        (folder / "case.yaml").write_text(
            yaml.safe_dump({key: value for key, value in content.items() if value is not None}, sort_keys=False)
        )
        return name

    def agent(self, methods: str, name: str = "agent") -> str:
        """Write an adapter with these methods; returns its SPEC."""
        body = textwrap.indent(textwrap.dedent(methods).strip(), "    ")
        lines = "import os, sys, time\nfrom pathlib import Path\nfrom viva import VirtualUser\n\n\n"
        (self.folder / f"{name}.py").write_text(f"{lines}class Agent(VirtualUser):\n{body}\n", encoding="utf-8")
        return f"{name}.py:Agent"

    def kinds(self, journal: str = "journal") -> list[str]:
        """The kinds of a journal's events, in order."""
        return [event.kind for event in scan(self.folder / journal)]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A fresh working folder."""
    return Desk(tmp_path)


def point(code: str | None, statement: str = "It is good.", weight: float = 1) -> dict[str, Any]:
    """A scoring point of a case file."""
    fields: dict[str, Any] = {"score_point": statement, "weight": weight}
    return fields if code is None else {**fields, "eval_code": code}


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with hostile text everywhere."""
    return write_hostile(tmp_path_factory.mktemp("hostile") / "journal")


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook on this machine."""
    with listening() as found:
        yield found
