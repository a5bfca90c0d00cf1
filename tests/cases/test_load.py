"""Case files: every field of TaskWeaver's format, and every mistake, all at once and each with its line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from viva.cases import Case, CaseError, load_case

SOUND = """\
version: 0.1
task_description: Ask for the sum of two numbers.
scoring_points:
  - score_point: The sum is right.
    weight: 1
"""


@dataclass(frozen=True)
class Folder:
    """A case folder in the making."""

    path: Path

    def write(self, text: str | bytes, name: str = "case.yaml") -> Path:
        file = self.path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def load(self, text: str | bytes) -> Case:
        self.write(text)
        return load_case(self.path)

    def mistakes(self, text: str | bytes) -> list[tuple[int | None, str]]:
        """Line and message of everything that is wrong with a text."""
        with pytest.raises(CaseError) as caught:
            self.load(text)
        assert str(self.path) in str(caught.value)
        return [(mistake.line, mistake.message) for mistake in caught.value.mistakes]

    def mistake(self, text: str | bytes) -> tuple[int | None, str]:
        """The only one."""
        (only,) = self.mistakes(text)
        return only


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = tmp_path / "my_case"
    folder.mkdir()
    return Folder(folder)


# Every field of TaskWeaver's format


def test_every_taskweaver_field_is_read_and_honoured(folder: Folder) -> None:
    folder.write("a,b\n", "data.csv")
    case = folder.load(
        """\
version: 0.1
config_var:
  session.roles: ["planner", "code_interpreter"]
  execution_service.kernel_mode: "local"
app_dir: ../project/
pre_command: ["python -m pip list", "echo done"]
dependencies: [pandas>=2, "scikit-learn"]
data_files:
  - data.csv
max_rounds: 7
verbose: True
task_description: |-
  The task is to ask for the mean.
  Second line: with a colon.
scoring_points:
  - score_point: The mean is 5.
    weight: 0.5
    eval_code: null
  - score_point: 'Quoted: with a colon'
    weight: 2
    eval_code: |-
      assert True
"""
    )
    assert case.name == "my_case"
    assert case.folder == folder.path
    assert case.version == "0.1"
    assert case.config_var == {
        "session.roles": ["planner", "code_interpreter"],
        "execution_service.kernel_mode": "local",
    }
    assert case.app_dir == "../project/"
    assert case.pre_command == ("python -m pip list", "echo done")
    assert case.dependencies == ("pandas>=2", "scikit-learn")
    assert case.data_files == ("data.csv",)
    assert case.max_rounds == 7
    assert case.verbose is True
    assert case.task_description == "The task is to ask for the mean.\nSecond line: with a colon."
    assert [(each.score_point, each.weight, each.eval_code) for each in case.scoring_points] == [
        ("The mean is 5.", 0.5, None),
        ("Quoted: with a colon", 2.0, "assert True"),
    ]
    assert case.max_points == 2.5


def test_a_case_without_rounds_script_or_data_loads(folder: Folder) -> None:
    case = folder.load(SOUND)
    assert (case.max_rounds, case.script, case.data_files, case.config_var) == (None, (), (), None)
    assert (case.app_dir, case.verbose, case.dependencies, case.pre_command) == (None, False, (), ())


@pytest.mark.parametrize("key", ["app_dir", "config_var", "dependencies", "data_files", "max_rounds", "pre_command"])
def test_a_field_left_empty_is_a_field_left_out(folder: Folder, key: str) -> None:
    assert folder.load(SOUND).scoring_points == folder.load(f"{SOUND}{key}:\n").scoring_points
    assert not getattr(folder.load(f"{SOUND}{key}: null\n"), key)


def test_config_var_is_handed_on_untouched(folder: Folder) -> None:
    case = folder.load(
        SOUND + 'config_var: {a.b: {1: x, "1": y, null: [true, 1.5]}, when: "2024-01-01", unknown_key: {weigth: 3}}\n'
    )
    assert case.config_var == {
        "a.b": {1: "x", "1": "y", None: [True, 1.5]},
        "when": "2024-01-01",
        "unknown_key": {"weigth": 3},
    }


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("The agent says hello", "The agent says hello"),
        ('"The agent says: hello"', "The agent says: hello"),
        ("'it''s # not a comment'", "it's # not a comment"),
        ("a plain # comment", "a plain"),
        ("|-\n      two\n      lines", "two\nlines"),
        (">-\n      folded\n      lines", "folded lines"),
        ('"42"', "42"),
        ("'yes'", "yes"),
    ],
)
def test_statements_are_read_quoted_and_unquoted(folder: Folder, written: str, read: str) -> None:
    case = folder.load(SOUND.replace("The sum is right.", written))
    assert case.scoring_points[0].score_point == read


@pytest.mark.parametrize("written", ["42", "yes", "2024-01-01", "[a]", "{a: b}", "1.5"])
def test_a_statement_that_yaml_takes_for_something_else_is_to_be_quoted(folder: Folder, written: str) -> None:
    line, message = folder.mistake(SOUND.replace("The sum is right.", written))
    assert line == 4
    assert message.startswith("score_point must be text, not ")
    assert message.endswith("put it in quotes")


def test_a_statement_with_a_bare_colon_is_said_to_need_quotes(folder: Folder) -> None:
    line, message = folder.mistake(SOUND.replace("The sum is right.", "Result: the sum is right"))
    assert line == 4
    assert "put text that holds ': ' in quotes" in message


@pytest.mark.parametrize("code", ["null", "", "~"])
def test_eval_code_null_is_no_eval_code(folder: Folder, code: str) -> None:
    assert folder.load(f"{SOUND}    eval_code: {code}\n").scoring_points[0].eval_code is None


def test_eval_code_in_return_style_is_told_to_assert(folder: Folder) -> None:
    line, message = folder.mistake(f"{SOUND}    eval_code: |-\n      x = 1\n      return x == 1\n")
    assert line == 6
    assert "'return' outside function (its line 2)" in message
    assert "so use assert" in message


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("assert (", "was never closed"),
        ('"\\0"', "null bytes"),
        ('"\\ud800"', "half a character, U+D800"),
        ("5", "must be Python code, not 5"),
        ("true", "must be Python code, not True"),
        ("[assert x]", "must be Python code, not ["),
        ('"  "', "must be Python code, not '  '"),
        ('"# later"', "checks nothing"),
        ('"' + "(" * 3000 + '"', "too many nested parentheses"),
        ('"' + "-" * 40_000 + '1"', "does not compile: it is nested too deeply"),
        ('"if x:\\n\\tassert x\\n        assert x"', "inconsistent use of tabs and spaces"),
        ('"await x"', "'await' outside function"),
    ],
)
def test_eval_code_that_cannot_run_is_a_mistake(folder: Folder, code: str, words: str) -> None:
    line, message = folder.mistake(f"{SOUND}    eval_code: {code}\n")
    assert line == 6
    assert words in message


def test_eval_code_is_compiled_not_run_and_without_warnings(folder: Folder, recwarn: pytest.WarningsRecorder) -> None:
    code = 'import pathlib; pathlib.Path("ran").write_text("x" "\\d" if 1 is 1 else "")'
    case = folder.load(f"{SOUND}    eval_code: |-\n      {code}\n")
    assert case.scoring_points[0].eval_code == code
    assert not Path("ran").exists()
    assert not recwarn.list


def test_dependencies_that_are_no_requirements_are_mistakes(folder: Folder) -> None:
    found = folder.mistakes(SOUND + "dependencies:\n  - pandas\n  - 5\n  - 'a b c'\n  - -r file.txt\n")
    assert [line for line, _ in found] == [8, 9, 10]
    assert "each entry must be text" in found[0][1]
    assert "'a b c' is not a requirement" in found[1][1]


# Numbers


@pytest.mark.parametrize(
    ("written", "value"), [("1", 1.0), ("0.25", 0.25), ("1e-3", None), ("1.0e-3", 0.001), ("1_000", 1000.0)]
)
def test_a_weight_is_any_number_above_0(folder: Folder, written: str, value: float | None) -> None:
    text = SOUND.replace("weight: 1", f"weight: {written}")
    if value is None:
        # YAML 1.1 reads a number without a dot before its exponent as text.
        assert "must be a number above 0, not '1e-3'" in folder.mistake(text)[1]
    else:
        assert folder.load(text).scoring_points[0].weight == value


BAD_NUMBERS = [
    *("0", "0.0", "-1", ".inf", "-.inf", ".nan", "9" * 400, "1.0e+300"),
    *("true", "false", '"1"', "one", "[1]", "{}"),
]


@pytest.mark.parametrize("written", BAD_NUMBERS)
def test_a_weight_that_is_no_number_above_0_is_a_mistake(folder: Folder, written: str) -> None:
    line, message = folder.mistake(SOUND.replace("weight: 1", f"weight: {written}"))
    assert (line, message[:35]) == (5, "weight must be a number above 0, no")
    assert len(message) < 120


def test_a_missing_weight_is_said_at_its_scoring_point(folder: Folder) -> None:
    assert folder.mistake(SOUND.replace("weight: 1", "weight:")) == (5, "weight must be a number above 0, not None")


@pytest.mark.parametrize("written", [*BAD_NUMBERS, "1.5", "7.0", "0x0"])
def test_max_rounds_that_is_no_whole_number_above_0_is_a_mistake(folder: Folder, written: str) -> None:
    line, message = folder.mistake(f"{SOUND}max_rounds: {written}\n")
    assert (line, message[:39]) == (6, "max_rounds must be a whole number above")


@pytest.mark.parametrize("written", BAD_NUMBERS)
def test_a_timeout_that_is_no_number_above_0_is_a_mistake(folder: Folder, written: str) -> None:
    line, message = folder.mistake(f"{SOUND}timeout: {written}\n")
    assert (line, message[:32]) == (6, "timeout must be a number above 0")


@pytest.mark.parametrize("written", ["0x" + "f" * 5000, "9" * 5000, "0b" + "1" * 20_000])
@pytest.mark.parametrize("key", ["version", "max_rounds", "config_var", "tags"])
def test_a_number_too_long_to_print_is_a_mistake(folder: Folder, key: str, written: str) -> None:
    line, message = folder.mistake(f"{SOUND}{key}: {written}\n")
    assert (line, message) == (6, "holds a number of more than 1,000 digits")


# Other fields


@pytest.mark.parametrize(("written", "read"), [("ls", ("ls",)), ("[a, b]", ("a", "b")), ("[]", ()), ("", ())])
def test_pre_command_is_one_command_or_a_list(folder: Folder, written: str, read: tuple[str, ...]) -> None:
    assert folder.load(f"{SOUND}pre_command: {written}\n").pre_command == read


@pytest.mark.parametrize("written", ["5", "{a: b}", "true", '" "'])
def test_a_pre_command_of_another_kind_is_a_mistake(folder: Folder, written: str) -> None:
    assert folder.mistake(f"{SOUND}pre_command: {written}\n")[0] == 6


@pytest.mark.parametrize(("written", "read"), [("true", True), ("yes", True), ("off", False), ("", False)])
def test_verbose_is_a_flag(folder: Folder, written: str, read: bool) -> None:
    assert folder.load(f"{SOUND}verbose: {written}\n").verbose is read


@pytest.mark.parametrize("written", ['"true"', "1", "0", "maybe"])
def test_a_verbose_of_another_kind_is_a_mistake(folder: Folder, written: str) -> None:
    line, message = folder.mistake(f"{SOUND}verbose: {written}\n")
    assert line == 6
    assert "true or false" in message


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("task_descripton", "task_description"),
        ("max_round", "max_rounds"),
        ("datafiles", "data_files"),
        ("Timeout", "timeout"),
        ("scoring-points", "scoring_points"),
    ],
)
def test_an_unknown_key_is_said_with_the_nearest(folder: Folder, key: str, near: str) -> None:
    line, message = folder.mistake(f"{SOUND}{key}: 1\n")
    assert line == 6
    assert message == f"unknown key {key!r}; did you mean {near!r}?"


def test_an_unknown_key_unlike_any_other_is_said_with_all_there_are(folder: Folder) -> None:
    line, message = folder.mistake(f"{SOUND}5: 1\n")
    assert line == 6
    assert "known here: version, task_description" in message


def test_unknown_keys_of_points_and_script_lines_are_said_with_the_nearest(folder: Folder) -> None:
    text = f"{SOUND}    weigth: 3\nscript:\n  - sya: hello\n"
    assert folder.mistakes(text)[:2] == [
        (6, "unknown key 'weigth'; did you mean 'weight'?"),
        (8, "unknown key 'sya'; did you mean 'say'?"),
    ]


def test_keys_that_stand_twice_are_said_with_the_second_line(folder: Folder) -> None:
    text = SOUND + "    weight: 2\nconfig_var:\n  a: 1\n  a: 2\nversion: 0.2\n"
    assert [(line, message[:33]) for line, message in folder.mistakes(text)] == [
        (6, "'weight' is a duplicate key; YAML"),
        (9, "'a' is a duplicate key; YAML woul"),
        (10, "'version' is a duplicate key; YAM"),
    ]


def test_every_mistake_is_said_at_once_with_its_line(folder: Folder) -> None:
    found = folder.mistakes(
        """\
version: 0.1
task_description: 5
max_round: 3
scoring_points:
  - score_point: 7
    weight: -1
    eval_code: assert (
  - 8
  - weight: 2

max_rounds: true
dependencies: ["a b"]
data_files:
  - 5
  - nowhere.csv
script:
  - for: n in 9..1
    say: "{n}"
  - if_agent_says: "("
    say: hello
tags: one
config_var: [x]
"""
    )
    assert [line for line, _ in found] == [2, 3, 5, 6, 7, 8, 9, 11, 12, 14, 15, 17, 19, 21, 22]
    assert found[0][1] == "task_description must be text, not 5; put it in quotes"
    assert found[5][1].startswith(
        "a scoring point is a statement, or has the keys score_point, weight, eval_code, check; this"
    )
    assert found[6][1] == "score_point is missing"


def test_a_file_full_of_mistakes_does_not_flood_the_terminal(folder: Folder) -> None:
    found = folder.mistakes(SOUND + "".join(f"key{number}: x\n" for number in range(5000)))
    assert len(found) == 201
    assert found[0][0] == 6
    assert found[-1] == (None, "further mistakes: 4,800")


def test_the_error_reads_as_file_line_and_message(folder: Folder) -> None:
    file = folder.write(SOUND.replace("weight: 1", "weight: 0"))
    with pytest.raises(CaseError) as caught:
        load_case(file)
    assert str(caught.value) == f"{file}:5: weight must be a number above 0, not 0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a mapping of fields"),
        ("- a list\n", "is not a mapping of fields"),
        ("only words\n", "is not a mapping of fields"),
        ("# only a comment\n", "is not a mapping of fields"),
        ("version: 1\n", "task_description is missing"),
        (SOUND.replace("Ask for the sum of two numbers.", ""), "task_description is empty"),
        (SOUND.replace("Ask for the sum of two numbers.", '"  "'), "task_description is empty"),
        ("task_description: x\nscoring_points: []\n", "at least one scoring point"),
        ("task_description: x\nscoring_points: {a: b}\n", "at least one scoring point"),
    ],
)
def test_a_file_that_is_no_case_is_said_so(folder: Folder, text: str, words: str) -> None:
    assert words in " ".join(message for _, message in folder.mistakes(text))


# Ids and hashes

POINTS = [("alpha", 1, None), ("beta: twice", 2, "assert 1"), ("alpha", 3, None), ("gamma", 1, None)]


def points(case: Case) -> dict[tuple[str, float], str]:
    return {(point.score_point, point.weight): point.id for point in case.scoring_points}


def written(folder: Folder, entries: list[tuple[str, int, str | None]]) -> Case:
    lines = [
        f"  - score_point: {statement!r}\n    weight: {weight}\n    eval_code: {code or 'null'}\n"
        for statement, weight, code in entries
    ]
    return folder.load("task_description: x\nscoring_points:\n" + "".join(lines))


def test_ids_of_points_are_their_own_and_stay_when_others_change(folder: Folder) -> None:
    first = points(written(folder, POINTS))
    assert len(set(first.values())) == len(POINTS)
    edited = points(written(folder, [("delta", 9, None), *POINTS[:3], ("gamma, edited", 1, None)]))
    for entry in POINTS[:3]:
        assert edited[entry[:2]] == first[entry[:2]]
    assert edited["gamma, edited", 1.0] not in first.values()


def test_ids_of_points_stay_when_they_are_reordered_or_reweighed(folder: Folder) -> None:
    first = {name: name_id for (name, _), name_id in points(written(folder, [POINTS[0], POINTS[1], POINTS[3]])).items()}
    moved = written(folder, [("gamma", 7, "assert 2"), ("beta:   twice", 1, None), ("alpha", 5, None)])
    assert [point.id for point in moved.scoring_points] == [first["gamma"], first["beta: twice"], first["alpha"]]


def test_ids_do_not_change_between_versions(folder: Folder) -> None:
    """Verdicts of old journals name them."""
    assert written(folder, POINTS[:1]).scoring_points[0].id == "p-8ed3f6ad"


Change = Callable[[Folder], Any]
TWO_FILES = SOUND + "data_files: [data.csv, sub]\n"
CHANGES: dict[str, Change] = {
    "the case file": lambda folder: folder.write(TWO_FILES + "# a comment\n"),
    "a data file": lambda folder: folder.write("b", "data.csv"),
    "a file in a data folder": lambda folder: folder.write("b", "sub/deep.txt"),
    "a new file in a data folder": lambda folder: folder.write("", "sub/new.txt"),
    "a file renamed in a data folder": lambda folder: (folder.path / "sub/deep.txt").rename(folder.path / "sub/x.txt"),
}


def with_data(folder: Folder) -> str:
    (folder.path / "sub").mkdir()
    folder.write("a", "data.csv")
    folder.write("a", "sub/deep.txt")
    return folder.load(TWO_FILES).hash


@pytest.mark.parametrize("change", CHANGES)
def test_the_hash_of_a_case_changes_with_everything_it_is_made_of(folder: Folder, change: str) -> None:
    before = with_data(folder)
    CHANGES[change](folder)
    assert load_case(folder.path).hash != before


def test_the_hash_of_a_case_does_not_change_with_anything_else(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    before = with_data(folder)
    folder.write("beside", "notes.txt")
    (folder.path / "data.csv").touch()
    assert load_case(folder.path).hash == before
    monkeypatch.chdir(folder.path)
    assert load_case(Path("case.yaml")).hash == before
    moved = folder.path.rename(folder.path.with_name("moved"))
    assert load_case(moved).hash == before
    assert load_case(moved).name == "moved"
