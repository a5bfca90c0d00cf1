"""An export is written whole or not at all, over nothing that is somebody else's, in parts of a limited size."""

from __future__ import annotations

import ast
import base64
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.viva.conftest import Desk
from tests.viva.reports.made import HOSTILE, keep_image, png, write_run
from viva.errors import SetupError
from viva.exam.kept_workspaces import workspace_name
from viva.journal.writer import Journal
from viva.records.run_record import Setting
from viva.records.transcript import Round
from viva.viewer.bundle import bundle
from viva.viewer.export import parts
from viva.viewer.export.exporting import Export, write_export
from viva.viewer.export.parts import MOST_BYTES, PartWriter
from viva.viewer.watched import WatchedJournal


def exported(target: Path, *folders: Path) -> Export:
    journals = [WatchedJournal(folder) for folder in folders]
    for journal in journals:
        journal.follow()
    return write_export(journals, target)


def entries(folder: Path, kind: str) -> list[str]:
    """The texts of all entries, as a browser's script has them."""
    found: list[str] = []
    goes_on = False
    for number in range(len(list(folder.glob(f"{kind}-*.js")))):
        script = (folder / f"{kind}-{number}.js").read_text(encoding="utf-8")
        match = re.fullmatch(rf"vivaPart\('{kind}-{number}', (\[.*\]), (true|false)\);\n", script, re.DOTALL)
        assert match is not None
        here = ast.literal_eval(match[1])  # such a text means the same in Python
        if goes_on:
            found[-1] += here.pop(0)
        found += here
        goes_on = match[2] == "true"
    assert not goes_on
    return found


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A run with a picture and files of its agent, one of which is a link out of the workspace."""
    folder = tmp_path / "journal"
    with Journal(folder) as written:
        workspace = workspace_name("run-1")
        written.append("setting", "run-1", 1, Setting(case="c", agent="a", workspace=workspace))
        written.append("round", "run-1", 1, Round(1, "q", "a", images=(keep_image(folder, png()),)))
    left = folder / workspace
    left.mkdir(parents=True)
    (left / "page.html").write_text("<script>alert(1)</script>")
    (tmp_path / "secret.txt").write_text("secret")
    (left / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


@settings(max_examples=examples(40))
@given(texts=st.lists(st.one_of(st.text(max_size=30), st.sampled_from(HOSTILE)), max_size=8), most=st.integers(60, 400))
def test_entries_of_any_text_and_size_come_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], most: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "MOST_BYTES", most)
        patch.setattr(parts, "_PIECE", 7)
        writer = PartWriter(folder, "p")
        for text in texts:
            writer.add(text)
        writer.close()
    assert [json.loads(each) for each in entries(folder, "p")] == [
        text.encode("utf-8", "replace").decode() for text in texts
    ]
    for file in folder.iterdir():
        assert b"<" not in file.read_bytes()
        assert file.stat().st_size < most + 120


def test_no_file_is_larger_than_two_megabytes(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        write_run(journal, "long", said=[f"{number} {'é' * 4000}" for number in range(700)])
        write_run(journal, "reasons", reason="<&'\\\n" * 4000, hits=(False,) * 60)
    left = tmp_path / "j" / workspace_name("run-9")
    with Journal(tmp_path / "j") as journal:
        journal.append("setting", "run-9", 1, Setting(case="c", agent="a", workspace=workspace_name("run-9")))
    left.mkdir(parents=True)
    (left / "big.bin").write_bytes(os.urandom(3_000_000))
    made = exported(tmp_path / "out", tmp_path / "j")
    assert (made.runs, made.rounds) == (3, 703)
    sizes = {file.name: file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert max(sizes.values()) < 2_000_000
    assert sum(size > MOST_BYTES // 2 for size in sizes.values()) >= 3
    assert base64.b64encode((left / "big.bin").read_bytes()).decode() in entries(tmp_path / "out" / "data", "talk0")


def test_files_of_the_agent_are_text_in_parts_and_nothing_outside_is_there(journal: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    exported(out, journal)
    names = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    (picture,) = (name for name in names if name.startswith("images/"))
    assert (out / picture).read_bytes() == png()
    assert {Path(name).suffix for name in names} == {".js", ".css", ".html", ".json", ".png"}
    assert not any(file.is_symlink() for file in out.rglob("*"))
    assert base64.b64encode(b"<script>alert(1)</script>").decode() in entries(out / "data", "talk0")
    assert base64.b64encode(b"secret").decode() not in entries(out / "data", "talk0")


def test_a_file_that_is_too_large_is_left_out_and_counted(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viva.viewer.export.exporting.MOST_FILE", 10)
    assert exported(tmp_path / "out", journal).left_out == 1


def test_a_folder_with_other_files_is_refused_and_an_earlier_export_replaced(journal: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(SetupError, match="is not empty, and is no earlier export"):
        exported(out, journal)
    (out / "mine.txt").unlink()
    exported(out, journal)
    (out / "data" / "old.js").touch()
    exported(out, journal)
    assert not (out / "data" / "old.js").exists()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(SetupError, match=r"also 'mine\.txt'"):
        exported(out, journal)
    assert (out / "mine.txt").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "journal", "secret.txt"}


def test_an_export_that_fails_leaves_the_earlier_one(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    exported(out, journal)
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    monkeypatch.setattr("viva.viewer.export.exporting._write_page", lambda _: (out / "none" / "x").touch())
    with pytest.raises(SetupError, match=r"out cannot be written: .*No such file"):
        exported(out, journal)
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"out", "journal", "secret.txt"}


def test_an_export_is_not_put_into_a_journal(journal: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(journal)
    for target in (journal / "out", journal, tmp_path / "link" / "out"):
        with pytest.raises(SetupError, match="is in the journal"):
            exported(target, journal)
    with pytest.raises(SetupError, match="is a file"):
        exported(journal.parent / "secret.txt", journal)


def test_the_command_says_what_was_written_and_starts_no_server(desk: Desk, journal: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    done = desk.viva("view", str(journal), "--export", str(out))
    assert done.stdout == f"{out}/index.html: 1 run and 1 round written\n"
    done = desk.viva("view", str(journal), "--export", str(out), "--labels", "l.jsonl", expect=2)
    assert "--export starts no server" in done.stderr


def test_a_module_of_another_form_is_refused() -> None:
    modules = {"a.js": 'import { b } from "./b.js";\nb();', "b.js": "export const b = () => 1;"}
    assert 'modules["b.js"]' in bundle("a.js", modules.__getitem__)
    for wrong in ('import b from "./b.js";', "export default 1;", 'import("./b.js");', 'export { b } from "./b.js";'):
        with pytest.raises(ValueError, match="of another form"):
            bundle("a.js", {"a.js": wrong}.__getitem__)
    with pytest.raises(ValueError, match="imports itself"):
        bundle("a.js", {"a.js": 'import { a } from "./a.js";'}.__getitem__)
