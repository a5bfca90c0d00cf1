"""Data files: only what lies in the case's folder, each under a name of its own, and never the exam's answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from viva.cases import Case, CaseError, load_case
from viva.cases.data_files import hash_case

POINT = "task_description: x\nscoring_points: [{score_point: y, weight: 1}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A case folder with some files, and one outside it."""
    folder = tmp_path / "my_case"
    (folder / "data" / "deep").mkdir(parents=True)
    (folder / "table.csv").write_text("a")
    (folder / "data" / "numbers.csv").write_text("1")
    (folder / "data" / "deep" / "table.csv").write_text("2")
    (tmp_path / "outside.txt").write_text("not the case's")
    (tmp_path / "my_case_2").mkdir()
    (tmp_path / "my_case_2" / "other.txt").write_text("not the case's")
    return folder


def load(folder: Path, *names: str) -> Case:
    lines = "".join(f"  - {name!r}\n" for name in names)
    (folder / "case.yaml").write_text(f"{POINT}data_files:\n{lines}")
    return load_case(folder)


def fault(folder: Path, *names: str) -> str:
    """The only mistake, which stands in the line of the last name."""
    with pytest.raises(CaseError) as caught:
        load(folder, *names)
    (mistake,) = caught.value.mistakes
    assert mistake.line == 3 + len(names)
    return mistake.message


@pytest.mark.parametrize("name", ["table.csv", "./table.csv", "data", "data/", "data/numbers.csv", "data/deep"])
def test_files_and_folders_inside_are_taken(folder: Path, name: str) -> None:
    assert load(folder, name).data_files == (name,)


def test_a_link_within_the_folder_is_taken_and_its_content_hashed(folder: Path) -> None:
    (folder / "link.csv").symlink_to("data/numbers.csv")
    before = load(folder, "link.csv").hash
    (folder / "data" / "numbers.csv").write_text("other")
    assert load(folder, "link.csv").hash != before


@pytest.mark.parametrize(
    "name",
    ["../outside.txt", "data/../../outside.txt", "../my_case_2/other.txt", "link.txt", "links/outside.txt", ".."],
)
def test_files_outside_the_folder_are_refused(folder: Path, name: str) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "links").symlink_to(folder.parent)
    assert fault(folder, "table.csv", name) == f"data file {name!r} lies outside the case folder"


@pytest.mark.parametrize("name", ["/etc/passwd", "{inside}"])
def test_absolute_paths_are_refused_even_into_the_folder(folder: Path, name: str) -> None:
    name = name.replace("{inside}", str(folder / "table.csv"))
    assert fault(folder, name).endswith("is an absolute path; name it relative to the case folder")


@pytest.mark.parametrize("name", [".", "./", "../my_case", "../my_case/data", "data/../table.csv"])
def test_names_that_leave_the_folder_on_their_way_are_refused(folder: Path, name: str) -> None:
    """A folder is copied to its own path in the workspace: `../my_case/data` would be written beside that."""
    assert "must be named by its path inside the case folder" in fault(folder, name)


@pytest.mark.parametrize(
    ("name", "near"), [("tabel.csv", "table.csv"), ("data/number.csv", "data/numbers.csv"), ("Data", "data")]
)
def test_a_missing_file_is_said_with_the_nearest_name(folder: Path, name: str, near: str) -> None:
    assert fault(folder, name) == f"data file {name!r} is not in the case folder; did you mean {near!r}?"


@pytest.mark.parametrize("name", ["qqqq", "no/such/folder.csv", "x" * 5000, "table.csv/below"])
def test_a_file_that_cannot_be_there_is_missing(folder: Path, name: str) -> None:
    message = fault(folder, name)
    assert "is not in the case folder" in message or "lies outside" in message
    assert len(message) < 200


def test_names_that_no_file_can_have_are_refused(folder: Path) -> None:
    (folder / "case.yaml").write_text(POINT + 'data_files: ["a\\0b", "\\0"]\n')
    with pytest.raises(CaseError) as caught:
        load_case(folder)
    assert [mistake.message.endswith("is not a possible file name") for mistake in caught.value.mistakes] == [True] * 2


def test_the_case_file_itself_is_not_given_to_the_agent(folder: Path) -> None:
    (folder / "copy.txt").symlink_to("case.yaml")
    for name in ("case.yaml", "copy.txt"):
        assert "the agent would see its own scoring points" in fault(folder, name)


def test_a_link_that_leads_nowhere_and_what_is_no_file_are_told(folder: Path) -> None:
    (folder / "dead").symlink_to("nowhere.csv")
    (folder / "round").symlink_to("round")
    os.mkfifo(folder / "pipe")
    assert fault(folder, "dead") == "data file 'dead' is a link that leads nowhere"
    assert fault(folder, "round") == "data file 'round' is a link that leads nowhere"
    assert fault(folder, "pipe") == "data file 'pipe' is neither a file nor a folder"


def test_two_files_that_would_land_on_one_name_are_refused(folder: Path) -> None:
    """TaskWeaver copies a file by its name alone, whatever folder it lies in."""
    message = fault(folder, "table.csv", "data/deep/table.csv")
    assert message == "data file 'data/deep/table.csv' would be copied over 'table.csv'"
    assert load(folder, "data", "data/numbers.csv").data_files == ("data", "data/numbers.csv")
    assert load(folder, "table.csv", "table.csv").data_files == ("table.csv", "table.csv")


def test_links_inside_a_data_folder_are_not_followed_into_the_hash(folder: Path) -> None:
    (folder / "data" / "out.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "data" / "round").symlink_to("..")
    before = load(folder, "data").hash
    (folder.parent / "outside.txt").write_text("changed")
    assert load(folder, "data").hash == before


def test_files_with_names_that_are_not_utf8_are_hashed(folder: Path) -> None:
    file = os.fsencode(folder / "data") + b"/caf\xe9.csv"
    with open(file, "w") as stream:
        stream.write("1")
    before = load(folder, "data").hash
    os.rename(file, os.fsencode(folder / "data") + b"/caf\xe8.csv")
    assert load(folder, "data").hash != before


def test_a_case_in_a_folder_whose_name_is_not_utf8_loads(folder: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(folder.parent) + b"/caf\xe9"))
    folder.rename(odd)
    assert load(odd, "data").name == "caf\udce9"


def test_data_files_that_are_not_a_list_are_a_mistake(folder: Path) -> None:
    (folder / "case.yaml").write_text(POINT + "data_files: table.csv\n")
    with pytest.raises(CaseError, match=r"case\.yaml:3: data_files must be a list, not 'table\.csv'"):
        load_case(folder)


def test_data_files_too_large_to_be_copied_for_every_exam_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("x")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 30 * 1024**3)
    with pytest.raises(OSError, match="more than 1,024 MiB"):
        hash_case(b"x", tmp_path, ("sparse",))
