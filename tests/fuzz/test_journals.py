"""Journals that were damaged, forged or booby-trapped: no traceback, no stray write, no better score, no holes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from tests.fuzz import mutations
from tests.fuzz.mutations import as_json, changed, damaged, fuzzing
from tests.fuzz.originals import MOST_GROWTH, Original, make_original, peak_memory, said, write_files
from tests.journals import resealed
from viva.journal.errors import JournalError
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import FILE
from viva.records.run_record import Outcome

LIMIT = 1e-9
READING = (
    ("report", "j"),
    ("report", "j", "--format", "json"),
    ("report", "j", "--format", "junit"),
    ("report", "j", "--format", "csv"),
    ("report", "j", "--format", "markdown"),
    ("replay", "j"),
    ("replay", "j", "--json"),
    ("compare", "j", "whole"),
    ("compare", "j"),
)
"""Commands that write nothing."""
WRITING = (
    ("report", "j", "--format", "html", "--out", "out.html"),
    ("judge", "j", "--evaluators", "strict.py:Strict", "--out", "out", "--json"),
    ("judge", "j", "--evaluators", "strict.py:Strict", "--out", "out", "--json"),
    ("judge", "j", "--judge", "code", "--sandbox", "process", "--out", "out", "--json"),
    ("replay", "j", "--against", "example:careful", "--sandbox", "process", "--out", "out", "--json"),
    ("suite", "--resume", "j", "--json"),
    ("suite", "--resume", "j", "--retry-errors", "--json"),
)
QUICK = (*READING, *WRITING[:3])
"""Without a sandbox, whose start takes longer than all else."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    made = make_original(tmp_path_factory.mktemp("fuzz"))
    write_files(made.place / "whole", made.files)
    return made


@pytest.fixture(scope="module")
def baseline(original: Original) -> dict[str, dict[str, float]]:
    """The score of each run, by how it is judged."""
    found = {"scoring_points": _lows(original.place / "whole")}
    judged = said(
        "judge",
        "whole",
        "--evaluators",
        "strict.py:Strict",
        "--out",
        "b",
        cwd=original.place,
        allowed=(original.place,),
    )
    assert judged.code == 0, judged.errors
    found["strict"] = _lows(original.place / "b")
    assert sorted(found["strict"].values()) == [0.0, 0.75, 1.0, 1.0]
    return found


@contextlib.contextmanager
def written(original: Original, files: dict[str, bytes]) -> Iterator[Path]:
    """These files as the journal `j`; with what a command left, they are gone afterwards."""
    place = original.place
    try:
        write_files(place / "j", files)
        yield place
    finally:
        for name in ("j", "out"):
            path = place / name
            if path.is_symlink() or path.is_file():
                path.unlink()
            else:
                shutil.rmtree(path, ignore_errors=True)
        (place / "out.html").unlink(missing_ok=True)


@pytest.fixture
def bounded() -> Iterator[None]:
    before = peak_memory()
    yield
    assert peak_memory() - before < MOST_GROWTH


def _lows(folder: Path) -> dict[str, float]:
    return {
        record.id: (record.low or 0.0) if record.outcome.counts else 0.0
        for record in read_records(folder)
        if record.outcome in (Outcome.SCORED, Outcome.TARGET_ERROR)
    }


def _judged(folder: Path) -> set[str]:
    """The runs that have a record: resuming leaves them alone, whatever became of their rounds since."""
    with contextlib.suppress(JournalError):
        return {record.id for record in read_records(folder)}
    return set()


def _call(original: Original, command: tuple[str, ...]) -> None:
    place = original.place
    target = {"report": ("out.html",), "judge": ("out",), "replay": ("out",), "suite": ("j",)}.get(command[0], ())
    allowed = tuple(place / name for name in target) if "--out" in command or command[0] == "suite" else ()
    if "out.html" in command:
        # Written under a name of its own beside it, then renamed.
        allowed = (place,)
    said(*command, cwd=place, allowed=allowed)
    assert original.untouched(), "something outside of the journal changed"  # type: ignore[operator]


def _check_runs(folder: Path, baseline: dict[str, float] | None, judged_before: Collection[str] = ()) -> None:
    """No run is judged with holes, and none has a better score than before."""
    if not (folder / FILE).is_file():
        return
    with contextlib.suppress(JournalError):
        for record in read_records(folder):
            if record.outcome is Outcome.SCORED and baseline is not None:
                low = record.low if record.low is not None else record.score
                assert (low or 0.0) <= baseline.get(record.id, 0.0) + LIMIT, record.id
        for run in read_runs(folder):
            if run.id not in judged_before and run.record is not None and run.record.outcome is Outcome.SCORED:
                assert run.gap is None, f"{run.id} was judged: {run.gap}"


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(25, each=400, batches=75))
def test_damage_to_a_journal_costs_scores_and_never_earns_any(
    original: Original, baseline: dict[str, dict[str, float]], bounded: None, examples: int, batch: int
) -> None:
    names = [*sorted(original.files), *[FILE] * 8]

    @seed(batch)
    @fuzzing(examples)
    @given(st.sampled_from(names), mutations.shuffled, st.sampled_from(QUICK))
    def each(name: str, changes: list[Any], command: tuple[str, ...]) -> None:
        files = dict(original.files)
        files[name] = damaged(files[name], changes, other=original.files[FILE])
        with written(original, files) as place:
            _call(original, command)
            _check_runs(place / "out", baseline["strict"])

    each()


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(25, each=400, batches=50))
def test_a_forged_journal_reaches_nothing_outside_of_itself(
    original: Original, bounded: None, examples: int, batch: int
) -> None:
    lines = original.files[FILE].splitlines()
    others = [name for name in original.files if name.endswith(".json")]

    @seed(batch)
    @fuzzing(examples)
    @given(st.data(), mutations.forged, st.sampled_from(QUICK), st.booleans())
    def each(data: st.DataObject, changes: list[Any], command: tuple[str, ...], sealed: bool) -> None:
        files = dict(original.files)
        outside = str(original.outside)
        name = data.draw(st.sampled_from([FILE, FILE, FILE, *others]))
        if name == FILE:
            number = data.draw(st.integers(0, len(lines) - 1))
            line = as_json(changed(json.loads(lines[number]), changes, outside))
            mutated = [*lines[:number], resealed(line).rstrip(b"\n") if sealed else line, *lines[number + 1 :]]
            files[FILE] = b"\n".join(mutated) + b"\n"
        else:
            files[name] = as_json(changed(json.loads(files[name]), changes, outside))
        with written(original, files) as place:
            _call(original, command)
            _check_runs(place / "out", None)

    each()


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(15, each=400, batches=10))
def test_what_is_planted_in_a_journal_is_not_followed(
    original: Original, bounded: None, examples: int, batch: int
) -> None:
    folders = sorted({parent for name in original.files for parent in map(str, Path(name).parents) if parent != "."})
    places = [*sorted(original.files), *folders, ".lock", "out.html", "report.html", "images", "texts", "files", "x"]

    @seed(batch)
    @fuzzing(examples)
    @given(st.sampled_from(places), st.sampled_from(["link", "folder link", "fifo", "folder", "file"]), _COMMANDS)
    def each(name: str, what: str, command: tuple[str, ...]) -> None:
        with written(original, original.files) as place:
            path = place / "j" / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
            if what == "link":
                path.symlink_to(original.outside / "secret.txt")
            elif what == "folder link":
                path.symlink_to(original.outside)
            elif what == "fifo":
                os.mkfifo(path)
            elif what == "folder":
                path.mkdir()
            else:
                path.write_bytes(b"\x00")
            _call(original, command)

    each()


_COMMANDS = st.sampled_from(QUICK)


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(4, each=60, batches=20))
def test_a_damaged_journal_is_judged_by_code_and_resumed_without_gain(
    original: Original, baseline: dict[str, dict[str, float]], bounded: None, examples: int, batch: int
) -> None:
    @seed(batch)
    @fuzzing(examples)
    @given(mutations.shuffled, st.sampled_from(WRITING[3:]), st.integers(0, 2**24))
    def each(changes: list[Any], command: tuple[str, ...], end: int) -> None:
        files = dict(original.files)
        files[FILE] = damaged(files[FILE], [*changes, ("end", end, 0, b"")] if end % 2 else changes)
        with written(original, files) as place:
            before = _judged(place / "j")
            _call(original, command)
            if command[0] == "suite":
                _check_runs(place / "j", baseline["scoring_points"], before)
            else:
                _check_runs(place / "out", None if command[0] == "replay" else baseline["scoring_points"])

    each()


@pytest.fixture(scope="module")
def imported(original: Original) -> dict[str, bytes]:
    """The files of a journal of two imported recordings, one right and one wrong in the end, judged."""
    talks = [[("Say {n}.", str(n) if right or n < 4 else "none") for n in range(1, 5)] for right in (True, False)]
    lines = [
        json.dumps(
            [
                {"role": role, "content": words}
                for number, pair in enumerate(talk, 1)
                for role, words in zip(("user", "assistant"), (pair[0].format(n=number), pair[1]), strict=True)
            ]
        )
        for talk in talks
    ]
    for number, line in enumerate(lines):
        (original.place / f"talk_{number}.json").write_text(line)
    sources = ("chat:talk_0.json", "chat:talk_1.json")
    done = said(
        "trace",
        *sources,
        "--evaluators",
        "strict.py:Strict",
        "--out",
        "t",
        cwd=original.place,
        allowed=(original.place,),
    )
    assert done.code == 0, done.errors
    folder = original.place / "t"
    assert sorted(_lows(folder).values()) == [0.75, 1.0]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.parametrize(("examples", "batch"), mutations.amounts(20, each=400, batches=10))
def test_a_damaged_import_is_resumed_without_gain_and_without_holes(
    original: Original, imported: dict[str, bytes], bounded: None, examples: int, batch: int
) -> None:
    lows = _lows(original.place / "t")

    @seed(batch)
    @fuzzing(examples)
    @given(mutations.shuffled, st.integers(0, 2**24), st.sampled_from([(), ("--retry-errors",)]))
    def each(changes: list[Any], end: int, more: tuple[str, ...]) -> None:
        files = dict(imported)
        files[FILE] = damaged(files[FILE], [*changes, ("end", end, 0, b"")] if end % 2 else changes)
        with written(original, files) as place:
            before = _judged(place / "j")
            done = said("trace", "--resume", "j", "--json", *more, cwd=place, allowed=(place / "j",))
            assert original.untouched(), "something outside of the journal changed"  # type: ignore[operator]
            _check_runs(place / "j", lows, before)
            if done.code == 0:
                assert set(_lows(place / "j")) >= set(lows), "what was lost is imported again"

    each()
