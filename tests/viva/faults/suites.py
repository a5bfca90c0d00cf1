"""Suites with faulty and healthy runs: writes their cases, runs them, and reads what is known of each run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.viva.faults.connections import Connection
from tests.viva.real_suites import left_running
from viva.journal.reader import StoredRun, read_runs
from viva.records.codec import to_plain

WORDS = re.compile(r"w-\d+-[a-z-]+-w")
"""The words by which a run's agent is known: `w-NUMBER-FAULT-w`."""
HUNG, USUAL = 6, 120
"""Seconds that a conversation may take: of an agent that hangs, and of any other."""


def words_of(case: str) -> str:
    """Return the words of a case's run."""
    return f"w-{case.replace('_', '-')}-w"


class FaultySuite:
    """A folder with cases, and what the processes there need to know."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"viva-fault-{time.time_ns()}"
        for name in ("tmp", "state"):
            (folder / name).mkdir()

    def variables(self) -> dict[str, str]:
        """Return the environment variables of Viva and of a server."""
        state, tmp = str(self.folder / "state"), str(self.folder / "tmp")
        return {"VIVA_FAULTS": state, "TMPDIR": tmp, "VIVA_MODEL_WAIT": "0.02", "MARK": self.mark}

    def case(self, fault: str, number: int, *, check: Mapping[str, object] | None = None) -> str:
        """Write the case of one run, in which an agent shows a fault, or does well; return its name."""
        name = f"{number}_{fault}"  # so that runs with one fault do not follow each other
        words, starts = words_of(name), fault.startswith("start-")
        said = f"echo {words}" if starts or fault in ("well", "echo") else f"{fault} {words}"
        folder = self.folder / "cases" / name
        folder.mkdir(parents=True)
        content = {
            "task_description": "Talk.",
            "config_var": {"start": f"{fault.removeprefix('start-')} {words}" if starts else ""},
            "timeout": HUNG if "hang" in fault else USUAL,
            "script": [f"conformance: {line}" for line in (f"note {words}", said, "recall")],
            "scoring_points": [check or {"check": {"equals": words}, "weight": 1}],
        }
        (folder / "case.yaml").write_text(yaml.safe_dump(content))
        return name

    def runs(self) -> dict[str, StoredRun]:
        """Return the runs by the names of their cases."""
        return {run.setting.case: run for run in read_runs(self.folder / "journal")}

    def asked(self) -> list[str]:
        """Return the messages that agents have received, in their order."""
        log = self.folder / "state" / "log"
        return log.read_text().splitlines() if log.exists() else []

    def left(self) -> list[str]:
        """Return which of the suite's processes still run after a while, and its temporary files."""
        left: list[str] = []
        for _ in range(100):
            # Processes that run checks do not have the mark; they remove their folders when they end.
            left = [*left_running(self.mark), *(each.name for each in (self.folder / "tmp").iterdir())]
            if not left:
                break
            time.sleep(0.1)
        return left


def all_words(run: StoredRun) -> str:
    """Return everything that is known of a run but the case's own words, as text."""
    rounds = [
        (round_.agent, round_.error, [to_plain(step) for step in round_.steps]) for round_ in run.transcript.rounds
    ]
    error = None if run.record is None else run.record.error
    return json.dumps([error, run.transcript.stop_detail, dict(run.transcript.printed), rounds], ensure_ascii=False)


@contextmanager
def reached(suite: FaultySuite, connection: Connection, venv: Path) -> Iterator[list[str]]:
    """Yield the arguments of `viva suite` for the cases with an agent behind a connector."""
    variables = {name: value for name, value in suite.variables().items() if name != "MARK"}  # servers stay
    with connection.reached(suite.folder, venv, variables) as agent:
        yield ["suite", "cases", *agent, "--sandbox", "process", "--out", "journal", "--quiet"]


def empty_environment(folder: Path) -> Path:
    """Make an environment without Viva."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder
