"""Checks made at random, and worlds that an agent could leave, with plain Python as the judge of what they do.

What a check does in a world is found out by running it there without anything of Viva's. A check that reaches its end
in one of the worlds can pass, so nothing that an agent left may be called a fault of the check.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from viva.sandbox import RunView

FILES = (None, "", "42\n", "answer=42\nfound = 42\n")
REPLIES = ("42", "--answer 42", "I do not know.")
MODULES: tuple[dict[str, str], ...] = (
    {},
    {"shop.py": ""},
    {"shop.py": "def solve(): return '42'\nfound = '42'"},
    {"shop.py": "raise SystemExit"},
    {"shop/__init__.py": "from shop.core import solve", "shop/core.py": "def solve(): return '42'"},
)
FAULTS = (
    "oops",
    "fial('wrong')",
    "oops.real",
    "sys.exit(1)",
    "exit()",
    "'4' in chat_history[-1]",
    "chat_history[-1].text",
    "chat_history[-1]['content']",
    "rounds[0]['reply']",
    "rounds['agent']",
    "len(chat_history[-1])",
    "json.lods('1')",
    "json.loads(chat_history[-1])",
    "7 in chat_history[-1].content",
    "re.search('4', chat_history[-1])",
)
"""Expressions that fail in any world in which they are evaluated."""
IMPORTS = ("import nowhere_to_be", "from nowhere_to_be.part import thing", "from os.path import exits")
ARGUMENTS = (
    "parser = argparse.ArgumentParser()\nparser.add_argument('--answer')\nassert parser.parse_args({}.split()).answer"
)


@dataclass(frozen=True)
class World:
    """What an agent may leave: files, and its last words."""

    files: dict[str, str]
    reply: str

    @property
    def view(self) -> RunView:
        """The conversation."""
        history = [("system", "Be fair."), ("human", "Begin."), ("ai", "What is 6 * 7?"), ("human", self.reply)]
        return RunView(history, [{"number": 1, "examiner": "What is 6 * 7?", "agent": self.reply}])

    def lay_out(self, folder: Path) -> Path:
        """Write the files to a folder."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder


WORLDS = [
    World({**({} if text is None else {"a": text}), **modules}, reply)
    for text, reply, modules in itertools.product(FILES, REPLIES, MODULES)
]


@dataclass(frozen=True)
class Generated:
    """A check, and the fault that was put into it where it is always reached, if any."""

    code: str
    fault: str = ""

    @property
    def is_proven(self) -> bool:
        """Whether the source proves the fault: no text or module of the agent's may give its names another meaning."""
        return bool(self.fault) and not any(words in self.code for words in ("import *", "exec(", "eval("))


class Generator:
    """Makes checks of statements that read what the agent left, and of faults, nested at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.number = 0

    def check(self) -> Generated:
        """Return a check."""
        self.number = 0
        head = "import argparse, os, re, sys\nfrom contextlib import suppress\n"
        body = [self.statement(self.random.randint(0, 3)) for _ in range(self.random.randint(1, 4))]
        fault = ""
        if self.random.random() < 0.2:
            fault = self.random.choice([*FAULTS, *IMPORTS])
            body.append(fault)
        return Generated(head + "\n".join(body) + "\n", fault)

    def text(self) -> str:
        """Return an expression for a text of the agent's."""
        return self.random.choice(
            ["open('a').read()", "chat_history[-1].content", "rounds[-1]['agent']", "str(json.load(open('a')))"]
        )

    def condition(self) -> str:
        """Return a condition on what the agent left."""
        words = self.random.choice(
            [
                "'42' in {}", "{}.startswith('answer=')", "{}", "not {}", "len({}) > 3", "int({}) == 42",
                "os.path.exists('a')", "not os.path.exists('shop.py')", "re.search('4', {})",
            ]
        )  # fmt: skip
        return words.format(self.text())

    def name(self) -> str:
        """Return a name that some other part may bind, or not."""
        return self.random.choice(["found", "answer", "x1", "x2", "solve"])

    def leaf(self) -> str:
        """Return a statement without others in it."""
        fault, name = self.random.choice(FAULTS), self.name()
        return self.random.choice(
            [
                f"assert {self.condition()}", f"assert {self.condition()}, {fault}", f"{name} = {self.text()}",
                f"assert {name}", f"print({name})", f"{self.condition()} and {fault}", f"{self.condition()} or {fault}",
                f"{fault} if {self.condition()} else 0", f"[{fault} for line in {self.text()}.splitlines()]",
                f"any({fault} for message in chat_history)", f"lambda: {fault}", f"for {name} in {self.text()}: pass",
                f"({name} := {self.text()})", fault, self.random.choice(IMPORTS), "from shop import solve",
                "import shop.core", "from shop import *", "import shop\nassert shop.found", f"exec({self.text()})",
                f"print(eval({self.text()}))", "raise SystemExit(0)", f"if {self.condition()}: sys.exit(1)",
                f"if {self.condition()}: raise SystemExit", ARGUMENTS.format(self.text()),
                f"with suppress(NameError): {fault}",
                f"assert {fault}", "pass", "[row] = [line for line in open('a')]", f"del {name}", f"global {name}",
                f"match {self.text()}:\n    case '42' as {name}: pass", "assert [m.content for m in chat_history]",
            ]
        )  # fmt: skip

    def statement(self, depth: int) -> str:
        """Return a statement with others in it down to this depth."""
        if depth == 0:
            return self.leaf()
        self.number += 1
        function, inner, other = f"f{self.number}", self.block(depth - 1), self.block(depth - 1)
        condition, text = self.condition(), self.text()
        kind = self.random.choice(["NameError", "Exception", "ValueError", "(KeyError, OSError)", "SystemExit"])
        forms: Sequence[Callable[[], str]] = [
            lambda: f"if {condition}:\n{inner}\nelse:\n{other}",
            lambda: f"if {condition}:\n{inner}",
            lambda: f"for {self.name()} in {text}.splitlines():\n{inner}",
            lambda: f"for message in chat_history:\n{inner}",
            lambda: f"for message in rounds:\n    if {condition}: break\n{inner}",
            lambda: f"while {condition}:\n{inner}\n    break",
            lambda: f"try:\n{inner}\nexcept {kind}:\n{other}",
            lambda: f"try:\n{inner}\nfinally:\n    pass",
            lambda: f"with suppress({kind}):\n{inner}",
            lambda: f"with open('a') as file:\n{inner}",
            lambda: f"def {function}():\n{inner}\n{function}()",
            lambda: f"def {function}():\n{inner}",
            lambda: f"def {function}():\n{inner}\nif {condition}: {function}()",
            lambda: f"def {function}():\n    if {condition}: return\n{inner}\n{function}()",
            lambda: f"def {function}():\n{inner}\n    yield 1\nlist({function}()) if {condition} else {function}()",
            lambda: f"def {function}():\n    try:\n{_indent(inner)}\n    except {kind}: return\n{function}()",
            lambda: f"class C{self.number}:\n{inner}",
        ]
        return self.random.choice(forms)()

    def block(self, depth: int) -> str:
        """Return indented statements."""
        return _indent("\n".join(self.statement(depth) for _ in range(self.random.randint(1, 2))))


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


def checks(seed: int, count: int) -> list[Generated]:
    """Return generated checks that compile."""
    generator, found = Generator(seed), []
    while len(found) < count:
        one = generator.check()
        try:
            compile(one.code, "<check>", "exec")
        except SyntaxError:
            continue
        found.append(one)
    return found


_PLAIN = """
import argparse, contextlib, io, json, os, re, sys
asked = json.load(sys.stdin)
sys.path.append("")
class Message:
    def __init__(self, content): self.content, self.type = content, "human"
codes = [compile(code, "<check>", "exec") for code in asked["checks"]]
for world in asked["worlds"]:
    os.chdir(world["folder"])
    ended = []
    for code in codes:
        names = {
            "__name__": "__main__", "json": json, "rounds": json.loads(json.dumps(world["rounds"])),
            "chat_history": [Message(content) for _, content in world["history"]],
        }
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                exec(code, names)
            ended.append("")
        except BaseException as error:
            ended.append(type(error).__name__)
        for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]: del sys.modules[name]
        sys.path_importer_cache.clear()
    print(json.dumps(ended))
"""


def plain_endings(folder: Path, codes: Sequence[str]) -> list[list[str]]:
    """Run checks in all worlds by plain Python.

    Returns the exceptions that the checks ended with in each world, empty where there was none.
    """
    worlds = []
    for number, world in enumerate(WORLDS):
        place = folder / str(number)
        place.mkdir()
        place = world.lay_out(place)
        view = world.view
        worlds.append({"folder": str(place), "rounds": list(view.rounds), "history": list(view.chat_history)})
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", _PLAIN],
        input=json.dumps({"checks": list(codes), "worlds": worlds}), capture_output=True, text=True, check=True,
        timeout=600,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]
