"""What can be told of a check from its source: whether it can fail, and which modules the case explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.cases import Case, ScoringPoint, check_findings
from viva.cases.check_code.conversation_types import ROUND_KEYS, PlainMessage
from viva.cases.check_code.effect import cannot_fail
from viva.cases.check_code.imports import imports_of, unexplained_imports
from viva.judge.view import run_view
from viva.records.transcript import Round, Transcript
from viva.sandbox.inside.conversation import HumanMessage

SAID = "chat_history[-1].content"
CANNOT_FAIL = [
    f'"4" in {SAID}',
    f'answer = {SAID}\nanswer == "4"',
    f'not "4" in {SAID}',
    f'"4" in {SAID} and len(rounds) > 2',
    f'for m in chat_history:\n    "4" in {SAID}',
    f'def check():\n    assert "4" in {SAID}',
    f'def check():\n    assert "4" in {SAID}\ncheck',
    f'def check():\n    assert "4" in {SAID}\nassert check',
    f'def check():\n    return "4" in {SAID}\ncheck()',
    f'def check():\n    return True\n    assert "4" in {SAID}\ncheck()',
    f'class Check:\n    def test(self):\n        assert "4" in {SAID}',
    f"print({SAID})",
    f'print("4" in {SAID})',
    f'if "4" in {SAID}:\n    print("right")\nelse:\n    print("wrong")',
    f'try:\n    assert "4" in {SAID}\nexcept:\n    pass',
    f'try:\n    assert "4" in {SAID}\nexcept AssertionError as error:\n    print(error)',
    f'def check():\n    try:\n        assert "4" in {SAID}\n    except Exception:\n        return False\ncheck()',
    f'try:\n    assert "4" in {SAID}\nexcept (ValueError, AssertionError):\n    pass',
    f'def check():\n    assert "4" in {SAID}\ntry:\n    check()\nexcept Exception:\n    pass',
    f'from contextlib import suppress\nwith suppress(AssertionError):\n    assert "4" in {SAID}',
    f'if False:\n    assert "4" in {SAID}',
    f'assert "4" or "four" in {SAID}',
    f'assert ("4" in {SAID}, "no 4")',
    f'assert (word in {SAID} for word in ["4"])',
    "assert lambda: len(rounds) == 2",
    "assert f'{rounds}!'",
    "assert True",
    "pass",
]
CAN_FAIL = [
    f'assert "4" in {SAID}',
    "open('report.md')",
    "import solution",
    "from solution import *",
    f"json.loads({SAID})",
    f"int({SAID})",
    f"a, b = {SAID}.split()",
    "rounds[7]",
    "1 / (len(rounds) - 1)",
    f'if "4" not in {SAID}:\n    raise ValueError("no")',
    f'import sys\nif "4" not in {SAID}: sys.exit(1)',
    f'def main():\n    assert "4" in {SAID}\nif __name__ == "__main__":\n    main()',
    f'def main():\n    assert "4" in {SAID}\nfor check in [main]:\n    check()',
    f'try:\n    x = int("4")\nexcept ValueError:\n    assert "4" in {SAID}',
    f'try:\n    assert "4" in {SAID}\nexcept AssertionError:\n    raise ValueError("no") from None',
    f'try:\n    assert "4" in {SAID}\nexcept ValueError:\n    pass',
    f'try:\n    assert "4" in {SAID}\nfinally:\n    print()',
    (
        f'import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertIn("4", {SAID})\n'
        "assert unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(T)).wasSuccessful()"
    ),
    "import subprocess\nsubprocess.run(['python3', 'main.py'], check=True)",
    "import numpy.testing\nnumpy.testing.assert_allclose(1, 2)",
]


def case(code: str, task: str = "Do it.", **fields: object) -> Case:
    return Case("c", Path("/nowhere/case.yaml"), "0" * 64, task, (ScoringPoint("p", "It is.", 1, code),), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", CANNOT_FAIL)
def test_a_check_that_no_agent_can_fail_is_told_before_the_run(code: str) -> None:
    assert cannot_fail(code)
    assert any(each.in_runs for each in check_findings(case(code)))


@pytest.mark.parametrize("code", CAN_FAIL)
def test_a_check_that_some_agent_fails_is_not_called_one_that_cannot(code: str) -> None:
    assert not cannot_fail(code)
    assert not any("cannot fail" in each.message for each in check_findings(case(code)))


@pytest.mark.parametrize("code", [code for code in CAN_FAIL if "assert" in code and "import" not in code])
def test_a_check_with_an_assertion_has_no_findings(code: str) -> None:
    assert check_findings(case(code)) == []


def test_a_discarded_comparison_is_told_also_beside_an_assertion() -> None:
    [found] = check_findings(case(f'assert rounds\n"4" in {SAID}'))
    assert (found.line, found.certain, "discards" in found.message) == (2, True, True)


def test_a_check_without_an_assertion_that_may_fail_otherwise_is_a_warning() -> None:
    [found] = check_findings(case("open('report.md')"))
    assert (found.certain, "no assert" in found.message) == (False, True)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('assert "4" in chat_history[-1]', "is its .content"),
        ('assert "4" in rounds[-1]["reply"]', "it has agent"),
        ("assert rounds[-1].agent", "no such attribute"),
        ("assert rounds\nexit()", "can never pass"),
    ],
)
def test_what_fails_in_any_case_is_told_before_the_run(code: str, words: str) -> None:
    [found] = check_findings(case(code))
    assert words in found.message
    assert found.certain
    assert found.in_runs


def test_messages_of_langchain_have_more_than_ours() -> None:
    assert check_findings(case('assert "4" in chat_history[-1]', dependencies=("langchain-core>=0.3",))) == []


def test_a_check_sees_the_keys_and_attributes_that_the_analysis_knows() -> None:
    [shown] = run_view(Transcript((Round(1, "a", "b"),)), "x").rounds
    long = run_view(Transcript((Round(1, "a" * 20_000_000, "b"),)), "x").rounds[0]
    assert set(shown) | set(long) == ROUND_KEYS
    message = HumanMessage("x")
    names = {name for name in dir(message) if not name.startswith("_")}
    assert names == {name for name in dir(PlainMessage) if not name.startswith("_")}


# --- imports ----------------------------------------------------------------------------------------------------


def names(code: str, task: str = "Do it.", **fields: object) -> list[str]:
    exam = case(code, task, **fields)
    return [each.name for each in unexplained_imports(exam, code)]


@pytest.mark.parametrize(
    "task",
    [
        "Write a package mypkg with a function solve.",
        "Write mypkg/core.py.",
        "Have the agent write mypkg.core.",
        "Write `mypkg`.",
        "The module is called MyPkg.",
    ],
)
def test_a_module_that_the_task_names_is_the_agents_to_write(task: str) -> None:
    assert names("from mypkg.core import solve\nassert solve()", task) == []


def test_names_with_underscores_may_be_written_otherwise() -> None:
    assert names("import my_shop", "Write a package My-Shop.") == []
    assert names("import my_shop", "Write a package shop.") == ["my_shop"]


def test_the_name_of_a_well_known_library_in_the_task_asks_for_its_use() -> None:
    assert names("import numpy", "Compute it with numpy.") == ["numpy"]
    assert names("import numpy", "Write your own numpy.py.") == []


@pytest.mark.parametrize(
    "code",
    [
        "import os, json, sqlite3.dbapi2",
        "from langchain.load import load\nfrom langchain_core.messages import AIMessage",
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
        "open('helper.py', 'w').write('x = 1')\nimport helper",
        "import sys, types\nsys.modules['fake'] = types.ModuleType('fake')\nimport fake",
        "from . import part",
    ],
)
def test_what_python_viva_or_the_check_itself_provides_needs_no_explanation(code: str) -> None:
    assert names(code) == []


def test_modules_and_texts_among_the_data_files_explain_imports(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "reader.py").write_text("")
    (tmp_path / "spec.md").write_text("Write the package `shop`.")
    (tmp_path / "test_bank.py").write_text("import bank")
    for module in ("tools", "reader", "shop", "bank"):
        files = {"data_files": ("tools", "spec.md", "test_bank.py"), "data_folder": tmp_path}
        assert names(f"import {module}", **files) == [], module
    assert names("import other", **files) == ["other"]


def test_only_an_import_that_is_always_reached_is_certain() -> None:
    code = "import a\nif 1:\n    import b\ndef f():\n    import c\ndef g():\n    import d\ng()\nimport a.b"
    assert [(each.name, each.line, each.is_certain) for each in imports_of(code)] == [
        ("a", 1, True),
        ("b", 3, False),
        ("c", 5, False),
        ("d", 7, True),
    ]


@pytest.mark.parametrize(
    ("code", "dependencies", "certain", "words"),
    [
        ("import numpy\nassert numpy", (), [True], "add 'numpy' to dependencies"),
        ("import yaml\nassert yaml", (), [True], "add 'pyyaml' to dependencies"),
        ("import numpy\nassert numpy", ("pandas>=2",), [False], "add 'numpy' to dependencies"),
        ("if rounds:\n    import numpy\nassert rounds", (), [False], "add 'numpy' to dependencies"),
        ("import numpy\nassert numpy", ("NumPy[extra]>=2; python_version > '3'",), [], ""),
        ("import yaml\nassert yaml", ("PyYAML",), [], ""),
    ],
)
def test_a_library_without_a_dependency_is_told_with_that_word(
    code: str, dependencies: tuple[str, ...], certain: list[bool], words: str
) -> None:
    found = check_findings(case(code, dependencies=dependencies))
    assert [each.certain for each in found] == certain
    assert all(words in each.message for each in found)
