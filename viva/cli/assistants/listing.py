"""The tools that say what there is: suites, cases, journals; and the one that checks cases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

from viva.cases import CaseError, bundled, find_cases, load_cases
from viva.cli.assistants.answers import answer, tells_errors
from viva.cli.assistants.places import below, case_below, is_below
from viva.cli.commands.cases import FoundCases, mistake_lines, requirements, valid_lines
from viva.cli.project.suite_command import section_words
from viva.cli.project.used_file import nearest_project
from viva.errors import SetupError
from viva.journal.lines import FILE
from viva.journal.lock import holder
from viva.journal.paths import RUNS
from viva.project.finding import NAME
from viva.project.loaded_code import loaded_code
from viva.project.trust import digest_of, is_trusted
from viva.records.text import counted, one_line
from viva.suites.request import SuiteRequest
from viva.suites.resuming.stored_request import load_request

MOST_JOURNALS = 100
MOST_CASES = 2_000


@tells_errors
def list_suites() -> str:
    """List the suites of the nearest viva.yaml with their keys, and whether the user has trusted the file."""
    project = nearest_project()
    if project is None:
        return (
            f"There is no {NAME} in this folder or above it. `viva init suite` writes one; see `viva docs viva-yaml`."
        )
    trusted = is_trusted(digest_of(project))
    sections = {**project.suites, **({} if project.run is None else {"(section run, for single cases)": project.run})}
    lines, closed = [], False
    for name, section in sections.items():
        asks = not trusted and any(loaded_code(section.values, project.file.folder, section.values))
        closed = closed or asks
        lines.append(f"{name}{' [requires trust]' if asks else ''}: {section_words(section)}")
    words = " What requires trust runs only after the user has called `viva trust` in a terminal." if closed else ""
    return answer(f"{project.file.path}.{words}", "\n".join(lines))


@tells_errors
def list_cases(path: str = ".", offset: int = 0) -> str:
    """List the cases at or below a folder: name, number of points, tags, and what an exam requires.

    Args:
        path: A folder or file below the working folder.
        offset: Where to go on, as the answer before said.
    """
    lines = list(islice(_case_lines(Path(below(path))), MOST_CASES + 1))
    more = f" Only the first {MOST_CASES:,} are listed; name a folder below." if len(lines) > MOST_CASES else ""
    found = counted(min(len(lines), MOST_CASES), "case or family", "cases and families")
    where = f"At or below {one_line(path, 300)}: {found}.{more}"
    return answer(f"{where} Bundled cases: {', '.join(bundled())}.", "\n".join(lines[:MOST_CASES]), offset)


def _case_lines(path: Path) -> Iterator[str]:
    for folder in filter(is_below, find_cases(path)):
        try:
            cases = load_cases(folder)
        except CaseError as error:
            yield f"{folder}: {counted(len(error.mistakes), 'mistake')}; call check_cases"
            continue
        for (file, entry), members in groupby(cases, key=lambda case: (case.file, case.entry)):
            case, *others = members
            rows = f"{counted(1 + len(others), 'row')}, " if case.row else ""
            tags = f", tags {', '.join(case.tags)}" if case.tags else ""
            points = counted(len(case.scoring_points), "point")
            where = f"{file}#{entry}" if entry else str(file)
            yield one_line(f"{where}: {rows}{points}{tags}. {requirements(case)}", 600)


@tells_errors
def check_cases(path: str, offset: int = 0) -> str:
    """Check every case at or below a path, as `viva cases check` does: mistakes with file and line, then valid cases.

    Args:
        path: A folder or file below the working folder, FILE#NAME for one of several cases, or a bundled case.
        offset: Where to go on, as the answer before said.
    """
    found = FoundCases() if path in bundled() else FoundCases(reads=is_below)
    found.look_at(case_below(path))
    wrong = sum(len(each.mistakes) for each in found.wrong)
    head = f"{counted(wrong, 'mistake')}, {counted(len(found.valid), 'valid case')}."
    return answer(head, "\n".join((*mistake_lines(found), *valid_lines(found))), offset)


@tells_errors
def list_journals(offset: int = 0) -> str:
    """List the journals below runs/, the newest first: what made them, how many runs were planned, who is at work.

    Args:
        offset: Where to go on, as the answer before said.
    """
    found = [(file.stat().st_mtime, file.parent) for file in RUNS.glob(f"*/{FILE}")]
    folders = [folder for _, folder in sorted(found, reverse=True)]
    shown = [_journal_line(folder) for folder in folders[:MOST_JOURNALS]]
    newest = f", the newest {MOST_JOURNALS} of them:" if len(folders) > MOST_JOURNALS else ""
    return answer(f"{counted(len(folders), 'journal')} below {RUNS}/{newest}", "\n".join(shown), offset)


def _journal_line(folder: Path) -> str:
    try:
        request = load_request(folder)
    except SetupError:
        request = None
    what = "made by " + ("an unknown command" if request is None else f"viva {request.command}")
    named = request.from_file.suite if isinstance(request, SuiteRequest) and request.from_file else ""
    planned = f", {counted(request.planned, 'planned run')}" if request is not None and request.planned else ""
    work = ", at work" if holder(folder) is not None else ""
    return one_line(f"{folder}: {what}{f' {named}' if named else ''}{planned}{work}", 400)
