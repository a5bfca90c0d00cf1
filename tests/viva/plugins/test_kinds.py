"""Parts are found by name, import string and entry point; every mistake says what there is and what to write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributions import install
from viva.plugins.import_strings import PluginError, import_source
from viva.plugins.kinds import FoundPart, Kind, load, names, split

COLOURS = Kind("colour", "viva_test.colours", {"red": "string:ascii_lowercase", "green": "string:digits"})


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installed distributions go here."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def announce(site: Path, distribution: str, version: str, module: str, source: str, **points: str) -> None:
    install(site, distribution, version, {module: source}, {COLOURS.group: points})


def test_a_name_of_the_table_is_imported_when_it_is_used() -> None:
    assert load(COLOURS, "green") == "0123456789"


def test_an_import_string_names_a_module_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paint_of_mine.py").write_text("class Tin:\n    lid = 7\n")
    monkeypatch.chdir(tmp_path)
    assert load(COLOURS, "paint_of_mine:Tin.lid") == 7
    assert load(COLOURS, f"{tmp_path}/paint_of_mine.py:Tin").lid == 7
    assert load(COLOURS, "paint_of_mine.py:Tin") is load(COLOURS, f"{tmp_path}/paint_of_mine.py:Tin")
    del sys.modules["paint_of_mine"]


def test_neighbours_are_imported_without_the_path_and_never_before_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "parts" / "a_part.py").write_text("import json, neighbour_of_part as n\nTHING = n.WORD, json.dumps\n")
    (tmp_path / "parts" / "neighbour_of_part.py").write_text("WORD = 'hello'")
    (tmp_path / "parts" / "json.py").write_text("raise RuntimeError('the wrong one')")
    monkeypatch.chdir(tmp_path / "here")
    before = list(sys.path)
    assert load(COLOURS, f"{tmp_path}/parts/a_part.py:THING")[0] == "hello"
    assert sys.path == before
    del sys.modules["neighbour_of_part"]


def test_an_entry_point_is_found_by_its_name(site: Path) -> None:
    announce(site, "blue-paint", "1.2", "blue_paint", "class Blue: pass", blue="blue_paint:Blue")
    assert load(COLOURS, "blue").__name__ == "Blue"
    assert names(COLOURS)[-1] == FoundPart("blue", "blue-paint 1.2", "blue_paint:Blue")


def test_the_list_imports_nothing_and_a_broken_distribution_does_not_hide_the_others(site: Path) -> None:
    announce(site, "bad-paint", "0.1", "bad_paint", "raise OSError('no pigment')", bad="bad_paint:Bad")
    announce(site, "worse-paint", "0.2", "worse_paint", "", worse="not even, a value")
    (site / "worse_paint-0.2.dist-info" / "METADATA").unlink()
    announce(site, "blue-paint", "1.2", "blue_paint_too", "", blue="blue_paint_too:Blue", red="blue_paint_too:Red")
    found = {each.name: each.where for each in names(COLOURS) if each.where != "built-in"}
    assert found["bad"] == "bad-paint 0.1"
    assert found["blue"] == "blue-paint 1.2"
    assert found["red"] == "blue-paint 1.2, hidden by the built-in one"
    assert "worse" in found
    assert "bad_paint" not in sys.modules


def test_an_entry_point_that_cannot_be_imported_is_told_with_its_distribution(site: Path) -> None:
    announce(site, "bad-paint", "0.1", "bad_paint", "x = 1\nraise OSError('no pigment')", bad="bad_paint:Bad")
    with pytest.raises(
        PluginError, match=r"colour 'bad' of bad-paint 0\.1 cannot be .*bad_paint\.py:2: OSError: no pi"
    ):
        load(COLOURS, "bad")


def test_a_name_that_two_distributions_announce_is_refused(site: Path) -> None:
    announce(site, "one-paint", "1", "one_paint", "", blue="one_paint:Blue")
    announce(site, "two-paint", "2", "two_paint", "", blue="two_paint:Blue")
    with pytest.raises(PluginError, match=r"declared by .*one-paint 1.*import string") as caught:
        load(COLOURS, "blue")
    assert "two-paint 2 (two_paint:Blue)" in str(caught.value)


MISTAKES = {
    "gren": r"^there is no colour 'gren'\. Did you mean green\? There are red, green, blue\. To use your own, .*Thing",
    "bleu": r"Did you mean blue\?",
    "": r"there is no colour ''. There are red, green, blue",
    "gren:Thing": r"there is no colour 'gren', nor a module of that name. Did you mean green\?",
    "no.such:Thing": r"there is no module 'no.such' here or in Viva's environment",
    "no_such.py:Thing": r"there is no file no_such.py",
    "string:Tmplate": r"string has no 'Tmplate'. Did you mean string:Template\?",
    "{folder}/broken.py:Thing": r"cannot be imported: .*broken.py:2: ZeroDivisionError",
    "{folder}/opens.py:Thing": r"cannot be imported: .*opens.py:1: FileNotFoundError: .*nothing-here",
    "{folder}/exits.py:Thing": r"cannot be imported: .*exits.py:1: SystemExit: 4",
}


@pytest.mark.parametrize("part", MISTAKES)
def test_a_wrong_part_says_what_there_is(part: str, site: Path) -> None:
    announce(site, "blue-paint", "1.2", "blue_paint", "", blue="blue_paint:Blue")
    (site / "broken.py").write_text("x = 1\nx / 0")
    (site / "opens.py").write_text("open('nothing-here')")
    (site / "exits.py").write_text("raise SystemExit(4)")
    with pytest.raises(PluginError, match=MISTAKES[part]) as caught:
        load(COLOURS, part.format(folder=site))
    assert len(str(caught.value).splitlines()) == 1


def test_ctrl_c_while_importing_is_still_ctrl_c(site: Path) -> None:
    (site / "slow.py").write_text("raise KeyboardInterrupt")
    announce(site, "slow-paint", "1", "slow_paint", "raise KeyboardInterrupt", slow="slow_paint:Slow")
    for part in (f"{site}/slow.py:Thing", "slow"):
        with pytest.raises(KeyboardInterrupt):
            load(COLOURS, part)


def test_what_broke_once_is_not_taken_for_imported(site: Path) -> None:
    (site / "fixed.py").write_text("raise OSError")
    with pytest.raises(OSError, match=r"^$"):
        import_source(f"{site}/fixed.py")
    (site / "fixed.py").write_text("x = 'now it is longer'")
    assert import_source(f"{site}/fixed.py").x == "now it is longer"


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("red", ("red", "")),
        ("red:a/file.txt", ("red", "a/file.txt")),
        ("red:a:b", ("red", "a:b")),
        ("red:Name", ("red", "Name")),
        ("blue:Name", ("blue", "Name")),
        ("blue:Name:more", ("blue", "Name:more")),
        ("mine:Name", ("mine:Name", "")),
        ("mine:Name:a file:b", ("mine:Name", "a file:b")),
        ("pack.mine:Name:", ("pack.mine:Name", "")),
        ("a/mine.py:Name:x.json", ("a/mine.py:Name", "x.json")),
        ("mine:x.json/y", ("mine", "x.json/y")),
    ],
)
def test_part_and_rest_of_a_spec(spec: str, parts: tuple[str, str], site: Path) -> None:
    announce(site, "blue-paint", "1.2", "blue_paint", "", blue="blue_paint:Blue")
    assert split(COLOURS, spec) == parts


def test_entry_points_are_looked_at_only_where_a_name_is_not_known_otherwise() -> None:
    root = Path(__file__).parents[3]
    # Without `viva/records/__init__.py`, whose pydantic looks at entry points of its own.
    code = f"""
import sys, types
sys.modules["viva.records"] = package = types.ModuleType("viva.records")
package.__path__ = ["{root}/viva/records"]
from viva.plugins.kinds import Kind, load
kind = Kind("colour", "viva_test.colours", {{"red": "string:digits"}})
load(kind, "red"), load(kind, "string:digits")
assert "importlib.metadata" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
