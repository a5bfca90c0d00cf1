"""Asks git which files differ from a commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from viva.errors import SetupError
from viva.records.text import one_line

SECONDS = 60.0
# A repository's own settings must not start programs.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


def changed_files(reference: str) -> frozenset[str]:
    """Return the real paths of the files of this repository that differ from a commit, untracked ones included.

    Raises:
        SetupError: there is no git, no repository here, or no such commit.
    """
    top = _git(["rev-parse", "--show-toplevel"], "this folder is in no git repository").rstrip("\n")
    unknown = f"there is neither a journal nor a commit {one_line(reference, 80)!r}"
    commit = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}"], unknown).strip()
    # Added, removed and renamed files have changed, too; a renamed one by both of its names.
    differ = _git(["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", commit, "--"], unknown, top)
    others = _git(["ls-files", "--others", "--exclude-standard", "-z"], unknown, top)
    names = [name for name in (differ + others).split("\0") if name]
    return frozenset(os.path.realpath(Path(top, name)) for name in names)


def _git(arguments: Sequence[str], otherwise: str, folder: str | None = None) -> str:
    try:
        done = subprocess.run(
            [*_GIT, *arguments],
            cwd=folder,
            capture_output=True,
            timeout=SECONDS,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except FileNotFoundError:
        raise SetupError("--changed-since requires git for a commit, or the folder of a journal.") from None
    except subprocess.TimeoutExpired:
        raise SetupError(f"--changed-since: git gave no answer within {SECONDS:g} s.") from None
    if done.returncode:
        said = one_line(done.stderr, 200)
        raise SetupError(f"--changed-since: {otherwise}{f' ({said})' if said else ''}.")
    return done.stdout
