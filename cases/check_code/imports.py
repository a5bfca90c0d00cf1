"""Finds which modules a check imports, and which of them the case explains: by data files, or by its own words.

The standard library and what the `dependencies` bring are found by whoever has a sandbox.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from viva.cases.case import Case, ScoringPoint
from viva.cases.check_code.certain import certain_nodes

PROVIDED = frozenset({"langchain", "langchain_core"})
"""Packages of which the sandbox provides the parts that TaskWeaver's checks use."""
DISTRIBUTIONS = {
    "PIL": "pillow", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless", "dateutil": "python-dateutil",
    "docx": "python-docx", "dotenv": "python-dotenv", "fitz": "pymupdf", "jwt": "pyjwt", "pptx": "python-pptx",
    "serial": "pyserial", "skimage": "scikit-image", "sklearn": "scikit-learn", "yaml": "pyyaml",
}  # fmt: skip
"""Well-known packages whose distribution has another name than their module."""
LIBRARIES = frozenset(DISTRIBUTIONS) | {
    "aiohttp", "altair", "attr", "babel", "bokeh", "chardet", "click", "cryptography", "django", "duckdb", "faker",
    "fastapi", "flask", "geopandas", "httpx", "hypothesis", "jinja2", "jsonschema", "keras", "langdetect", "lxml",
    "markdown", "matplotlib", "mpmath", "networkx", "nltk", "numba", "numpy", "openpyxl", "pandas", "plotly", "polars",
    "pyarrow", "pydantic", "pypdf", "pytest", "pytz", "rapidfuzz", "regex", "requests", "rich", "scipy", "seaborn",
    "shapely", "spacy", "sqlalchemy", "statsmodels", "sympy", "tabulate", "tensorflow", "toml", "torch", "tqdm",
    "transformers", "xlrd", "xlsxwriter", "xmltodict",
}  # fmt: skip
"""Well-known modules of packages: a task that mentions one asks for its use, not for a module of that name."""
_TEXT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Imported:
    """A top-level module that a check imports."""

    name: str
    line: int
    """Counted from 1, in the check."""
    is_certain: bool
    """Whether the check cannot pass without it: the import is not in a branch, nor guarded by `try`."""


def imports_of(code: str) -> list[Imported]:
    """Return the modules that code imports, in the order of their lines; none if it does not compile."""
    try:
        tree = ast.parse(code)
        certain = {id(node) for node in certain_nodes(tree)}
        guarded = {id(each) for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers
                   for part in node.body for each in ast.walk(part)}  # fmt: skip
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: dict[str, Imported] = {}
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        for name in _modules(node):
            one = Imported(name, getattr(node, "lineno", 1), id(node) in certain)
            if name not in found or (one.is_certain and not found[name].is_certain):
                found[name] = one
    return sorted(found.values(), key=lambda each: each.line)


def _modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]


def unexplained_imports(case: Case, code: str) -> list[Imported]:
    """Return the imports of a check that only an installed package can satisfy."""
    return [
        each
        for each in imports_of(code)
        if each.name not in sys.stdlib_module_names
        and each.name not in PROVIDED
        and not is_named(case, each.name)
        and not _is_in_data(case, each.name)
    ]


def is_named(case: Case, module: str, *more: ScoringPoint) -> bool:
    """Return whether the case's own words name a module, so that the agent may be expected to write it.

    A file (`solution.py`) or a folder (`shop/`) counts anywhere in the case, a quoted name in a check (which may make
    the module itself), and the mere name in what the case says, unless it is that of a well-known library. `more` are
    further points.
    """
    points = (*case.scoring_points, *more)
    said = (case.task_description, *(point.score_point for point in points))
    said += tuple(line.say for line in case.script)
    code = tuple(point.eval_code or "" for point in points)
    name = re.escape(module)
    file = re.compile(rf"(?<![\w.]){name}(?:\.py\b|/)")
    quoted = re.compile(rf"(['\"]){name}\1")
    if any(file.search(text) for text in said + code) or any(quoted.search(text) for text in code):
        return True
    if module in LIBRARIES:
        return False
    # `my_shop` may be called "my-shop" or "My Shop" where it is described.
    loose = re.sub("_+", lambda _: r"[\W_]*", name)
    word = re.compile(rf"(?<!\w){loose}(?!\w)", re.IGNORECASE)
    return any(word.search(text) for text in said)


def _is_in_data(case: Case, module: str) -> bool:
    """Return whether the data files hold a module, or a text that names it."""
    word = re.compile(rf"(?<!\w){re.escape(module)}(?!\w)")
    for name in case.data_files:
        top = case.folder / name
        for path in [top, *(top.rglob("*") if top.is_dir() else ())]:
            if path.stem == module or (module not in LIBRARIES and word.search(_text(path))):
                return True
    return False


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _TEXT_BYTES:
            return ""
        return path.read_bytes().decode("utf-8", "ignore")
    except OSError:
        return ""


def advice(module: str) -> str:
    """Return what to do about a module that nobody provides."""
    package = DISTRIBUTIONS.get(module, module)
    return f"add {package!r} to dependencies; if the agent is to write it, name {module}.py in the task"
