"""The documentation as a site: it builds without a warning, has every page, and its search finds what there is."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
import yaml

import viva as package
from docs.site import tree
from docs.site.__main__ import OUT
from docs.site.command_line import flags, options, subcommands
from docs.site.public_names import area_of
from docs.site.tree import ROOT
from tests.docs.newcomer import BEGINNINGS, ELSEWHERE
from tests.docs.site_builds import built, searched
from tests.viva.reports.browser import Browser, installed
from viva.cases import Case
from viva.cases.field_readers import case_keys
from viva.cases.points.reader import POINT_KEYS
from viva.cli.group import viva


def all_options(group: click.Group, context: click.Context) -> Iterator[str]:
    """Yield the options of a group and of the commands below it."""
    yield from (flag for option in options(group) for flag in flags(option))
    for command, inner in subcommands(group, context):
        if isinstance(command, click.Group):
            yield from all_options(command, inner)
        else:
            yield from (flag for option in options(command) for flag in flags(option))


OPTIONS = sorted(set(all_options(viva, click.Context(viva, info_name="viva"))))
KEYS = sorted({*case_keys(Case), *POINT_KEYS})
NAMES = list(package.__all__)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, from a strict build."""
    return built(tmp_path_factory)


class Search:
    """What the site's search finds: the answers to all queries of this module, from one start of its worker."""

    def __init__(self, site: Path) -> None:
        queries = {*OPTIONS, *KEYS, *NAMES, *BEGINNINGS, *ELSEWHERE}
        queries |= {f"case file {key}" for key in KEYS} | {f"viva.{name}" for name in NAMES}
        ordered = sorted(queries)
        self.found = dict(zip(ordered, searched(site, ordered), strict=True))

    def misses(self, wanted: Mapping[str, str], first: int) -> dict[str, list[str]]:
        """The queries whose place is not among the first results, with the three that are."""
        return {
            query: self.found[query][:3]
            for query, place in wanted.items()
            if not any(re.fullmatch(place, result) for result in self.found[query][:first])
        }


@pytest.fixture(scope="module")
def search(site: Path) -> Search:
    """The site's search."""
    return Search(site)


def test_every_page_is_in_the_navigation_once() -> None:
    named = list(tree.navigation())
    assert len(named) == len(set(named))
    pages = {target for _, target in tree.sources()} | {path for path, _ in tree.generated()}
    assert set(named) == pages


def test_every_page_says_in_its_head_what_it_is_about(site: Path) -> None:
    without = [
        page.relative_to(site).as_posix()
        for page in site.rglob("*.html")
        if not re.search(r'<meta name="?description"? content="[^"]{20,160}"', page.read_text(encoding="utf-8"))
    ]
    assert without == []


def test_the_search_finds_everything_that_has_a_name(search: Search) -> None:
    assert len(OPTIONS) > 140
    options = {flag: f"reference/commands/.*-{re.escape(flag.strip('-'))}" for flag in OPTIONS}
    keys = {key: f"reference/case-file.html#{key}" for key in KEYS}
    names = {name: f"reference/python/{area_of(name)}.html#{name.lower()}" for name in NAMES}
    begun = {flag for flag in OPTIONS if any(other != flag and other.startswith(flag) for other in OPTIONS)}
    assert search.misses({flag: place for flag, place in options.items() if flag not in begun}, 3) == {}
    assert search.misses(options, 10) == {}
    assert search.misses({f"case file {key}": place for key, place in keys.items()}, 3) == {}
    assert search.misses({f"viva.{name}": place for name, place in names.items()}, 5) == {}
    # Alone, the word may be one of many pages, but its own place is among those shown first.
    assert search.misses(keys | names, 10) == {}


def test_a_newcomer_finds_what_was_typed(search: Search, site: Path) -> None:
    wanted = {query: f"how-do-i.html#{anchor_of(words)}.*" for query, words in BEGINNINGS.items()}
    wanted |= {query: re.escape(place) for query, place in ELSEWHERE.items()}
    assert search.misses(wanted, 3) == {}


def anchor_of(words: str) -> str:
    return re.sub(r"[^\w-]", "", words.lower().replace(" ", "-"))


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    loading = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="?(?:https?:)?//[^" >]+')
    assert [found for page in site.rglob("*.html") for found in loading.findall(page.read_text(encoding="utf-8"))] == []


def test_a_page_that_is_not_there_leads_back(site: Path) -> None:
    text = (site / "404.html").read_text(encoding="utf-8")
    assert "There is no such page" in text
    assert re.search(r'href="?(?:[./]*)index.html', text)


def test_the_workflow_publishes_what_the_build_makes() -> None:
    workflow = yaml.safe_load((tree.SITE / "github-pages.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = workflow["jobs"]["build"]["steps"]
    (command,) = (step["run"] for step in steps if "run" in step)
    command = command.replace("${{ steps.pages.outputs.base_url }}", "https://owner.github.io/viva")
    done = subprocess.run(["make", "--dry-run", *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, text=True)
    assert "-m docs.site --address https://owner.github.io/viva/" in done.stdout
    (uploaded,) = (step["with"]["path"] for step in steps if "upload-pages-artifact" in step.get("uses", ""))
    assert ROOT / uploaded == OUT
    assert workflow["jobs"]["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_a_page_that_is_not_there_finds_its_style_below_the_address_of_the_site() -> None:
    assert 'site_url = "https://owner.github.io/viva/"' in tree.configuration("https://owner.github.io/viva/")


@pytest.mark.soak
@pytest.mark.skipif(not installed(), reason="needs chromium and chromedriver")
def test_the_search_works_in_a_browser_without_a_server(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.go(site / "index.html")
        browser.click("button.md-search__button")
        field = "[...document.querySelectorAll('*')].map((e) => e.shadowRoot).find(Boolean)"
        browser.until(f"{field}")
        for key in "--trials":
            browser.press(key)
        browser.until(f"{field}.querySelector('a[href*=\"viva-suite-trials\"]')")
        assert browser.requests() == []
        assert browser.complaints() == []
