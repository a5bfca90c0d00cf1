"""Collects the user's files that the nodes need into one folder, which Ray brings to each node once.

These are the code of agents and evaluators named by file or found in the current folder, the data files of cases, and
files that options name. Secrets are not among them: hidden files and environments are left out, and so are models'
component files, which may contain keys.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from viva.adapters.connectors.spec import CHILD, is_agent_file
from viva.adapters.connectors.table import CONNECTORS
from viva.adapters.connectors.varied_spec import VariedSpec, split_settings
from viva.cases import Case
from viva.cases.data_files import data_tree
from viva.errors import SetupError
from viva.exam.options import MODEL_FILES, Options, one_or_several
from viva.journal.kept_cases import NOWHERE
from viva.journal.lines import FILE as JOURNAL_FILE
from viva.judge.registry import read_spec
from viva.suites.job import WorkOrder
from viva.suites.on_ray.border import Plain

MIB = 1024 * 1024
MOST_BYTES = 100 * MIB
"""Maximum size of all files that are brought to the nodes."""
MOST_FILES = 10_000
LEFT_OUT = frozenset({"__pycache__", "node_modules", "venv"})
FILE_OPTIONS = ("apis", "session_config", "reference")
"""The options that name a file which is read."""


@dataclass(slots=True)
class Staging:
    """What was collected, and where the nodes find it."""

    folder: Path
    """The folder that is brought to the nodes."""
    agents: dict[str, str] = field(default_factory=dict)
    """The place of each agent, by its SPEC; paths are relative to `here` on the node."""
    evaluators: dict[str, str] = field(default_factory=dict)
    """The same for evaluators named by file, without their parameters."""
    data: dict[str, str] = field(default_factory=dict)
    """The folder with the data files of a case, by its hash."""
    _done: dict[Path, str] = field(default_factory=dict)
    _bytes: int = 0
    _files: int = 0

    def plain(self) -> dict[str, Plain]:
        """Return what a worker needs to know, relative to its working directory."""
        return {"here": "here", "agents": self.agents, "evaluators": self.evaluators, "data": self.data}

    def bring(self, path: Path) -> str:
        """Collect a file, or a folder with what is below it, and return its path relative to `here` on the node.

        Raises:
            SetupError: it is too large.
        """
        path = path.resolve()
        if path in self._done:
            return self._done[path]
        here = Path.cwd().resolve()
        inside = (
            path.relative_to(here)
            if path.is_relative_to(here)
            else Path("..", "parts", str(len(self._done)), path.name)
        )
        target = Path(os.path.normpath(self.folder / "here" / inside))
        if path.is_dir():
            self._copy_tree(path, target, path)
        else:
            self.copy(path, target, path.parent)
        self._done[path] = str(inside)
        return str(inside)

    def _copy_tree(self, source: Path, target: Path, whole: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        with os.scandir(source) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.name.startswith(".") or entry.name in LEFT_OUT:
                    continue
                if entry.is_dir(follow_symlinks=False) and Path(entry.path) != self.folder:
                    # An environment cannot be moved, and a journal is output.
                    if not any(
                        os.path.lexists(os.path.join(entry.path, name)) for name in ("pyvenv.cfg", JOURNAL_FILE)
                    ):
                        self._copy_tree(Path(entry.path), target / entry.name, whole)
                elif entry.is_file():
                    self.copy(Path(entry.path), target / entry.name, whole)

    def copy(self, source: Path, target: Path, whole: Path) -> None:
        """Collect one file; `whole` is the folder that is blamed if it is too much."""
        if target.exists():
            return
        self._files += 1
        self._bytes += source.stat().st_size
        if self._bytes > MOST_BYTES or self._files > MOST_FILES:
            raise SetupError(
                f"the files that the nodes need are more than {MOST_BYTES // MIB} MiB or {MOST_FILES:,} files; "
                f"{whole} is among them. Put the agent into a folder of its own, or install it on all nodes."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def stage(order: WorkOrder, folder: Path) -> tuple[WorkOrder, Staging]:
    """Collect what the nodes need for a work order, and return the order as the nodes get it.

    Args:
        order: The work order.
        folder: An empty folder.

    Raises:
        SetupError: a file is missing, the files are too large, or the parameters of an evaluator cannot be read.
    """
    staging = Staging(folder.resolve())
    (folder / "here").mkdir()
    try:
        for spec in order.agents:
            staging.agents[spec] = _stage_agent(spec, staging)
        options = _stage_options(order.options, staging)
        for case in order.cases:
            _stage_data(case, staging)
    except OSError as error:
        raise SetupError(f"what the nodes need cannot be collected: {error}") from error
    return replace(order, options=options), staging


def _stage_agent(spec: str, staging: Staging) -> str:
    varied = split_settings(spec)
    if varied.settings:
        files = {str(file): staging.bring(file) for file in varied.files() if file.is_file()}
        settings = {name: files.get(value, value) for name, value in varied.settings.items()}
        return str(VariedSpec(_stage_agent(varied.base, staging), settings))
    name, colon, rest = spec.partition(":")
    if name == "replay" and colon:
        path, mark, run = rest.rpartition("#")
        journal = Path(rest if not mark or Path(rest).exists() else path)
        if not (journal / JOURNAL_FILE).is_file():
            return spec
        found = staging.bring(journal)
        return f"replay:{found}{f'#{run}' if journal != Path(rest) else ''}"
    if name in CONNECTORS.builtin and colon:
        return spec
    if is_agent_file(spec) and Path(spec).is_file():
        # What it names is beside it.
        return str(Path(staging.bring(Path(spec).parent), Path(spec).name))
    child = CHILD.fullmatch(spec)
    staged = _stage_import(spec if child is None else f"{child['module']}:{child['name']}", staging)
    # An environment is not sent: it must exist at the same place on the node.
    return staged if child is None else f"{staged}@{Path(child['python']).absolute()}"


def _stage_import(spec: str, staging: Staging) -> str:
    """Collect the code that an import string names, if it is a file, or a module or package in the current folder."""
    source, colon, name = spec.partition(".py:")
    if colon or spec.endswith(".py"):
        file = Path(f"{source.removesuffix('.py')}.py")
        if not file.is_file():
            return spec  # loading it says what is wrong
        staging.bring(file.parent)
        inside = Path(staging.bring(file.parent), file.name)
        return f"{inside}{f':{name}' if colon else ''}"
    top = spec.partition(":")[0].partition(".")[0]
    for candidate in (Path(f"{top}.py"), Path(top)):
        if ":" in spec and top.isidentifier() and (candidate.is_file() or (candidate / "__init__.py").is_file()):
            # A module imports others that are beside it.
            staging.bring(Path())
            break
    return spec


def _stage_options(options: Options, staging: Staging) -> Options:
    changed: dict[str, str | tuple[str, ...] | None] = {}
    for name in FILE_OPTIONS:
        value = getattr(options, name)
        if value is not None and Path(value).is_file():
            changed[name] = staging.bring(Path(value))
    for spec in options.evaluators:
        part, _ = read_spec(spec)
        staged = _stage_import(part, staging)
        if ".py" in part:
            staging.evaluators[part] = staged
    changed["match_arguments"] = _stage_import(options.match_arguments, staging)
    if (options.examiner or "").startswith("replay:"):
        changed["examiner"] = _stage_agent(options.examiner or "", staging)
    models = ("model", "judge_model", "examiner_model", "backup_model")
    for name in models:
        value = getattr(options, name)
        names = (value,) if isinstance(value, str) else value or ()
        if any(each.endswith(MODEL_FILES) for each in names):
            absolute = (str(Path(each).absolute()) if each.endswith(MODEL_FILES) else each for each in names)
            changed[name] = one_or_several(absolute)
    return replace(options, **changed)  # type: ignore[arg-type]


def _stage_data(case: Case, staging: Staging) -> None:
    if not case.own_files or case.data_folder == NOWHERE:
        return
    target = staging.folder / "data" / case.hash
    for name in case.own_files:
        for file in data_tree(case.folder / name):
            staging.copy(file, target / file.relative_to(case.folder), case.folder)
        if (case.folder / name).is_dir():
            (target / name).mkdir(parents=True, exist_ok=True)
    staging.data[case.hash] = os.path.join("..", "data", case.hash)


def remove(folder: Path) -> None:
    """Remove what was collected, as far as possible."""
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
