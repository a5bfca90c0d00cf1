"""Cases in a journal: each as it was when its exam was held, kept under its hash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adapters.errors import SetupError
from cases import Case
from records.codec import decode, encode, loads
from records.journal import JournalWriter
from records.kept_files import case_name, read_kept


def stored_case(folder: Path, name: str, digest: str) -> Case:
    """The case of a stored run as it was then, under the run's own name: cases of the same content share one file.

    Its scoring points may have changed on disk since.

    Args:
        folder: The run's journal.
        name: The case's.
        digest: Its hash, as the run's setting has it.

    Raises:
        SetupError: the journal does not hold it.
    """
    try:
        file = case_name(digest)
    except ValueError:
        raise SetupError(f"a run in {folder} names no case: {digest[:80]!r}") from None
    content = read_kept(folder, file)
    if content is None:
        raise SetupError(f"the case {name!r} cannot be read: there is no plain file {folder / file}")
    try:
        case = decode(Case, loads(content))
    except (ValueError, RecursionError) as error:
        raise SetupError(f"the case {name!r} cannot be read from {folder / file}: {error}") from error
    if case.hash != digest:
        raise SetupError(f"{folder / file} holds another case than the one that its name says.")
    return replace(case, name=name or case.name)


def keep_case(case: Case, journal: JournalWriter) -> None:
    """Keep a case in a journal, under its hash.

    Raises:
        JournalError: the disk did not take it.
    """
    if not journal.holds(name := case_name(case.hash)):
        journal.keep(name, encode(case))
