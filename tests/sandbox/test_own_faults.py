"""A fault is the check's own only where its source and the installed modules prove it: it can never pass."""

from __future__ import annotations

import pytest

from tests.sandbox.test_conformance import QUICK, session_with
from viva.sandbox import Ending, RunView, Sandbox

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("kind", ["process"], indirect=True, scope="session"),
]

VIEW = RunView(
    chat_history=[("system", "be fair"), ("human", "begin"), ("ai", "what is 6 * 7?"), ("human", "--answer 42")],
    rounds=[{"number": 1, "examiner": "what is 6 * 7?", "agent": "--answer 42"}],
)

# Brought about by what the agent left: in another workspace, or after other words, the same check passes.
THE_AGENTS = {
    "a loop over nothing": ("import csv\nfor row in csv.reader(open('a')): pass\nassert row[0] == '42'", {"a": ""}),
    "a line that is not there": (
        "for line in open('a'):\n    if line.startswith('answer='):\n        answer = line[7:]\nassert answer == '42'",
        {"a": "none\n"},
    ),
    "a branch of a function": (
        "def answer():\n    for line in open('a'):\n        if 'x' in line: found = line\n    return found\nanswer()",
        {"a": ""},
    ),
    "a branch of a try": ("try:\n    x = int(open('a').read())\nexcept ValueError:\n    pass\nassert x", {"a": "?"}),
    "a name that was deleted": ("x = 1\nif not open('a').read(): del x\nassert x", {"a": ""}),
    "a name of a case that does not match": (
        "match open('a').read():\n    case '42' as found: pass\nassert found",
        {"a": ""},
    ),
    "a misspelt name on the way of failure": ("if open('a').read() != '42': fial('wrong')", {"a": ""}),
    "a misspelt name in a loop": ("for row in open('a'): check(row)", {"a": "x"}),
    "a misspelt name behind a comparison": ("assert open('a').read() == '42' or oops", {"a": ""}),
    "a misspelt name in a message": ("assert open('a').read() == '42', oops", {"a": ""}),
    "a misspelt name after a return": ("def f():\n    if open('a').read(): return\n    oops\nf()", {"a": ""}),
    "a misspelt name that is caught": (
        "import contextlib\nwith contextlib.suppress(ValueError):\n    int(open('a').read())\n    oops",
        {"a": "1"},
    ),
    "argparse on the agent's words": (
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--answer', type=int)\n"
            "assert p.parse_args(open('a').read().split()).answer == 42"
        ),
        {"a": "--reply 42"},
    ),
    "sys.exit without a file": ("import os, sys\nif not os.path.exists('b'): sys.exit(1)", {}),
    "exit in a function": ("def need(x):\n    if not x: raise SystemExit('no')\nneed(open('a').read())", {"a": ""}),
    "exit at the end of a loop": ("import sys\nfor _ in open('a'): sys.exit(1)", {"a": "x"}),
    "a package without its part": ("from shop.core import solve", {"shop/__init__.py": ""}),
    "a module without its function": ("from shop import solve\nassert solve", {"shop.py": ""}),
    "a file that is no package": ("import shop.core", {"shop.py": ""}),
    "a module in a branch": ("import os\nif not os.path.exists('b'): import no_such_module", {}),
    "a module in a try": ("try:\n    import json5\nexcept ImportError:\n    import no_such_module", {}),
    "a module that imports another": ("import shop", {"shop.py": "import no_such_module"}),
    "a module by its name in a file": ("import importlib\nimportlib.import_module(open('a').read())", {"a": "nowhere"}),
    "a key that is not left": ("json.load(open('a'))['answer']", {"a": "{}"}),
    "a list that is left as a number": ("assert 42 in json.load(open('a'))", {"a": "7"}),
    "an attribute of what is left": ("json.load(open('a')).items()", {"a": "[]"}),
    "a message that is not there": ("assert chat_history[9].content", {}),
    "a loop over the agent's file, into a message": ("for x in open('a'): assert x in chat_history[-1]", {"a": "x"}),
    "the history, replaced": ("chat_history = json.load(open('a'))\nassert '4' in chat_history[-1]", {"a": "[7]"}),
    "a subclass of SystemExit": ("class Done(SystemExit): pass\nif not open('a').read(): raise Done", {"a": ""}),
}
# In any case: no workspace lets these pass.
THE_CHECKS = {
    "a misspelt name": "assert chat_histroy",
    "a misspelt name in a function that is called": "def f():\n    return oops\nf()",
    "a misspelt name in a `with`": "with open('a') as file:\n    assert fiel.read()",
    "a misspelt name before `finally`": "try:\n    oops\nfinally:\n    print()",
    "a misspelt name in a class": "class A:\n    x = oops",
    "a misspelt name as an argument": "print(oops)",
    "a misspelt name after a loop": "for _ in open('a'): pass\nassert oops",
    "a module that is not installed": "import no_such_module",
    "a module that is not installed, in a function": "def f():\n    import no_such_module\nf()",
    "a name that a module of Python lacks": "from os.path import exits",
    "its exit": "import sys\nassert open('a').read() == ''\nsys.exit(0)",
    "its exit in a function": "def main():\n    raise SystemExit(0)\nmain()",
    "a look into a message": "assert '4' in chat_history[-1]",
    "a look into each message": "assert any('4' in m for m in chat_history)",
    "a look into each message of a loop": "for m in chat_history:\n    assert '4' in m",
    "a look into a message with a name": "last = chat_history[-1]\nassert '4' not in last",
    "the key of a message": "assert chat_history[-1]['content']",
    "the length of a message": "assert len(chat_history[-1]) > 2",
    "a message as a number": "assert float(chat_history[-1])",
    "a message as JSON": "assert json.loads(chat_history[-1])",
    "a search in a message": "import re\nassert re.search('4', chat_history[-1])",
    "an attribute that no message has": "assert chat_history[-1].text",
    "an attribute that no text has": "assert chat_history[-1].content.contains('4')",
    "a key that no round has": "assert rounds[-1]['reply']",
    "an attribute of a round": "assert rounds[-1].agent",
    "a key of the rounds": "assert rounds['agent']",
    "a number in a text": "assert 42 in chat_history[-1].content",
    "a misspelt function of json": "json.lods('1')",
}


async def ending_of(box: Sandbox, code: str, files: dict[str, str]) -> Ending:
    async with session_with(box, files, VIEW) as session:
        return (await session.check(code, QUICK)).ending


@pytest.mark.parametrize("what", THE_AGENTS)
async def test_what_the_agent_left_brings_about_no_fault_of_the_check(box: Sandbox, what: str) -> None:
    code, files = THE_AGENTS[what]
    assert await ending_of(box, code, files) is Ending.FAILED


@pytest.mark.parametrize("what", THE_CHECKS)
async def test_what_no_agent_can_help_is_the_checks_own_fault(box: Sandbox, what: str) -> None:
    assert await ending_of(box, THE_CHECKS[what], {"a": ""}) is Ending.BROKEN


@pytest.mark.parametrize("what", THE_CHECKS)
async def test_code_of_the_agents_that_ran_does_not_change_whose_fault_it_is(box: Sandbox, what: str) -> None:
    assert await ending_of(box, "import shop\n" + THE_CHECKS[what], {"a": "", "shop.py": "x = 1"}) is Ending.BROKEN
