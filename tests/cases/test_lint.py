"""What loads and is probably not meant is found, with its line; what may be meant is a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.cases import BUNDLED, LintFinding, bundled, lint_case, load_case, load_cases
from viva.sandbox.inside.conversation import message_classes, names

CASE = """\
task_description: x
scoring_points:
  - score_point: y
    weight: 1
    eval_code: |-
{code}
script:
{script}
"""


def lint(folder: Path, code: str = "assert chat_history", script: str = "  - Hello.") -> list[LintFinding]:
    indented = "\n".join(f"      {line}" for line in code.split("\n"))
    (folder / "case.yaml").write_text(CASE.format(code=indented, script=script))
    return lint_case(load_case(folder))


@pytest.mark.parametrize("name", bundled())
def test_the_bundled_cases_have_no_findings(name: str) -> None:
    assert [finding for case in load_cases(BUNDLED / name) for finding in lint_case(case)] == []


def test_the_names_that_a_check_may_use_are_those_that_the_sandbox_defines() -> None:
    from viva.cases.check_names import CHECK_NAMES

    assert set(CHECK_NAMES) == set(names({"chat_history": [], "rounds": []}, message_classes()))


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("x = 1\nassert chat_histroy", 7, "uses 'chat_histroy', which is not defined; did you mean 'chat_history'?"),
        ("total = 1\n\nassert totl == 1", 8, "uses 'totl', which is not defined; did you mean 'total'?"),
        ("import os\nassert re.match('a', 'a')", 7, "uses 're', which is not defined"),
        ("def f():\n    print(x)\n    x = 1\n    return x\nf()", 7, "uses 'x'"),
        ("assert (rounds, 'there are none')", 6, "asserts a tuple, which is always true"),
        ("if (rounds == [], 'x'):\n    raise AssertionError", 6, "an 'if' on a tuple, which is always true"),
    ],
)
def test_code_that_cannot_work_is_found_in_its_line(tmp_path: Path, code: str, line: int, words: str) -> None:
    [finding] = lint(tmp_path, code)
    assert finding.line == line
    assert finding.certain
    assert words in finding.message


@pytest.mark.parametrize(
    "code",
    [
        "last = chat_history[-1]\nassert isinstance(last, HumanMessage) and AIMessage and SystemMessage and rounds",
        "with open('eval_chat_history.json') as f:\n    assert load(json.load(f))[:-1]",
        "from langchain.load import load\nimport json\nassert load and json",
        "from x import *\nassert answer() == 42",  # the task of this case is `x`
        "try:\n    unknown\nexcept NameError:\n    assert rounds",
        "import os\nassert os.path.exists('a') or __name__",
        "for i in range(3):\n    pass\nassert i == 2",
        "assert nope\n" * 20_000,  # too long to be analyzed
    ],
)
def test_code_that_may_work_is_not_complained_about(tmp_path: Path, code: str) -> None:
    assert lint(tmp_path, code) == []


def test_code_that_is_not_in_a_block_is_found_where_it_begins(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(
        "task_description: x\nscoring_points:\n"
        "- {score_point: y, weight: 1,\n   eval_code: 'assert 1;\n\n\n assert nope'}\n"
    )
    assert [(each.line, "'nope'" in each.message) for each in lint_case(load_case(tmp_path))] == [(4, True)]


@pytest.mark.parametrize(
    ("script", "line", "certain", "words"),
    [
        ("  - Say {n}.", 8, True, "{n} is not replaced: this message has no 'for: n in 1..5'"),
        ("  - Hello.\n  - for: x in 1..3\n    say: Say {y}.", 10, True, "'for' counts 'x'; write {x}"),
        ("  - for: number in 1..3\n    say: Say {number}.\n  - Stop at {number}.", 10, True, "{number} is not"),
        ("  - What is x^{n}?", 8, False, "{n} is not replaced"),
        ("  - What is \\frac{a}?", 8, False, "{a} is not replaced"),
        ("  - Fill in {first_name}.", 8, False, "{first_name} is not replaced"),
        ("  - for: x in 1..3\n    say: Put {x} into {name}.", 9, False, "{name} is not replaced"),
    ],
)
def test_a_placeholder_that_nothing_replaces_is_found(
    tmp_path: Path, script: str, line: int, certain: bool, words: str
) -> None:
    [finding] = lint(tmp_path, script=script)
    assert (finding.line, finding.certain) == (line, certain)
    assert words in finding.message


@pytest.mark.parametrize(
    "script",
    [
        "  - for: n in 1..50\n    say: Say {n} and {n}.",
        "  - for: n in 1..50\n    say: Again.",
        "  - 'Answer with {\"a\": 1} or {} or {{n}} or {1} or { n }.'",
    ],
)
def test_other_braces_are_not_complained_about(tmp_path: Path, script: str) -> None:
    assert lint(tmp_path, script=script) == []
