"""Prepares the pages for the generator of the site: copies with links that lead somewhere, and generated pages.

The pages in `docs/` stay plain Markdown that reads well on GitHub, in `viva docs` and with any other generator. What
only a site needs is added to the copies: descriptions, and pages of source files that a page links to.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from docs.site import case_file, command_line, public_names

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(__file__).parent
UNSEARCHED = ("CHANGELOG.md",)
"""Pages that the search leaves out: they tell what was, in words of other pages."""
ROOT_PAGES = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages at the top of the repository, and their places in the site."""
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`(?!\])", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".js": "javascript", ".sh": "bash", ".html": "html"}
DESCRIPTION = 155
"""Length of a description in characters, as search engines show it."""


def prepare(out: Path, address: str = "") -> None:
    """Write all pages, pictures and the configuration into a folder, which is emptied first."""
    shutil.rmtree(out, ignore_errors=True)
    pages = out / "pages"
    linked: set[str] = set()
    for page, target in sources():
        text = _relinked(page.read_text(encoding="utf-8"), page, target, linked)
        _write(pages / target, _described(text, page.name not in UNSEARCHED))
    for path, text in generated():
        _write(pages / path, _described(text))
    for path in sorted(linked):
        _write(pages / source_page(path), _listing(path))
    for folder in ("images", "benchmarks"):
        for picture in (ROOT / "docs" / folder).iterdir():
            if picture.suffix in (".svg", ".png"):
                (pages / folder).mkdir(exist_ok=True)
                shutil.copy(picture, pages / folder)
    shutil.copytree(SITE / "assets", pages / "assets")
    shutil.copytree(SITE / "theme", out / "theme")
    _write(out / "zensical.toml", configuration(address))


def sources() -> Iterator[tuple[Path, str]]:
    """Yield each page of the repository, and its place in the site."""
    for name, target in ROOT_PAGES.items():
        yield ROOT / name, target
    for page in sorted((ROOT / "docs").rglob("*.md")):
        yield page, page.relative_to(ROOT / "docs").as_posix()


def generated() -> Iterator[tuple[str, str]]:
    """Yield place and text of each page that is generated from the code."""
    yield from command_line.pages()
    yield from public_names.pages()
    yield from case_file.pages()


def navigation() -> Iterator[str]:
    """Yield the pages that the navigation names, those of generated folders included."""

    def below(entries: list[object]) -> Iterator[str]:
        for entry in entries:
            if isinstance(entry, str):
                yield entry
            elif isinstance(entry, dict):
                for inside in entry.values():
                    yield from below(inside if isinstance(inside, list) else [inside])

    yield from below(tomllib.loads(configuration())["project"]["nav"])


def source_page(path: str) -> str:
    """Return the place in the site of a file or folder of the repository that is no page."""
    return f"source/{path.replace('/', '-').replace('.', '-')}.md"


def configuration(address: str = "") -> str:
    """Return the generator's configuration, with the generated pages, and the address of the site if it is known."""
    text = (SITE / "zensical.toml").read_text(encoding="utf-8")
    if address:
        text = text.replace("[project]\n", f"[project]\nsite_url = {json.dumps(address)}\n", 1)
    for marker, source in (("@commands", command_line), ("@python", public_names)):
        names = sorted(path for path, _ in source.pages() if not path.endswith("/index.md"))
        text = text.replace(f'"{marker}"', ", ".join(f'"{name}"' for name in names))
    return text


def _relinked(text: str, page: Path, target: str, linked: set[str]) -> str:
    """Point every relative link to where its file is in the site; a file that is no page gets one."""
    kept: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    def moved(found: re.Match[str]) -> str:
        address = found[2]
        if re.match(r"[a-z]+:|#", address):
            return found[0]
        path, mark, anchor = address.partition("#")
        file = (page.parent / path).resolve().relative_to(ROOT).as_posix()
        if file in ROOT_PAGES:
            place = ROOT_PAGES[file]
        elif file.startswith("docs/"):
            place = file.removeprefix("docs/")
        else:
            linked.add(file)
            place = source_page(file)
        up = "../" * (len(PurePosixPath(target).parts) - 1)
        return f"{found[1]}{up}{place}{mark}{anchor}{found[3]}"

    text = LINK.sub(moved, CODE.sub(put_aside, text))
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)


def _listing(path: str) -> str:
    """Return a page with the text of a source file, or of each file in a folder."""
    found = ROOT / path
    files = [found] if found.is_file() else sorted(file for file in found.rglob("*") if _is_text(file))
    parts = ["---\nsearch:\n  exclude: true\n---", f"# {path}"]
    for file in files:
        if found.is_dir():
            parts.append(f"## {file.relative_to(found).as_posix()}")
        parts.append(f"````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text(encoding='utf-8').rstrip()}\n````")
    return "\n\n".join(parts) + "\n"


def _is_text(file: Path) -> bool:
    return (
        file.is_file()
        and "__pycache__" not in file.parts
        and file.suffix in {*LANGUAGES, ".md", ".txt", ".json", ".csv"}
    )


def _described(text: str, searched: bool = True) -> str:
    """Put the first paragraph, as plain text, into the page's head."""
    body = CODE.sub(lambda found: "" if found[0].startswith("```") else found[0].strip("`"), text.split("\n", 1)[1])
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", body))
    first = next((part for part in paragraphs if re.match(r"[A-Z`*\[]", part)), "")
    first = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|[*`\\]", lambda found: found[1] or "", first).replace('"', "'")
    if len(first) > DESCRIPTION:
        first = first[: DESCRIPTION - 1].rpartition(" ")[0].rstrip(",;:") + "…"
    head = [f'description: "{first}"'] if first else []
    head += [] if searched else ["search:\n  exclude: true"]
    return "\n".join(("---", *head, "---", "", text)) if head else text


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
