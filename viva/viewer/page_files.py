"""The files of the viewer's page as a browser gets them: all modules as one script, and all styles as one sheet.

One file arrives sooner than eighteen that name each other, and a browser runs it even if the page is opened from a
disk.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from viva.viewer.bundle import bundle

SCRIPT, STYLES = "viewer.js", "viewer.css"
START = '<script type="application/json" id="start">{}</script>'
"""Where the page has what it would ask first, by the ends of addresses: with nothing in it, and as a format."""
_MAIN, _API = "main.js", "api.js"
_FOLDERS = ("viva.viewer", "pages"), ("viva.viewer.export", "pages"), ("viva.reports.page", "templates")


@cache
def joined(name: str, *, api: str = _API) -> str:
    """Return the script or the styles of the page.

    Args:
        name: `SCRIPT` or `STYLES`.
        api: The module that answers the page's questions.
    """
    if name == STYLES:
        return _source("page.css") + _source(STYLES)
    return _source("run_parts.js") + bundle(_MAIN, lambda module: _source(api if module == _API else module))


@cache
def html() -> str:
    """Return the page, which loads `page/viewer.js` and `page/viewer.css`."""
    return _source("index.html")


def _source(name: str) -> str:
    for package, folder in _FOLDERS:
        file = files(package) / folder / name
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(name)
