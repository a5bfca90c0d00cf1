"""Joins the modules of the viewer's page into one plain script, which a browser also runs from a file."""

from __future__ import annotations

import re
from collections.abc import Callable

_IMPORT = re.compile(r'^import \{ ([\w$, ]+) \} from "\./([a-z_]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:const|class|function|async function) ([\w$]+)", re.MULTILINE)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*$|\bimport\s*[.(]", re.MULTILINE)


def bundle(main: str, read: Callable[[str], str]) -> str:
    """Return a script that does what a module and those that it imports do.

    Args:
        main: The file name of the module.
        read: Returns the source of a module.

    Raises:
        ValueError: a module imports or exports in another form than `import { a, b } from "./file.js"` and
            `export const|class|function`, or modules import each other.
    """
    done: dict[str, str] = {}
    _add(main, read, done, ())
    body = "\n".join(f'modules["{name}"] = {source};' for name, source in done.items() if name != main)
    return f'"use strict";\n(async () => {{\nconst modules = {{}};\n{body}\nawait {done[main]};\n}})();\n'


def _add(name: str, read: Callable[[str], str], done: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"{name} imports itself through {above[-1]}")
    source = read(name)
    for _, other in _IMPORT.findall(source):
        if other not in done:
            _add(other, read, done, (*above, name))
    names = _EXPORT.findall(source)
    source = _IMPORT.sub(lambda found: f'const {{ {found[1].replace(" as ", ": ")} }} = modules["{found[2]}"];', source)
    source = _EXPORT.sub(lambda found: found[0].removeprefix("export "), source)
    if unknown := _UNKNOWN.search(source):
        raise ValueError(f"{name}: {unknown[0]!r} is of another form than the export understands")
    if above:
        done[name] = f"(() => {{\n{source}\nreturn {{ {', '.join(names)} }};\n}})()"
    else:
        done[name] = f"(async () => {{\n{source}\n}})()"
