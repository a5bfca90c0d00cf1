"""Stores the request of a command in its journal, and reads it back when the command is resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from viva.errors import PlanError, SetupError
from viva.exam.options import Options
from viva.journal.errors import JournalLost
from viva.journal.kept_cases import NOWHERE
from viva.journal.kept_files import why_unreadable, write_again
from viva.journal.writer import Journal
from viva.records.codec import decode, encode
from viva.records.text import one_line
from viva.suites.request import FAILED_IN, KINDS, Command, JournalsRequest, Request, SuiteRequest, journal_size
from viva.suites.resuming.signature import chosen, read_signed, refuse_unsigned, signed

FILE = "request.json"
OLDER_FILES = ("suite.json", "sources.json")
"""The names of this file in older journals."""
OLDER_NAMES = {"places": "references", "mended": "replacement"}
"""Fields by the names under which older journals hold them."""
R = TypeVar("R", bound=Request)
_MODEL_FLAGS = {name: f"--{name.replace('_', '-')}" for name in sorted(Options.may_replace())}


def holds_request(folder: Path) -> bool:
    """Return whether a folder holds a stored request: then it belongs to a command."""
    return any((folder / name).exists() for name in (FILE, *OLDER_FILES))


def save_request(request: Request, journal: Journal) -> None:
    """Store the request next to a new journal.

    Raises:
        SetupError: the folder already holds a request.
        PlanError: the request is too large to be read again.
    """
    if any(journal.holds(name) for name in (FILE, *OLDER_FILES)):
        again = f"viva {request.command} --resume {journal.folder}"
        raise SetupError(f"{journal.folder} is already in use: resume it ({again}), or name another --out.")
    content = signed(encode(request))
    if why := why_unreadable(FILE, content):
        # Before anything is run: nobody could resume it, or say what of it is missing.
        raise PlanError(
            f"what this command was asked to do {why} that Viva reads back from a journal. Divide it into several "
            "suites, or give the cases shorter names without commas."
        )
    journal.keep(FILE, content)


def store_missing(folder: Path, incomplete: str) -> None:
    """Store again what is missing of the journals that a request names, which may have been completed since.

    A request that another user signed stays as it is.

    Raises:
        JournalLost: it cannot be stored.
    """
    request = load_request(folder)
    if not isinstance(request, JournalsRequest) or request.incomplete == incomplete:
        return
    if not is_ours(folder) or not (folder / FILE).exists():
        return
    try:
        write_again(folder, FILE, signed(encode(replace(request, incomplete=incomplete))))
    except OSError as error:
        raise JournalLost(f"cannot write {folder / FILE}: {error.strerror}") from error


def load_request(folder: Path) -> Request | None:
    """Return the request that a folder holds, or None, whoever signed it; to resume it, use `request_to_resume`.

    Raises:
        SetupError: the request cannot be read.
    """
    found = _read(folder)
    return None if found is None else found[0]


def is_ours(folder: Path) -> bool:
    """Return whether a journal was made by this user, so that what it names may be run again without a word."""
    try:
        found = _read(folder)
    except SetupError:
        return False
    return found is not None and found[1]


def unreadable_words(error: SetupError) -> str:
    """Return what is not known of a journal whose request cannot be read; safe to show."""
    return f"what was planned is not known, because {one_line(str(error), 600)}"


def part_words(folder: Path) -> str:
    """Return that a journal holds only a part of what was planned, with the filters; empty if it holds all of it.

    If its request cannot be read, nobody knows: that is said, too.
    """
    try:
        request = load_request(folder)
    except SetupError as error:
        return unreadable_words(error)
    return request.part_words if isinstance(request, SuiteRequest | JournalsRequest) else ""


def selection_words(folder: Path, run: str | None = None) -> list[str]:
    """Return what a comparison must say of runs that are a part of something; nothing if they are all of a suite.

    Args:
        folder: The journal's folder.
        run: The id of the only run that is used; None for all.
    """
    words = [f"only the run {one_line(run, 100)}"] if run is not None else []
    if part := part_words(folder):
        words.append(part)
        if FAILED_IN in part:
            words.append("cases that were chosen because they failed do better the next time by chance alone")
    return words


def was_chosen_by_results(folder: Path) -> bool:
    """Return whether a journal holds only runs that were chosen by their own results.

    If its request cannot be read, that is not known, and `work_left` says so to each gate.
    """
    try:
        request = load_request(folder)
    except SetupError:
        return False
    return isinstance(request, JournalsRequest) and request.only_by_results


def request_to_resume(folder: Path, kind: type[R], command: Command, *, trusted: bool = False) -> R:
    """Return the request that a command resumes.

    Args:
        folder: The journal's folder.
        kind: The class of the command's requests.
        command: The command. `suite` also resumes a journal of `run`.
        trusted: Whether the user permits resuming a request without the user's signature.

    Raises:
        SetupError: the folder holds no request of this command, the request does not have the user's signature, or a
            journal that it names has changed since.
    """
    found = _read(folder)
    if found is None:
        raise SetupError(f"{folder} was not made by viva {command}: it has no {FILE}.")
    request, ours, name = found
    if not isinstance(request, kind) or command not in (request.command, "suite"):
        made = f"{folder} was not made by viva {command}, but by viva {request.command}"
        raise SetupError(f"{made}. To resume it: viva {request.command} --resume {folder}")
    if not ours and not trusted:
        options = dict(chosen(request.options))
        refuse_unsigned(folder, name, {**request.what_runs(), **options, "in the folder": request.folder or "."})
    if isinstance(request, JournalsRequest):
        for (journal, _), size in zip(request.journals, request.sizes, strict=False):
            if journal_size(journal) != size:
                raise SetupError(f"the journal {journal} has changed since {folder} was started; start a new one.")
    return request


def with_changes(request: R, changes: Mapping[str, Any]) -> R:
    """Return a request with other values of options that may change when it is resumed.

    Raises:
        SetupError: a model is to be added where none was named, or left out, so that others would examine or judge the
            other runs.
    """
    options = request.options
    for name in changes.keys() & Options.may_replace():
        if not changes[name]:
            raise SetupError(f"{_MODEL_FLAGS[name]} requires the name of a model; without it, the stored one is used.")
        roles = name in ("examiner_model", "judge_model") and options.model
        if not (getattr(options, name) or roles):
            named = [flag for each, flag in _MODEL_FLAGS.items() if getattr(options, each)]
            instead = (
                f"It was started with {' and '.join(named)}, which can be replaced" if named else "Start a new one"
            )
            raise SetupError(f"{_MODEL_FLAGS[name]} cannot be added when work is resumed. {instead}.")
    return replace(request, options=replace(options, **changes))


def refuse_other_request(folder: Path, stored: Request, asked: Request) -> None:
    """Check that a repeated call asks for what a folder holds, except for options that may change.

    Raises:
        SetupError: the requests differ.
    """
    before, now = stored.parts(), asked.parts()
    differ = [name for name in before if before[name] != now[name]]
    if options := stored.options.differences(asked.options):
        differ.append(f"options ({', '.join(options)})")
    if differ:
        raise SetupError(
            f"{folder} was started by a different call: it differs in {', '.join(differ)}. Pass another out."
        )


def _read(folder: Path) -> tuple[Request, bool, str] | None:
    """Return the request, whether it has the user's signature, and the name of its file."""
    for name in (FILE, *OLDER_FILES):
        try:
            data, ours = read_signed(folder, name)
            return _decoded(data), ours, name
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise SetupError(f"{folder / name} cannot be read: {error}") from error
    return None


def _decoded(data: dict[str, Any]) -> Request:
    """Build a request from its JSON, that of an older journal, too: the request of a suite named no command there."""
    data = {OLDER_NAMES.get(name, name): value for name, value in data.items()}
    command = data.setdefault("command", "run" if data.get("single") else "suite")
    kind = KINDS.get(command) if isinstance(command, str) else None
    if kind is None:
        raise ValueError(f"it names no command of Viva: {command!r:.80}")
    request = decode(kind, data)
    if isinstance(request, JournalsRequest) and request.replacement is not None:
        # The files that the case requires were copied when the command started.
        return replace(request, replacement=replace(request.replacement, data_folder=NOWHERE))
    return request
