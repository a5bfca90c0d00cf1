"""A command in a shell whose process is warm prints, ends and is stopped as one whose process is fresh."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.viva.viva_command import VIVA, clean_environment
from tests.warm.commands import can_be_warm
from tests.warm.typed import script_of, typed_programs

pytestmark = pytest.mark.skipif(not can_be_warm(None, {}), reason="this system has no warm processes")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """A folder with a warm `viva`, and one with a fresh one."""
    with typed_programs(VIVA) as warm:
        made = []
        for text in (warm["viva"], script_of([str(VIVA)])):
            folder = tmp_path_factory.mktemp("bin")
            (folder / "viva").write_text(text)
            (folder / "viva").chmod(0o755)
            made.append(folder)
        yield made


def typed(folder: Path, text: str, cwd: Path) -> tuple[int, str, str]:
    env = clean_environment() | {"PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", text], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "text", ["viva --version", "viva replay nothing", "viva nothing", "viva cases --json | tail -n 1"]
)
def test_it_says_the_same_and_ends_alike(folders: list[Path], tmp_path: Path, text: str) -> None:
    warm, fresh = (typed(folder, text, tmp_path) for folder in folders)
    assert warm == fresh


def test_a_signal_reaches_it(folders: list[Path], tmp_path: Path) -> None:
    agent = """
        import os, time

        class Agent:
            def __init__(self, task_description):
                pass

            def get_reply_from_agent(self, message):
                open("asked", "w").close()
                time.sleep(600)

            def close(self):
                pass
    """
    (tmp_path / "agent.py").write_text(textwrap.dedent(agent))
    text = """
        viva run echo --agent agent.py:Agent --isolate --sandbox process --quiet --out journal & started=$!
        until [ -e asked ]; do sleep 0.05; done
        kill -TERM $started
        wait $started
    """
    code, _, _ = typed(folders[0], text, tmp_path)
    assert code == 130  # with which viva says that it was stopped
