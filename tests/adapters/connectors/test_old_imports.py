"""Adapters from before everything was inside `viva`, and users' modules with the names of Viva's packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.adapters.connectors.child.child_connectors import open_agent
from tests.distributions import install
from tests.viva.viva_command import run_viva
from viva.adapters.connectors.table import load_agent
from viva.adapters.inside.stand_ins import is_vivas
from viva.errors import SetupError
from viva.judge.registry import EVALUATORS
from viva.plugins.import_strings import PluginError, import_string
from viva.plugins.kinds import load
from viva.plugins.old_names import TOPS, advice_at

ROOT = Path(__file__).parents[3]
AGENT = """
from {package} import VirtualUser, Reply, Step, StepKind, Usage
{more}
class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        return {says}
"""


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in [name for name in sys.modules if name.partition(".")[0] in TOPS]:
        monkeypatch.delitem(sys.modules, name)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def agent_file(folder: Path, package: str = "adapters", more: str = "", says: str = "message") -> Path:
    file = folder / "agent.py"
    file.write_text(AGENT.format(package=package, more=more, says=says))
    return file


@pytest.mark.parametrize("isolate", [False, True])
async def test_an_old_adapter_works_and_a_note_names_the_new_line(isolate: bool, tmp_path: Path) -> None:
    more = "import viva\nassert VirtualUser is viva.VirtualUser\nfrom adapters.virtual_user import VirtualUser as Same"
    file = agent_file(tmp_path, more=more, says="'same' if Same is VirtualUser else 'another'")
    agent = load_agent(f"{file}:Agent", isolate=isolate)
    (notice,) = agent.notices
    assert notice.startswith(f"{file}:2: ")
    assert "write `from viva import VirtualUser`" in notice
    session = await open_agent(f"{file}:Agent", tmp_path, isolate=isolate)
    assert (await session.reply("?", 20)).text == "same"
    await session.close()


@pytest.mark.parametrize("isolate", [False, True])
def test_a_new_adapter_gets_no_note(isolate: bool, tmp_path: Path) -> None:
    assert load_agent(f"{agent_file(tmp_path, 'viva')}:Agent", isolate=isolate).notices == ()


@pytest.mark.parametrize("isolate", [False, True])
def test_adapters_that_is_the_users_own_is_found_first(isolate: bool, tmp_path: Path) -> None:
    write(tmp_path, {"adapters/__init__.py": "WHOSE = 'mine'", "adapters/radio.py": "KIND = 'radio'"})
    more = "import adapters\nfrom adapters.radio import KIND\nassert (adapters.WHOSE, KIND) == ('mine', 'radio')"
    assert load_agent(f"{agent_file(tmp_path, 'viva', more)}:Agent", isolate=isolate).notices == ()
    sys.modules.pop("adapters", None)
    file = agent_file(tmp_path, "adapters").rename(tmp_path / "other.py")
    with pytest.raises(SetupError, match="cannot import name 'VirtualUser' from 'adapters'"):
        load_agent(f"{file}:Agent", isolate=isolate)


def test_after_an_agent_is_loaded_the_old_name_is_free_for_others(tmp_path: Path) -> None:
    load_agent(f"{agent_file(tmp_path)}:Agent")
    assert "adapters" not in sys.modules


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("name", ["adapters", "viva", "judge"])
async def test_an_agents_file_may_be_called_like_a_package_of_vivas(name: str, isolate: bool, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.py"
    package = "adapters" if name == "adapters" else "viva"
    file.write_text(AGENT.format(package=package, more="", says="'I'"))
    session = await open_agent(f"{file}:Agent", tmp_path, isolate=isolate)
    assert (await session.reply("?", 20)).text == "I"
    await session.close()


@pytest.mark.parametrize("isolate", [False, True])
async def test_modules_with_the_old_names_are_the_users(isolate: bool, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "records.py": "def load(): return 'my records'",
            "judge/__init__.py": "WHOSE = 'my judge'",
            "harness/__init__.py": "WHOSE = 'my harness'",
        },
    )
    more = "import judge, harness\nfrom records import load"
    file = agent_file(tmp_path, "viva", more, "[load(), judge.WHOSE, harness.WHOSE].__repr__()")
    session = await open_agent(f"{file}:Agent", tmp_path, isolate=isolate)
    assert (await session.reply("?", 20)).text == "['my records', 'my judge', 'my harness']"
    await session.close()


async def test_an_agents_own_package_viva_gets_vivas_names_too(tmp_path: Path) -> None:
    write(tmp_path, {"viva/__init__.py": "WHOSE = 'my viva'"})
    file = agent_file(tmp_path, "viva", "import viva", "viva.WHOSE")
    session = await open_agent(f"{file}:Agent", tmp_path, isolate=True)
    assert (await session.reply("?", 20)).text == "my viva"
    await session.close()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("harness.sinks.jsonl", "viva.sinks.jsonl"),
        ("judge.success", "viva.judge.success"),
        ("records.codec", "viva.records.codec"),
        ("records.journal_history", "viva.journal.history"),
        ("records.journal", "viva.journal.writer"),
        ("adapters.readers.recording", "viva.recordings.recording"),
        ("adapters.connectors.loaded_agent", "viva.adapters.connectors.loaded_agent"),
        ("harness.exam.options", "viva.exam.options"),
    ],
)
def test_an_import_string_of_an_old_module_is_told_the_new_one(old: str, new: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=rf"Viva's module {old} is now {new}\."):
        import_string(f"{old}:Thing")
    (tmp_path / "part.py").write_text(f"from {old} import Thing")
    with pytest.raises(
        PluginError, match=rf"Viva's module {old.partition('.')[0]}|cannot import name 'Thing' from 'viva\."
    ):
        import_string(f"{tmp_path}/part.py:Part")


@pytest.mark.parametrize("isolate", [False, True])
def test_an_agent_that_imports_an_old_module_is_told_the_new_one(isolate: bool, tmp_path: Path) -> None:
    file = agent_file(tmp_path, "viva", "from records.transcript import Reply")
    with pytest.raises(SetupError, match=r"No module named 'records'.* Viva's module records is now viva\.records"):
        load_agent(f"{file}:Agent", isolate=isolate)


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    ("statement", "present"),
    [
        ("from adapters import VirtualUser", "from viva import VirtualUser"),
        ("from adapters import (\n    Reply,\n    VirtualUser,\n)", "from viva import Reply, VirtualUser"),
        ("from adapters.virtual_user import VirtualUser", "from viva import VirtualUser"),
        ("from records.codec import decode", "from viva.records.codec import decode"),
        ("from adapters import AutoAdapterModel", None),
        ("from adapters.layers import VirtualUser", None),
        ("import adapters", None),
    ],
)
@pytest.mark.parametrize("module", [False, True])
def test_an_old_import_that_finds_the_package_of_somebody_else_is_told_the_present_form(
    statement: str, present: str | None, module: bool, isolate: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library called `adapters` may be installed, and may itself lack something."""
    site = tmp_path / "site"
    write(site, {f"{name}/__init__.py": "import no_such_library" for name in ("adapters", "records")})
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.syspath_prepend(str(site))
    Path("agent.py").write_text(f"\n{statement}\n")
    with pytest.raises(SetupError, match="No module named 'no_such_library'") as error:
        load_agent("agent:Agent" if module else "agent.py:Agent", isolate=isolate)
    assert "agent.py:2" in str(error.value)
    told = str(error.value).partition("write `")[2].rstrip(".`")
    assert told == (present or "")
    with pytest.raises(PluginError) as unusable:
        import_string("agent.py:Agent")
    assert (f"write `{present}`" in str(unusable.value)) == (present is not None)


@pytest.mark.parametrize("file", ["/dev/zero", "/no/such.py", __file__])
def test_nothing_is_told_where_no_statement_can_be_read(file: str) -> None:
    assert advice_at(file, 1) == ""


@pytest.mark.parametrize("old", ["records.no_such", "harness.tests", "numpy", "viva.no_such"])
def test_other_modules_are_not_told_anything(old: str) -> None:
    with pytest.raises(PluginError) as error:
        import_string(f"{old}:Thing")
    assert "is now" not in str(error.value)


def test_vivas_own_files_are_known_in_a_checkout_and_by_its_links() -> None:
    for file in ("viva/__init__.py", "adapters/__init__.py", "viva/adapters/__init__.py", "adapters/virtual_user.py"):
        assert is_vivas(str(ROOT / file))
    assert not is_vivas(str(ROOT / "examples" / "agents" / "careful.py"))


@pytest.mark.parametrize("spec", ["agent.py:Agent", "agent:Agent"])
@pytest.mark.parametrize("command", ["run", "suite"])
def test_the_command_prints_the_note(command: str, spec: str, tmp_path: Path) -> None:
    agent_file(tmp_path, says="'GUTENBERG'")
    words = [command, "echo", "--agent", spec, "--sandbox", "process", "--out", "journal"]
    done = run_viva(*words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "agent.py:2: `adapters` is the old name of Viva's package" in " ".join((done.stdout + done.stderr).split())


LAZY = """
from adapters import VirtualUser
import viva
class Agent(VirtualUser):
    def __init__(self, *arguments, **named):
        from adapters import Reply
        super().__init__(*arguments, **named)
    def get_reply_from_agent(self, message):
        from adapters.virtual_user import VirtualUser as Same
        return f'{Same is viva.VirtualUser}'
"""


@pytest.mark.parametrize("isolate", [False, True])
async def test_an_old_import_may_be_executed_late_and_loads_nothing_twice(isolate: bool, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        LAZY if not isolate else LAZY.replace("Same is viva", "Same is not None or viva")
    )
    session = await open_agent(f"{tmp_path}/agent.py:Agent", tmp_path, isolate=isolate)
    assert (await session.reply("?", 20)).text == "True"
    await session.close()


async def test_an_old_adapter_hides_no_module_of_another_agents(tmp_path: Path) -> None:
    for name in ("old", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "own" / "adapters.py").write_text("def shout(): return 'MINE'")
    late = "class Agent:\n    def get_reply_from_agent(self, message):\n        from adapters import shout\n"
    late += "        return shout()\n"
    (tmp_path / "own" / "agent.py").write_text(late)
    agent_file(tmp_path / "old")
    load_agent(f"{tmp_path}/old/agent.py:Agent")
    session = await open_agent(f"{tmp_path}/own/agent.py:Agent", tmp_path)
    assert (await session.reply("?", 20)).text == "MINE"
    await session.close()


def test_an_entry_point_that_imports_an_old_module_is_told_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    install(
        site,
        "old-part",
        "1",
        {"old_part": "from records.verdict import Verdict"},
        {"viva.evaluators": {"old": "old_part:Old"}},
    )
    with pytest.raises(PluginError, match=r"No module named 'records'.* Viva's module records is now viva\.records"):
        load(EVALUATORS, "old")
