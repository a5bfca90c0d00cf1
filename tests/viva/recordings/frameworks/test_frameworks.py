"""Recordings of real frameworks with a scripted model: what the script put in comes out.

Each folder beside this file holds a recording (`spans.jsonl`), its truth (`truth.json`), and where something cannot be
read, what (`gaps.json`). `make/NAME.py` made them; `make soak` makes them again with the newest versions that
`make/NAME.txt` allows.
"""

from __future__ import annotations

import faulthandler
import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viva.recordings.frameworks.truth import FRAMEWORKS, NAMES, compare, known_gaps

ROOT = Path(__file__).resolve().parents[4]
MAKE = FRAMEWORKS / "make"
LEAST_RIGHT = 0.95
MOST_BYTES = 60_000
INSTALLED_WITHIN = 1_800
"""Seconds."""


def spans_of(folder: Path) -> Path:
    """Find the recording in a folder."""
    return next(file for file in sorted(folder.iterdir()) if file.name not in ("truth.json", "gaps.json"))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_script_put_in_comes_out(name: str) -> None:
    folder = FRAMEWORKS / name
    compared = compare(spans_of(folder), folder / "truth.json")
    assert compared.wrong == known_gaps(folder), "a gap that was closed is taken out of gaps.json"


def test_nearly_all_steps_of_all_frameworks_are_read_right() -> None:
    compared = [compare(spans_of(FRAMEWORKS / name), FRAMEWORKS / name / "truth.json") for name in NAMES]
    assert sum(each.right for each in compared) >= LEAST_RIGHT * sum(each.steps for each in compared)


_PATH = re.compile(r"(?<![\w:/.<])/[A-Za-z][\w.-]*/[\w./-]+")
"""The path of a file; the scripts write `/app` for the folders of the machine that they run on."""


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_small_and_names_no_machine(name: str) -> None:
    file = spans_of(FRAMEWORKS / name)
    assert file.stat().st_size <= MOST_BYTES
    text = (gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).decode()
    assert [path for path in _PATH.findall(text) if not path.startswith("/app/")] == []


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in NAMES if (MAKE / f"{name}.py").exists()])
def test_recordings_that_are_made_now_say_the_same(name: str, tmp_path: Path) -> None:
    # Packages may take longer to install than a test may hang; what runs here has limits of its own.
    faulthandler.cancel_dump_traceback_later()
    python = environment(name)
    paths = {"PYTHONPATH": str(ROOT), "NODE_PATH": str(packages(name))}
    command = [python, "-P", MAKE / f"{name}.py", tmp_path]
    subprocess.run(command, check=True, env={**os.environ, **paths}, timeout=300)
    compared = compare(spans_of(tmp_path), tmp_path / "truth.json")
    assert [wrong for wrong in compared.wrong if wrong not in known_gaps(FRAMEWORKS / name)] == []


def environments() -> Path:
    """Return the folder for the frameworks' environments."""
    return Path(os.environ.get("VIVA_FRAMEWORKS") or ROOT / ".ci/frameworks")


def environment(name: str) -> Path:
    """Return the Python of a framework's own environment, which is made anew when `make/NAME.txt` changes."""
    listed = MAKE / f"{name}.txt"
    folder = environments() / name
    installed = folder / "installed.txt"
    python = folder / "bin/python"
    if not installed.exists() or installed.read_text() != listed.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", listed]
        subprocess.run(pip, check=True, timeout=INSTALLED_WITHIN)
        shutil.copy(listed, installed)
    return python


def packages(name: str) -> Path:
    """Return the packages for Node, where a framework is one of them; they are those of `make/NAME.json`."""
    listed, folder = MAKE / f"{name}.json", environments() / f"{name}_node"
    installed = folder / "installed.json"
    if listed.exists() and not (installed.exists() and installed.read_text() == listed.read_text()):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(listed, folder / "package.json")
        npm = ["npm", "install", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(npm, check=True, cwd=folder, timeout=INSTALLED_WITHIN)
        shutil.copy(listed, installed)
    return folder / "node_modules"
