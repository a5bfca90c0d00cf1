"""Modules beside a user's file and in the current folder are found by the user's own code, and only by it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from viva.plugins.user_folders import let_import

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["adapters", "cases", "examiner", "judge", "sandbox"])
def test_in_a_checkout_vivas_folders_are_not_found_as_modules_of_the_user(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be loaded a second time, with classes of their own. This test lies in a checkout, too."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not Path(entry, name, "__init__.py").exists()])
    others = [each for each in sys.meta_path if type(each).__module__ != "viva.adapters.old_imports"]
    monkeypatch.setattr(sys, "meta_path", others)  # which an agent that was loaded before may have installed
    monkeypatch.delitem(sys.modules, name, raising=False)
    let_import(str(ROOT))
    with pytest.raises(ModuleNotFoundError):
        import_module(name)
