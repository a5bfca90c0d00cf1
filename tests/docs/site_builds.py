"""The site of the documentation, built once for all tests, and its own search."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from docs.site.__main__ import build
from tests.environments import folder_of

SEARCH = Path(__file__).parent / "search.js"


def built(folders: pytest.TempPathFactory) -> Path:
    """Return the folder of the site; the processes of a session of pytest share it."""
    folder_of("site")
    base = folders.getbasetemp()
    shared = (base.parent if base.name.startswith("popen-") else base) / "documentation"
    shared.mkdir(exist_ok=True)
    site = shared / "site"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not site.exists():
            assert build(shared / "tree", site) == 0, "the strict build of the documentation failed"
    return site


def searched(site: Path, queries: Sequence[str]) -> list[list[str]]:
    """Return for each query the addresses that the site's search finds, best first.

    It is the site's own worker with its own index, in node.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    done = subprocess.run(
        [node, SEARCH, site], input=json.dumps(queries), capture_output=True, text=True, timeout=300, check=True
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found
