"""Finding cases: by path, by a bundled case's name, or all below a folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from viva.cases import BUNDLED, CaseError, Skipped, bundled, find_case, find_cases, load_case, load_cases
from viva.cases.find import looks_like_a_case

SOUND = "task_description: x\nscoring_points: [{score_point: y, weight: 1}]\n"


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "case.yaml").write_text(SOUND)
    return folder


def test_the_bundled_cases_are_those_of_the_readme() -> None:
    names = ["echo", "mean_of_a_column", "repeat_words", "same_number_in_two_files", "sum_1_to_50", "weather_asks_back"]
    assert set(names) <= set(bundled())
    assert bundled() == sorted(bundled())


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_case_loads_and_needs_no_model(name: str) -> None:
    for case in load_cases(find_case(name)):
        assert case.name.partition("[")[0] == name
        assert case.script
        assert all(point.is_checked for point in case.scoring_points)
        assert len({point.id for point in case.scoring_points}) == len(case.scoring_points)


def test_the_sum_has_the_published_weights_and_fifty_messages() -> None:
    case = load_case(find_case("sum_1_to_50"))
    assert [point.weight for point in case.scoring_points] == [1, 2, 3, 4, 5]
    assert case.max_rounds == 50
    assert len([message for line in case.script for message in line.messages()]) == 50


@pytest.mark.parametrize(
    ("name", "near"),
    [("sum_1_to_5", "sum_1_to_50"), ("Echo", "echo"), ("weather", "weather_asks_back"), ("my_cases", "my_case")],
)
def test_an_unknown_name_is_said_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    make(tmp_path / "my_case")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CaseError, match=f"there is no such case. Did you mean '{near}'?"):
        find_case(name)


@pytest.mark.parametrize("name", ["qqqqqqq", "x" * 5000, "a\0b", "no/such/place", "\ud800"])
def test_a_name_like_no_other_is_said_with_all_there_are(name: str) -> None:
    with pytest.raises(CaseError, match=r"there is no such case. Bundled: .*echo.*A path to a case folder works too"):
        find_case(name)


def test_a_folder_or_file_of_ones_own_goes_before_a_bundled_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_case("echo") == BUNDLED / "echo"
    (tmp_path / "echo").mkdir()
    assert find_case("echo") == BUNDLED / "echo"
    (tmp_path / "echo" / "mine.yml").write_text(SOUND)
    assert find_case("echo") == Path("echo")
    assert find_case("echo/mine.yml") == Path("echo/mine.yml")


def test_a_file_that_is_no_case_does_not_hide_a_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "echo").write_text("#!/bin/sh\n")
    assert find_case("echo") == BUNDLED / "echo"


def test_a_folder_without_a_case_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="holds no YAML file; a case is a folder with exactly one"):
        find_case(str(tmp_path))


def test_cases_are_found_below_a_folder_in_the_order_of_their_names(tmp_path: Path) -> None:
    expected = [make(tmp_path / name) for name in ("a", "b/2", "b/10", "c")]
    make(tmp_path / ".hidden" / "x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    make(tmp_path / "a" / "data_of_a")
    assert sorted(find_cases(tmp_path)) == sorted(expected)
    assert list(find_cases(tmp_path)) == [tmp_path / name for name in ("a", "b/10", "b/2", "c")]
    assert list(find_cases(tmp_path / "c")) == [tmp_path / "c"]
    assert list(find_cases(tmp_path / "c" / "case.yaml")) == [tmp_path / "c" / "case.yaml"]
    assert list(find_cases(tmp_path / "empty")) == []


def test_links_lead_to_each_case_once_and_never_round_in_circles(tmp_path: Path) -> None:
    make(tmp_path / "suite" / "a")
    make(tmp_path / "elsewhere" / "b")
    (tmp_path / "suite" / "circle").symlink_to(".")
    (tmp_path / "suite" / "up").symlink_to("..")
    (tmp_path / "suite" / "again").symlink_to("a")
    (tmp_path / "suite" / "linked").symlink_to(tmp_path / "elsewhere" / "b")
    found = [load_case(path).folder.resolve().name for path in find_cases(tmp_path / "suite")]
    assert sorted(found) == ["a", "b"]


def test_a_path_that_is_not_there_is_a_case_error(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path / ("x" * 5000)):
        with pytest.raises(CaseError, match="there is no such folder"):
            list(find_cases(path))


@pytest.mark.parametrize(
    ("text", "is_case"),
    [
        ("task_description: x\n", True),
        ("version: 1\nscoring_points : []\n", True),
        ('"task_description": x\n', True),
        ("'scoring_points': []\n", True),
        ("\ufefftask_description: x\n", True),
        ('{"task_description": "x"}', True),
        ("# task_description: is what a case has\nmodel: x\n", False),
        ("notes:\n  task_description: of something else\n", False),
        ("my_task_description: x\n", False),
    ],
)
def test_a_case_is_known_by_a_key_of_its_own(tmp_path: Path, text: str, is_case: bool) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(text, encoding="utf-8")
    assert looks_like_a_case(file) is is_case


def test_yaml_files_of_other_things_are_no_cases_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "judge.yaml").write_text("provider: some.Client\nconfig: {}\n")
    case = tmp_path / "exam"
    case.mkdir()
    (case / "case.yaml").write_text("task_descriptoin: typo\nscoring_points: []\n")
    assert list(find_cases(tmp_path)) == [case]


@pytest.mark.parametrize(
    "text",
    [
        "task_descripton: x\nscoring_point: []\n",
        "task-description: x\nscoring-points: []\n",
        "taskDescription: x\n",
        "version: 1\nscore_points: []\n",
        "  task_descripton: x\n  scoring_point: []\n",
        "{\n  'task_descriptoin': x}\n",
    ],
)
def test_a_case_with_both_required_keys_misspelt_is_still_a_case(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "exam"
    folder.mkdir()
    (folder / "case.yaml").write_text(text)
    assert list(find_cases(tmp_path)) == [folder]
    with pytest.raises(CaseError, match="unknown key"):
        load_case(folder)


@pytest.mark.parametrize(
    "text", ["description: of a model\n", "task: x\npoints: []\n", "- a\n- b\n", "", "jobs:\n  x: y\n"]
)
def test_a_folder_with_one_other_yaml_file_is_named_as_skipped(tmp_path: Path, text: str) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "some.yaml").write_text(text)
    case = make(tmp_path / "other" / "below")
    skipped: list[Skipped] = []
    assert list(find_cases(tmp_path, skipped)) == [case]
    assert [each.folder for each in skipped] == [tmp_path / "other"]
    assert "some.yaml has neither task_description nor scoring_points" in str(skipped[0])
    assert all(key in skipped[0].reason for key in ("task", "points") if text.startswith("task:"))


def test_folders_that_hold_several_other_yaml_files_or_cannot_be_read_are_named_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("several", "locked", "plain"):
        (tmp_path / name).mkdir()
    for name in ("a.yaml", "b.yml"):
        (tmp_path / "several" / name).write_text("x: y\n")
    (tmp_path / "plain" / "notes.txt").write_text("nothing about a case")
    real = os.scandir

    def scan(path: str | Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scan)
    skipped: list[Skipped] = []
    assert list(find_cases(tmp_path, skipped)) == []
    assert [(each.folder.name, each.reason) for each in skipped] == [
        ("locked", "it cannot be read: Permission denied"),
        ("several", "none of its 2 YAML files has task_description or scoring_points"),
    ]


def test_the_ending_of_a_case_file_may_be_in_capitals(tmp_path: Path) -> None:
    make(tmp_path / "a")
    (tmp_path / "a" / "case.yaml").rename(tmp_path / "a" / "CASE.YML")
    assert list(find_cases(tmp_path)) == [tmp_path / "a"]
    assert load_case(tmp_path / "a").task_description == "x"


@pytest.mark.parametrize("text", ["a" + " " * 1_000_000, "{" + " " * 1_000_000, " " * 1_000_000, "k" * 1_000_000])
def test_no_file_makes_the_search_for_keys_slow(tmp_path: Path, text: str) -> None:
    """With a search that looks at each blank twice over, this would take minutes."""
    file = tmp_path / "some.yaml"
    file.write_text(text)
    assert not looks_like_a_case(file)
