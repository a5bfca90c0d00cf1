"""Every class has a name of its own, so that a name in a traceback, a search or a document means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import viva

ROOT = Path(__file__).resolve().parents[1]
CODE = ("adapters", "cases", "examiner", "judge", "sandbox", "viva")
STAND_INS = "adapters/inside/stand_ins.py"
"""What an agent's own process has in place of Viva: adapters import these classes under the names of the real ones."""


def class_names() -> dict[str, list[str]]:
    """Return the files that define a class, at any depth, by the name of the class."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for top in CODE:
        files = [file for file in sorted((ROOT / top).rglob("*.py")) if file.resolve() == file]
        assert files, top
        for file in files:  # without those that are found again through a link, such as `viva/adapters`
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(file.relative_to(ROOT).as_posix())
    return found


def test_two_classes_never_share_a_name() -> None:
    shared = {name: sorted(files) for name, files in class_names().items() if len(files) > 1}
    stand_ins = {name for name, files in shared.items() if len(files) == 2 and STAND_INS in files}
    assert {name: files for name, files in shared.items() if name not in stand_ins} == {}
    assert stand_ins == {"Reply", "Step", "StepKind", "Usage", "VirtualUser"}
    assert stand_ins <= set(viva.__all__), "a stand-in is called like what adapters import from `viva`"
