"""Fresh environments with Viva as users have it: built by its build system and installed by pip."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

from tests.conftest import missing
from tests.viva.viva_command import clean_environment

ROOT = Path(__file__).resolve().parents[2]
NEIGHBOURS = ("adapters", "records")
"""Distributions of others with names that Viva's packages had at the top."""
TOOLS = ("editables", "hatchling", "mypy", "pytest")
"""Beside what Viva requires: they build it, or are used together with it."""
KEPT = ROOT / ".ci" / "installed"
"""What is kept between test runs."""
SECONDS = 240.0
"""Until a command counts as hung: a type checker without its cache takes 20 on a machine with nothing else to do."""


@dataclass(frozen=True)
class Environment:
    """One virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def call(
        self, *words: str | Path, cwd: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of this environment, which knows nothing of the one that tests."""
        return subprocess.run(
            [self.folder / "bin" / words[0], *words[1:]],
            cwd=cwd,
            env={**_clean(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
        )

    def install(self, *what: str | Path) -> None:
        """Have pip install exactly this, without what it requires."""
        _pip("--python", self.python, "install", "--no-compile", "--no-deps", "--no-build-isolation", *what)

    def distributions(self) -> list[Distribution]:
        """What is installed in this environment itself."""
        return [PathDistribution(information) for information in self.site.glob("*.dist-info")]


class Workshop:
    """Makes environments; all processes of a test run share what is built, downloaded and installed once.

    Installing what Viva requires takes longer than everything else. It is therefore done once, in a folder that each
    environment has on its path, and kept for the next test runs until the requirements change.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        with self._once("workshop") as first:
            if first:
                self._keep()
                self._build()

    def environment(self, name: str, *installed: Sequence[str | Path]) -> Environment:
        """Make an environment, and have each group of `installed` installed after the one before.

        Whoever asks for the name next is given the same environment; nobody changes it.
        """
        made = Environment(self.folder / name)
        with self._once(name) as first:
            if first:
                subprocess.run([sys.executable, "-m", "venv", "--without-pip", made.folder], check=True)
                (made.site / "libraries.pth").write_text(f"{self._libraries}\n")
                for group in installed:
                    made.install(*group)
        return made

    @contextlib.contextmanager
    def _once(self, name: str) -> Iterator[bool]:
        """Tell whether nobody has made this yet; whoever else asks waits until it is made."""
        made = self.folder / f"{name}.made"
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield not made.exists()
            made.touch()

    @property
    def wheel(self) -> Path:
        return _only(self.folder / "built", "*.whl")

    @property
    def wheel_from_sdist(self) -> Path:
        return _only(self.folder / "from-sdist", "*.whl")

    @property
    def sdist(self) -> Path:
        return _only(self.folder / "built", "*.tar.gz")

    @property
    def neighbours(self) -> list[Path]:
        """The real distributions of `NEIGHBOURS`, as the registry has them."""
        return [_only(self._kept / "neighbours", f"{name}-*.whl") for name in NEIGHBOURS]

    @property
    def _libraries(self) -> Path:
        return self._kept / "libraries"

    @cached_property
    def _kept(self) -> Path:
        """The folder of what other distributions provide, which is named after all that decides on it."""
        constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
        decisive = repr((sys.version, os.fspath(ROOT), _required(), TOOLS, NEIGHBOURS, constraints))
        return KEPT / hashlib.sha256(decisive.encode()).hexdigest()[:16]

    def _keep(self) -> None:
        """Download and install what other distributions provide, unless a test run before has; forget what it had."""
        KEPT.mkdir(parents=True, exist_ok=True)
        with (KEPT / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (self._kept / "complete").exists():
                return
            for old in KEPT.iterdir():
                if old.is_dir():
                    shutil.rmtree(old)
            self._download()
            self._install_libraries()
            (self._kept / "complete").touch()

    def _download(self) -> None:
        words = ("--no-deps", "--retries", "0", "--timeout", "30", "--dest", self._kept / "neighbours")
        try:
            _pip("download", *words, *NEIGHBOURS)
        except AssertionError as error:
            missing("registry", f"pip cannot download packages: {str(error).splitlines()[-1]}")

    def _install_libraries(self) -> None:
        constraints = ("--constraint", ROOT / "constraints.txt")
        _pip("install", "--no-compile", "--target", self._libraries, *constraints, *_required(), *TOOLS)

    def _build(self) -> None:
        self._hatchling(ROOT, self.folder / "built", "sdist", "wheel")
        unpacked = self.folder / "unpacked"
        unpacked.mkdir()
        # The archive is our own; Python 3.11.2, which is Debian's, has no filters yet.
        subprocess.run(["tar", "-xzf", self.sdist, "-C", unpacked], check=True)
        self._hatchling(_only(self.folder / "unpacked", "*"), self.folder / "from-sdist", "wheel")

    def _hatchling(self, source: Path, out: Path, *targets: str) -> None:
        words = ["build", "--directory", str(out), *(word for target in targets for word in ("--target", target))]
        _run([sys.executable, "-m", "hatchling", *words], cwd=source, PYTHONPATH=str(self._libraries))


def _required() -> list[str]:
    """Return what Viva requires."""
    required: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return required


def top_names(site: Path) -> set[str]:
    """The names that are installed in a folder, without metadata and pip's own marks."""
    return {path.name for path in site.iterdir() if not re.search(r"\.(dist-info|pth)$|^__pycache__$", path.name)}


def _only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def _pip(*words: str | Path) -> None:
    _run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", *map(str, words)])


def _run(words: list[str], cwd: Path = ROOT, **environment: str) -> None:
    done = subprocess.run(words, cwd=cwd, env={**_clean(), **environment}, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def _clean() -> dict[str, str]:
    """An environment that knows nothing of the one that tests, and keeps byte code, as that of most users does."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in clean_environment().items() if key not in ours}
