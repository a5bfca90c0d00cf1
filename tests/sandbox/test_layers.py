"""Workspaces that are written once for a run, and that each check sees through a layer of its own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.sandbox.conftest import missing
from viva.sandbox import CheckResult, Ending, RunView, Sandbox, SandboxLimits
from viva.sandbox.inside.conversation import HISTORY_FILE
from viva.sandbox.inside.layers import MANY_FILES
from viva.sandbox.plain_files import uses_files_plainly

PATIENT = SandboxLimits(seconds=60, cpu_seconds=30)
isolating = pytest.mark.parametrize("kind", ["docker", "bwrap"], indirect=True, scope="session")
here = pytest.mark.asyncio(loop_scope="session")
SEES_LAYER = "\nassert ' /box rw,nosuid,nodev,relatime - overlay ' in open('/proc/self/mountinfo').read()"
SEES_COPY = SEES_LAYER.replace("' in open", "' not in open")
FRESH = f"""
import os
assert sorted(os.listdir()) == ['big', 'folder', 'link', 'many'] and len(os.listdir('many')) == {MANY_FILES}
assert os.listdir('folder') == ['inner'] and open('folder/inner/file').read() == 'left by the agent'
assert {{open('many/' + name).read() for name in os.listdir('many')}} == {{'one'}}
assert os.stat('many/0').st_mtime_ns == 1_234_567_890_123_456_789 and os.path.getsize('big') == 1_500_000
assert not os.listxattr('folder') + os.listxattr('many/0') and os.readlink('link') == 'folder'
assert sorted(os.listdir('/box')) == ['home', 'temporary', 'work'] and not os.listdir('/box/home')
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "folder" / "inner").mkdir(parents=True)
    (work / "folder" / "inner" / "file").write_text("left by the agent")
    (work / "many").mkdir()
    for number in range(MANY_FILES):
        (work / "many" / str(number)).write_text("one")
    os.utime(work / "many" / "0", ns=(0, 1_234_567_890_123_456_789))
    (work / "big").write_bytes(bytes(1_500_000))
    (work / "link").symlink_to("folder")
    return work


@pytest_asyncio.fixture(loop_scope="session")
async def session(box: Sandbox, workspace: Path) -> AsyncIterator[Any]:
    """A session whose checks have layers; typed loosely, as the tests look inside."""
    found: Any = await box.open(workspace, RunView(), run_id="layers")
    if not found._has_layers:
        await found.close()
        missing("layers", "the kernel has no overlays for users")
    yield found
    await found.close()


async def check(session: Any, code: str, limits: SandboxLimits = PATIENT) -> CheckResult:
    found: CheckResult = await session.check(code, limits)
    return found


async def passes(session: Any, code: str, limits: SandboxLimits = PATIENT) -> None:
    result = await check(session, code, limits)
    assert result.ending is Ending.PASSED, result


@here
@isolating
async def test_each_check_finds_what_the_agent_left_and_nothing_of_other_checks(session: Any) -> None:
    await passes(session, FRESH + SEES_LAYER)
    await passes(
        session,
        "import os, shutil\nfor name in os.listdir('many'): open('many/' + name, 'a').write('two')\n"
        "os.remove('many/0'); os.remove('link'); os.mkdir('link')\n"
        "shutil.rmtree('folder'); os.mkdir('folder'); assert os.listdir('folder') == []\n"
        "open('big', 'r+b').write(b'1'); assert open('many/1').read() == 'onetwo'\n"
        f"for number in range({MANY_FILES * 2}): open(f'new{{number}}', 'w').write('x')" + SEES_LAYER,
    )
    await passes(session, FRESH + SEES_LAYER)
    await passes(
        session, "import shutil, os\nos.chdir('/'); shutil.rmtree('/box/work'); open('/box/work', 'w').close()"
    )
    await passes(session, FRESH + SEES_LAYER)


@here
@isolating
async def test_a_check_that_could_tell_a_layer_from_a_copy_has_a_copy(session: Any) -> None:
    await passes(session, FRESH + SEES_LAYER)
    for _ in range(2):
        await passes(
            session,
            "import os, subprocess\nos.rename('folder', 'moved'); os.rename('/box/work', '/box/elsewhere')\n"
            "subprocess.run(['mv', '/box/elsewhere/many', '/box/many'], check=True)" + SEES_COPY,
        )
        await passes(session, FRESH)  # in the form that was prepared, after a check that needed a copy
        await passes(session, FRESH + SEES_LAYER)
    small = replace(PATIENT, file_mb=1)  # the kernel copies a file when it is first written to, within this limit
    await passes(session, "open('big', 'r+b').write(b'1')" + SEES_COPY, small)


@here
@isolating
async def test_a_smaller_workspace_has_layers_until_a_check_needs_a_copy(box: Sandbox, tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / str(number)).write_text("one")
    whole = "import os\nassert len(os.listdir()) == 25 and open('7').read() == 'one'\nopen('7', 'w').close()"
    session: Any = await box.open(tmp_path, RunView(), run_id="smaller")
    if not session._has_layers:
        await session.close()
        missing("layers", "the kernel has no overlays for users")
    await passes(session, whole + SEES_COPY)
    await passes(session, whole + SEES_LAYER)
    await passes(session, whole + SEES_COPY + "\nos.rename('7', '8')")
    for _ in range(2):
        await passes(session, whole + SEES_COPY)
    await session.close()


@here
@isolating
async def test_layers_of_an_agents_own_making_mean_nothing(session: Any, box: Sandbox, workspace: Path) -> None:
    for name in ("opaque", "whiteout", "redirect", "metacopy", "origin"):
        os.setxattr(workspace / "folder", f"user.overlay.{name}", b"y")
        os.setxattr(workspace / "folder" / "inner" / "file", f"user.overlay.{name}", b"/etc/passwd")
    os.mknod(workspace / "many" / "whiteout", 0o600 | 0o020000, 0)
    planted: Any = await box.open(workspace, RunView(), run_id="planted")
    await passes(planted, FRESH + SEES_LAYER)
    await planted.close()
    session._has_layers = False
    session.expect(9)
    await passes(session, FRESH)


@here
@isolating
async def test_a_check_reaches_neither_the_shared_copy_nor_its_own_layer(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viva.sandbox.session.uses_files_plainly", lambda code: True)
    hostile = """
import os, ctypes
for top, folders, files in os.walk('/', onerror=None):
    if top == '/': folders[:] = [name for name in folders if name not in ('proc', 'sys', 'usr')]
    assert not {'copy', 'written', 'scratch'} & set(folders), top
for name in ('trusted.overlay.opaque', 'trusted.overlay.redirect'):
    try: os.setxattr('folder', name, b'y')
    except OSError: pass
    else: raise AssertionError(name)
for name in ('user.overlay.opaque', 'user.overlay.whiteout', 'user.overlay.redirect', 'user.overlay.metacopy'):
    try: os.setxattr('folder', name, b'/many'); os.setxattr('many/0', name, b'/many/1')
    except OSError: pass
assert os.listdir('folder') == ['inner'] and open('many/0').read() == 'one'
try: os.mknod('many/hidden', 0o020600, 0)
except PermissionError: pass
else: raise AssertionError('a whiteout was made')
assert ctypes.CDLL(None).umount2(b'/box', 2) == -1
for limit in range(3, 256):
    try: assert not os.path.isdir('/proc/self/fd/%d' % limit)
    except OSError: pass
os.chmod('many/1', 0o700); os.utime('many/0'); os.link('many/2', 'many/more'); open('many/more', 'a').write('x')
assert open('many/2').read() == 'onex'
"""
    await passes(session, hostile + SEES_LAYER)
    await passes(session, FRESH + SEES_LAYER)


@here
@pytest.mark.parametrize("kind", ["process"], indirect=True, scope="session")
async def test_without_a_world_there_are_copies(box: Sandbox, workspace: Path) -> None:
    session: Any = await box.open(workspace, RunView(), run_id="copies")
    assert not session._has_layers
    await session.close()


@pytest.mark.parametrize(
    "code",
    [
        "assert chat_history[-1].content.strip().replace(' ', '') == '4'",
        "import json, os\nassert json.load(open('a.json'))['b'] == 1 and os.path.exists('c')",
        "from pathlib import Path\nassert Path('a').read_text().replace('a', 'b', 1)",
        "import os.path\nfrom os import listdir, path\nassert listdir() and path.isdir('a')",
        "import shutil, sys\nshutil.copytree('a', 'b'); shutil.rmtree('a'); print('x', file=sys.stderr)",
        "import re, csv\nrows = list(csv.reader(open('a.csv')))\nassert re.search('a', rows[0][0])",
        "from datetime import datetime\nassert datetime.now().replace(2020, 1)",
    ],
)
def test_checks_that_read_and_write_files_are_plain(code: str) -> None:
    assert uses_files_plainly(code)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.rename('a', 'b')",
        "import os\nos.replace('a', 'b')",
        "import os\nmove = os.replace\nmove('a', 'b')",
        "import os\nx = os\nx.replace('a', 'b')",
        "import os as o\no.replace('a', 'b')",
        "import os\nos.system('mv a b')",
        "from os import replace",
        "from os import *",
        "import glob\nglob.os.replace('a', 'b')",
        "import pathlib\npathlib.Path('a').replace('b')",
        "import pathlib\npathlib.Path.replace('a', 'b')",
        "from pathlib import Path\nmap(Path.rename, [Path('a')], ['b'])",
        "from pathlib import Path\nmatch Path('a'):\n  case Path(rename=move): move('b')",
        "from pathlib import Path\nPath('a').replace(*['b'])",
        "import shutil\nshutil.move('a', 'b')",
        "import subprocess\nsubprocess.run(['./a'])",
        "import answer",
        "from . import answer",
        "import pickle\npickle.load(open('a', 'rb'))",
        "import mmap",
        "import sys\nsys.path.insert(0, 'a')",
        "import sys\nsys.modules['os'].rename('a', 'b')",
        "exec(open('a').read())",
        "getattr(__import__('os'), 'rename')('a', 'b')",
        "().__class__.__base__.__subclasses__()",
        "import os\nassert os.stat('a').st_nlink == 2",
        f"open('{HISTORY_FILE}')",
        "no python",
        "(" * 10_000,
        "\0",
    ],
)
def test_checks_that_may_do_more_are_not_plain(code: str) -> None:
    assert not uses_files_plainly(code)
