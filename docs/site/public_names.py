"""Pages about Python, from the docstrings of `viva.__all__`: one for each area, with a section for each name."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import viva
from docs.site.markdown import code, docstring, plain

FOLDER = "reference/python"
AREAS = {
    "functions": ("Functions", "Run exams and suites, judge, replay, import and export.", ("viva.api",)),
    "cases": ("Cases", "A case and its parts.", ("viva.cases",)),
    "agents": (
        "Agents and options",
        "What an adapter implements, and the options of an exam.",
        ("viva.adapters", "viva.exam"),
    ),
    "results": (
        "Runs, verdicts and statistics",
        "What is stored of a run, and the figures over many.",
        ("viva.records", "viva.journal", "viva.statistics", "viva.interchange"),
    ),
    "observing": (
        "Observing and analysis",
        "Sessions that Viva does not run, and their analysis.",
        ("viva.observe", "viva.recordings", "viva.analysis", "viva.judge", "viva.sinks"),
    ),
    "errors": ("Errors", "What is raised.", ("viva.errors", "viva.sandbox")),
}
"""Of each page: its title, what it says first, and the packages whose names it has."""
BORN_WITH = (object, Exception, BaseException, enum.Enum, enum.StrEnum, str, tuple)


def area_of(name: str) -> str:
    """Return the page of a public name.

    Raises:
        LookupError: its package is in no area; add it to one.
    """
    found = getattr(viva, name)
    if isinstance(found, type) and issubclass(found, Exception):
        return "errors"
    home = getattr(found, "__module__", "")
    for page, (_, _, packages) in AREAS.items():
        if home.startswith(tuple(f"{package}." for package in packages)) or home in packages:
            return page
    raise LookupError(f"viva.{name} is defined in {home}, which is in no area of {__name__}.AREAS")


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of each page."""
    names: dict[str, list[str]] = {page: [] for page in AREAS}
    for name in viva.__all__:
        names[area_of(name)].append(name)
    rows = []
    for page, (title, first, _) in AREAS.items():
        listed = ", ".join(f"[`{name}`]({page}.md#{name.lower()})" for name in names[page])
        rows.append(f"| [{title}]({page}.md) | {listed} |")
        sections = [f"# {title} (Python)", f"{first} Everything here is imported from `viva`."]
        sections += [part for name in names[page] for part in _sections(name)]
        yield f"{FOLDER}/{page}.md", "\n\n".join(sections) + "\n"
    yield (
        f"{FOLDER}/index.md",
        "# Public names of viva (Python)\n\nEvery name that `import viva` offers, with its signature and docstring. "
        "[Use Viva from Python](../../python.md) shows programs.\n\n| page | names |\n|---|---|\n"
        + "\n".join(rows)
        + "\n",
    )


def _sections(name: str) -> Iterator[str]:
    found = getattr(viva, name)
    yield f"## viva.{name} {{ #{name.lower()} }}"
    if not isinstance(found, type):
        yield from _function(name, inspect.unwrap(found), found)
        return
    plain_data = dataclasses.is_dataclass(found) or issubclass(found, enum.Enum) or hasattr(found, "model_fields")
    if not plain_data and "__init__" in vars(found) and not getattr(found, "_is_protocol", False):
        yield _signature(name, found)
    yield docstring(found.__doc__) if not _generated(found) else ""
    fields = list(_fields(found))
    if fields:
        yield "\n".join(fields)
    for inner, method in _methods(found):
        yield f"### {inner} {{ #{name.lower()}-{inner.lower()} }}"
        yield from _function(inner, method, method)


def _generated(found: type) -> bool:
    """Whether the docstring is the signature that `dataclass` writes where there is none."""
    return (found.__doc__ or "").startswith(f"{found.__name__}(")


def _function(name: str, found: Callable[..., Any], shown: Callable[..., Any]) -> Iterator[str]:
    if isinstance(found, property):
        yield f"A property. {docstring(found.__doc__)}"
        return
    yield _signature(name, shown)
    yield docstring(inspect.getdoc(shown) or inspect.getdoc(found))


def _signature(name: str, found: Callable[..., Any]) -> str:
    signature = inspect.signature(found)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    shown = list(_shown(parameters))
    kind = "async " if inspect.iscoroutinefunction(found) else ""
    returned = "" if isinstance(found, type) else _annotated(" -> ", signature.return_annotation)
    whole = f"{kind}{name}({', '.join(shown)}){returned}"
    if len(whole) > 88:
        whole = f"{kind}{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){returned}"
    return f"```python\n{whole}\n```"


def _shown(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        starred |= star == "*"
        default = "" if each.default is each.empty else f" = {each.default!r}"
        yield f"{star}{each.name}{_annotated(': ', each.annotation)}{default}"


def _annotated(before: str, annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    return before + (annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def _fields(found: type) -> Iterator[str]:
    """List the fields that the class and its own bases declare, with the text below each."""
    for base in reversed(found.__mro__):
        if not base.__module__.startswith("viva."):
            continue
        for name, type_, default, text in _declared(base):
            value = f" = {default}" if default is not None else ""
            shown = f"{name}: {type_}{value}" if type_ else f"{name}{value}"
            yield f"- {code(shown)}" + (f"  \n  {plain(' '.join(text.split()))}" if text else "")


@functools.cache
def _declared(base: type) -> list[tuple[str, str, str | None, str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
    except (OSError, TypeError):
        return []
    (body,) = (each.body for each in tree.body if isinstance(each, ast.ClassDef))
    enumeration = issubclass(base, enum.Enum)
    found = []
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name, type_ = statement.target.id, ast.unparse(statement.annotation)
        elif enumeration and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, type_ = statement.targets[0].id, ""
        else:
            continue
        if name.startswith("_") or type_.startswith("ClassVar"):
            continue
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            text = after.value.value
        default, told = _default(statement.value)
        found.append((name, type_, default, f"{told} {text}".strip()))
    return found


def _default(value: ast.expr | None) -> tuple[str | None, str]:
    """Return the default as source, and the help of an option that is declared by a call."""
    if isinstance(value, ast.Call):
        texts = [each.value for each in value.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        texts += [
            each.value.value
            for each in value.keywords
            if each.arg == "help" and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
        ]
        return None, max(texts, key=len, default="")
    return (None if value is None else ast.unparse(value)), ""


def _methods(found: type) -> Iterator[tuple[str, Any]]:
    seen = set()
    for base in found.__mro__:
        if not base.__module__.startswith("viva.") or base in BORN_WITH:
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            inner = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if isinstance(inner, property) or (inspect.isfunction(inner) and inner.__doc__):
                seen.add(name)
                yield name, inner
