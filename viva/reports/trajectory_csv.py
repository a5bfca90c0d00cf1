"""CSV files of a journal's trajectories: one for each evaluator, and one for the sequences.

The columns are those of the GitHub Agent Evaluation Framework. Each file appears once it is complete.
"""

from __future__ import annotations

import contextlib
import csv
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from viva.journal.reader import StoredRun, read_runs
from viva.journal.writer import JournalError
from viva.judge.trajectory import SEQUENCE, SKIPPED, STEP_EVALUATORS, TRAJECTORY_EVALUATORS
from viva.judge.trajectory.decisions import StepDecision, decisions
from viva.records.verdict import Insight, Verdict
from viva.reports.csv_table import cell

FOLDER = "evaluations"
"""Inside the journal's folder."""
# fmt: off
STEP_COLUMNS = (
    "span_id", "trace_id", "question", "thought", "tool", "input", "label", "score", "explanation", "run", "step",
)
RUN_COLUMNS = ("trace_id", "question", "criterion", "label", "score", "explanation", "run")
SEQUENCE_COLUMNS = (
    "trace_id", "question", "thought_sequence", "tool_sequence", "label", "score", "explanation", "run",
)
# fmt: on
LONGEST = 20_000
"""Characters of one cell; a spreadsheet takes 32,767."""
INPUT_SHOWN = 50
"""Characters of a tool's input in a sequence, as in the document."""


def write_evaluations(journal: Path) -> list[Path]:
    """Write the files of a journal, in one pass over it; give their paths.

    Raises:
        JournalError: the journal cannot be read, or a file cannot be written.
    """
    folder = journal / FOLDER
    files: dict[str, _File] = {}
    try:
        with contextlib.ExitStack() as opened:
            for stored in read_runs(journal):
                found = {each.evaluator: each for each in stored.insights if each.subject == stored.id}
                names = [name for name in TRAJECTORY_EVALUATORS if name in found]
                path = decisions(stored.transcript) if names else ()
                for name in names:
                    if name not in files:
                        files[name] = opened.enter_context(_File(folder, _file_name(name), _columns(name)))
                    files[name].rows(_rows(name, stored, path, found[name]))
            return [file.finish() for file in files.values()]
    except OSError as error:
        raise JournalError(f"cannot write into {folder}: {error.strerror}.") from error


class _File:
    """A CSV file under another name until it is finished."""

    def __init__(self, folder: Path, name: str, columns: tuple[str, ...]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / name
        self._part = folder / f".{name}.{secrets.token_hex(8)}.part"
        fd = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        self._file: TextIO = open(fd, "w", encoding="utf-8", newline="")  # noqa: SIM115 - closed by __exit__
        self._writer = csv.writer(self._file)
        self._writer.writerow(columns)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)

    def rows(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._writer.writerows(rows)

    def finish(self) -> Path:
        self._file.close()
        self._part.replace(self._path)
        return self._path


def _file_name(evaluator: str) -> str:
    return "sequences.csv" if evaluator == SEQUENCE else f"{evaluator}.csv"


def _columns(evaluator: str) -> tuple[str, ...]:
    if evaluator == SEQUENCE:
        return SEQUENCE_COLUMNS
    return STEP_COLUMNS if evaluator in STEP_EVALUATORS else RUN_COLUMNS


def _rows(
    evaluator: str, stored: StoredRun, path: tuple[StepDecision, ...], insight: Insight
) -> Iterator[tuple[Any, ...]]:
    trace = cell(stored.transcript.trace_id or stored.id, LONGEST)
    steps = {each.id: each for each in path}
    question = next((each.examiner for each in stored.transcript.rounds if each.examiner), "")
    run = cell(stored.id, LONGEST)
    for verdict in insight.verdicts:
        said = cell(verdict.label, 40), _score(verdict), cell(verdict.reason, LONGEST)
        if evaluator == SEQUENCE:
            yield (trace, cell(question, LONGEST), *_sequences(path), *said, run)
        elif evaluator in STEP_EVALUATORS:
            if verdict.label == SKIPPED and verdict.subject == stored.id:
                continue  # a run without a step to judge is no step
            step = steps.get(verdict.subject)
            yield (
                cell(step.span if step else "", LONGEST),
                trace,
                *(cell(text, LONGEST) for text in _step(step, verdict)),
                *said,
                run,
                cell(verdict.subject, LONGEST),
            )
        else:
            criterion = "" if verdict.criterion == evaluator else cell(verdict.criterion, 100)
            yield (trace, cell(question, LONGEST), criterion, *said, run)


def _step(step: StepDecision | None, verdict: Verdict) -> tuple[str, str, str, str]:
    """Question, thought, tool and input; a verdict on a whole run has none of them."""
    return ("", "", verdict.statement, "") if step is None else (step.query, step.thought, step.tool, step.input)


def _sequences(path: tuple[StepDecision, ...]) -> tuple[str, str]:
    thoughts = "\n".join(f"Step {each.number}: {each.thought}" for each in path)
    tools = "\n".join(f"Step {each.number}: {each.tool} - {each.input[:INPUT_SHOWN]}..." for each in path)
    return cell(thoughts, LONGEST), cell(tools, LONGEST)


def _score(verdict: Verdict) -> str:
    return "" if verdict.score is None else f"{verdict.score:.6g}"
