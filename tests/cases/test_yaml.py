"""The file itself: one YAML file in UTF-8, of sensible size, that makes nothing but plain data."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.cases import Case, CaseError, load_case
from viva.cases.field_readers import case_keys
from viva.cases.yaml import lines
from viva.cases.yaml.lines import MAX_BYTES, read_yaml
from viva.records.codec import decode, encode, loads

SOUND = "task_description: x\nscoring_points: [{score_point: y, weight: 1}]\n"


def mistake(folder: Path, content: str | bytes) -> tuple[int | None, str]:
    """Line and message of the only mistake."""
    file = folder / "case.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CaseError) as caught:
        load_case(folder)
    (only,) = caught.value.mistakes
    return only.line, only.message


def test_a_folder_has_exactly_one_yaml_file(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="holds no YAML file; a case is a folder with exactly one"):
        load_case(tmp_path)
    (tmp_path / "any_name.yml").write_text(SOUND)
    assert load_case(tmp_path).file == tmp_path / "any_name.yml"
    (tmp_path / ".hidden.yaml").write_text("for an editor")
    (tmp_path / "folder.yaml").mkdir()
    assert load_case(tmp_path).file == tmp_path / "any_name.yml"
    (tmp_path / "b.yaml").write_text(SOUND)
    with pytest.raises(CaseError, match=r"holds 2 YAML files \(any_name\.yml, b\.yaml\)"):
        load_case(tmp_path)
    assert load_case(tmp_path / "b.yaml").file == tmp_path / "b.yaml"


def test_a_path_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path / ("x" * 5000), tmp_path / "a\0b"):
        with pytest.raises(CaseError, match="there is no such case folder or file"):
            load_case(path)


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_bytes(b"\xef\xbb\xbf" + SOUND.replace("\n", "\r\n").encode())
    assert load_case(tmp_path).task_description == "x"


def test_a_file_that_is_not_utf8_is_said_with_its_line(tmp_path: Path) -> None:
    assert mistake(tmp_path, SOUND.encode() + b"# caf\xe9\n") == (3, "is not UTF-8 text")
    assert mistake(tmp_path, SOUND.encode("utf-16")) == (1, "is not UTF-8 text")


def test_a_character_that_yaml_does_not_allow_is_said_with_its_line(tmp_path: Path) -> None:
    assert mistake(tmp_path, f"{SOUND}# \0\n") == (3, "holds a character that YAML does not allow, U+0000")
    assert mistake(tmp_path, f"{SOUND}# \x1b[2J\n") == (3, "holds a character that YAML does not allow, U+001B")


@pytest.mark.parametrize(
    "content", ["a: [1, 2\nb: 3\n", "a: 'open\n", "a:\n\t- b\n", "a: b: c\n", "---\na: 1\n---\nb: 2\n"]
)
def test_broken_yaml_is_said_with_its_line(tmp_path: Path, content: str) -> None:
    line, message = mistake(tmp_path, f"{SOUND}{content}")
    assert message.startswith("is not valid YAML: ")
    assert line is not None
    assert line >= 3


@pytest.mark.parametrize(
    "value",
    [
        '!!python/object/apply:os.system ["touch {path}"]',
        '!!python/object/new:subprocess.Popen [["touch", "{path}"]]',
        "!!python/name:os.system",
        "!!python/module:os",
        "!!python/object/apply:builtins.eval [\"open('{path}', 'w')\"]",
        "!unknown x",
    ],
)
def test_tags_make_no_python_objects(tmp_path: Path, value: str) -> None:
    path = tmp_path / "ran"
    line, message = mistake(tmp_path, f"{SOUND}config_var: {value.replace('{path}', str(path))}\n")
    assert line == 3
    assert "could not determine a constructor for the tag" in message
    assert not path.exists()


@pytest.mark.parametrize(
    "value",
    [
        "2024-99-99",
        "!!bool maybe",
        '!!float ""',
        '!!int ""',
        "!!int x",
        "!!timestamp soon",
        '"\\U00110000"',
        '"\\UFFFFFFFF"',
    ],
)
def test_a_value_that_yaml_itself_stumbles_over_is_a_mistake(tmp_path: Path, value: str) -> None:
    assert "holds a value that cannot be read" in mistake(tmp_path, f"{SOUND}config_var: {{a: {value}}}\n")[1]


@pytest.mark.parametrize(
    "value", ["&a [*a]", "{x: &a 1, y: *a}", "{x: &a 1, *a : 2}", "{x: &a {}, y: {<<: *a}}", "{? [&a 1, *a] : 2}"]
)
def test_aliases_are_refused_with_their_line(tmp_path: Path, value: str) -> None:
    line, message = mistake(tmp_path, f"{SOUND}config_var: {value}\n")
    assert line == 3
    assert message == "uses a YAML alias (*name); write the value out"


def test_a_bomb_of_aliases_does_not_grow(tmp_path: Path) -> None:
    layers = "".join(f"  b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 30))
    assert "alias" in mistake(tmp_path, f"{SOUND}config_var:\n  b0: &b0 [boom]\n{layers}")[1]


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "{a: ", "[{a: "])
@pytest.mark.parametrize("times", [60, 400, 5000])
def test_deep_nesting_is_a_mistake_not_a_crash(tmp_path: Path, opening: str, times: int) -> None:
    indent = "config_var:\n  " if opening in ("- ", "? ") else "config_var: "
    closing = "".join({"[": "]", "{": "}"}.get(each, "") for each in reversed(opening)) * times
    _, message = mistake(tmp_path, f"{SOUND}{indent}{opening * times}{closing}\n")
    assert "nested deeper than 40 levels" in message or "is not valid YAML" in message


@pytest.mark.parametrize(
    "line",
    ['tags: ["\\uD800"]', 'script: ["a\\udfffb"]', '"\\ud83d\\ude00": 1', 'config_var: {a: ["\\ud800"]}'],
)
def test_half_a_character_is_a_mistake_in_its_line_wherever_it_stands(tmp_path: Path, line: str) -> None:
    """It could be neither stored nor sent: the fault would show in the middle of an exam."""
    (tmp_path / "case.yaml").write_text(f"{SOUND}{line}\n")
    with pytest.raises(CaseError, match=rf"case\.yaml:{SOUND.count(chr(10)) + 1}: holds half a character, U\+D[8F]"):
        load_case(tmp_path)


def test_a_fault_that_is_as_long_as_the_file_is_told_in_short(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("a: !" + "x" * 1_000_000 + " 1")
    with pytest.raises(CaseError) as caught:
        load_case(tmp_path)
    assert len(str(caught.value)) < 1000


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    with file.open("wb") as stream:
        stream.truncate(50 * 1024**3)
    with pytest.raises(CaseError, match=f"is longer than {MAX_BYTES:,} bytes"):
        load_case(file)


def test_an_unreadable_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    with pytest.raises(CaseError):
        load_case(tmp_path / "loop.yaml")
    with pytest.raises(CaseError):
        load_case(Path("/proc/self/mem"))


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.dates()
    | st.datetimes()
    | st.binary(max_size=10)
    | st.sampled_from([10**400, "n in 1..3", "(", "data.csv", "..", "assert 1", "return 1", "pandas", "\x1b[2J"])
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(scalars.filter(lambda key: key == key), inner, max_size=4)
        | st.fixed_dictionaries({}, optional={"score_point": inner, "weight": inner, "eval_code": inner})
        | st.fixed_dictionaries({}, optional={"say": inner, "for": inner, "if_agent_says": inner})
    ),
    max_leaves=12,
)
mappings = st.dictionaries(st.sampled_from(case_keys(Case)), anything, max_size=8) | st.dictionaries(scalars, anything)
sound_but_one = st.builds(
    lambda key, value: {"task_description": "x", "scoring_points": [{"score_point": "y", "weight": 1}], key: value},
    st.sampled_from(case_keys(Case)),
    anything,
)


def loads_or_says_why(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "case.yaml").write_bytes(content)
        (Path(temporary) / "data.csv").write_text("1")
        case = mistakes = None
        try:
            case = load_case(Path(temporary))
        except CaseError as error:
            mistakes = error.mistakes
    if case is None:
        assert mistakes
        assert all(mistake.message for mistake in mistakes)
        lines = len(re.split("\r\n|[\n\r\x85\u2028\u2029]", content.decode("utf-8", "replace")))
        assert all(mistake.line is None or 1 <= mistake.line <= lines for mistake in mistakes)
    else:
        # What loads can be kept beside a journal, and judged by later.
        again = decode(Case, loads(encode(case)))
        assert again.scoring_points == case.scoring_points
        assert (again.name, again.hash, again.max_rounds) == (case.name, case.hash, case.max_rounds)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mappings | sound_but_one, st.booleans())
def test_any_mapping_loads_or_is_a_case_error(data: dict[Any, Any], flow: bool) -> None:
    class Plain(yaml.SafeDumper):
        """Writes shared values out, as aliases are refused."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    loads_or_says_why(
        yaml.dump(data, Dumper=Plain, allow_unicode=True, default_flow_style=flow).encode("utf-8", "replace")
    )


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=200) | st.text("[]{}&*!|>-?:,#%@`'\"\\\n ab01.", max_size=60) | st.binary(max_size=100))
@example("= ")
@example("%YAML 9.9\n---\na: b")
def test_any_text_loads_or_is_a_case_error(text: str | bytes) -> None:
    content = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    loads_or_says_why(content)
    loads_or_says_why(SOUND.encode() + b"config_var: " + content)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 10_000), st.binary(max_size=6), st.integers(0, 6))
def test_a_bundled_case_with_a_few_bytes_changed_loads_or_is_a_case_error(at: int, put: bytes, away: int) -> None:
    content = (Path(__file__).parents[2] / "cases" / "weather_asks_back" / "case.yaml").read_bytes()
    at %= len(content)
    loads_or_says_why(content[:at] + put + content[at + away :])


@pytest.mark.parametrize(
    "text",
    [
        "a: [" + "1," * 1_100 + "]",
        "\n".join(f"k{number}: 1" for number in range(600)),
        "a: {" + "b, " * 600 + "}",
        "- x\n" * 1_100,
    ],
)
def test_a_file_of_too_many_values_of_any_kind_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(lines, "MAX_VALUES", 1_000)
    file = tmp_path / "case.yaml"
    file.write_text(text)
    with pytest.raises(CaseError, match="holds more than 1,000 values"):
        read_yaml(file)


def test_a_file_of_very_many_values_is_refused_before_it_takes_long(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text("a: [" + "1," * 110_000 + "]")
    with pytest.raises(CaseError, match="holds more than 100,000 values"):
        read_yaml(file)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_a_file_that_is_nested_for_ever_is_refused_in_words(tmp_path: Path, opening: str) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(opening * (1_000_000 // len(opening)))
    with pytest.raises(CaseError, match="is nested deeper than 40 levels"):
        read_yaml(file)
