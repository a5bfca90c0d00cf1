"""What `viva` exports, and that it costs nothing until it is used."""

from __future__ import annotations

import ast
import inspect
import pydoc
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import viva
import viva.adapters
from viva.api.judgements import judge

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {"pydantic", "autogen_core", "docker", "rich", "click", "openai", "jinja2", "msgspec"}


def loaded_after(line: str) -> set[str]:
    code = f"import sys; {line}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "line",
    ["import viva", "from viva import VirtualUser, Reply, Step, Usage", "import viva; dir(viva); viva.load_case"],
)
def test_an_import_loads_nothing_heavy(line: str) -> None:
    assert loaded_after(line) & HEAVY == set()


def test_importing_viva_alone_loads_no_other_package_of_vivas() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, viva; print([name for name in sys.modules if name.startswith('viva.')])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_every_public_name_is_there_and_listed() -> None:
    assert len(set(viva.__all__)) == len(viva.__all__)
    for name in viva.__all__:
        assert getattr(viva, name) is not None
    assert set(viva.__all__) <= set(dir(viva))


def test_type_checkers_see_the_names_that_are_loaded_when_used() -> None:
    """The imports for type checkers, the table and `__all__` say the same."""
    tree = ast.parse(Path(viva.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (node.module, alias.name) for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    table = {(module, name) for module, names in viva._HOMES.items() for name in names}
    assert seen == table
    assert sorted(name for _, name in table) == sorted(viva.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        viva.no_such_name  # noqa: B018


def test_the_base_class_and_the_types_are_the_same_by_either_name() -> None:
    for name in viva.adapters.__all__:
        assert getattr(viva, name) is getattr(viva.adapters, name)


def test_both_forms_of_a_function_have_one_signature_and_one_description() -> None:
    for name in ("examine", "judge", "run_suite"):
        asynchronous = getattr(viva, f"{name}_async")
        plain = judge if name == "judge" else getattr(viva, name)
        assert plain.__name__ == name
        assert inspect.signature(plain) == inspect.signature(asynchronous)
        assert plain.__doc__ == asynchronous.__doc__
        assert inspect.iscoroutinefunction(asynchronous)
        assert not inspect.iscoroutinefunction(plain)


@pytest.mark.parametrize("before", ["", "import viva.judge.registry; ", "from viva import judge_async; "])
def test_the_package_judge_is_called_like_the_function(before: str) -> None:
    """Whatever was imported before, and whether `viva.judge` is meant as the package or as the function."""
    code = (
        f"import inspect; {before}import viva; import viva.judge.registry as registry; from viva import judge\n"
        "from viva.api.judgements import judge as function\n"
        "assert inspect.signature(viva.judge) == inspect.signature(function)\n"
        "assert viva.judge is judge and viva.judge.registry is registry\n"
        "try: viva.judge('no such journal')\n"
        "except viva.JournalError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "no such journal" in done.stdout, done.stderr


def test_help_shows_what_the_callable_package_judge_does() -> None:
    shown = pydoc.plain(pydoc.render_doc(viva.judge))
    for words in (
        "Judge stored conversations again",
        "threshold: A run passes",
        "viva.judge(journals:",
        "viva.judge` is",
    ):
        assert words in shown
    assert inspect.getdoc(viva.judge.registry) == inspect.getdoc(sys.modules["viva.judge.registry"])
    assert (viva.judge.__doc__ or "").startswith(str(inspect.getdoc(judge)).splitlines()[0])


def test_the_wheel_holds_all_packages_with_their_types() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert packages == project["tool"]["mypy"]["packages"] == project["tool"]["importlinter"]["root_packages"]
    assert "viva" in packages
    assert [name for name in packages if not (ROOT / name / "py.typed").is_file()] == []
