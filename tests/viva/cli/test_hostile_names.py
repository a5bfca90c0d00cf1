"""Folders and runs may be called anything: what drives terminals or turns text around is shown, not obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journals import edit
from tests.viva.conftest import Desk

NAME = "j\x1b[31m\u202ex\x9by"
RAW = ("\x1b", "\u202e", "\x9b")


@pytest.fixture(scope="module")
def hostile_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    desk.viva("suite", "echo", "weather_asks_back", "--sandbox", "process", "--out", NAME, "--quiet", expect=0)
    return desk


@pytest.mark.parametrize(
    "arguments",
    [
        ("suite", "--resume", NAME),
        ("suite", "echo", "--sandbox", "process", "--out", f"{NAME}-new"),
        ("suite", "echo", "--sandbox", "process", "--out", NAME),
        ("judge", NAME, "--sandbox", "process", "--out", f"{NAME}-judged"),
        ("judge", "--resume", NAME),
        ("replay", NAME),
        ("replay", f"{NAME}#{NAME}"),
        ("replay", NAME, "--against", "example:careful", "--sandbox", "process", "--out", f"{NAME}-asked"),
        ("report", NAME),
        ("report", f"{NAME}#{NAME}"),
        ("report", NAME, "--out", f"{NAME}.html"),
        ("report", NAME, "--out", f"{NAME}.unknown"),
        ("report", NAME, "--out", f"{NAME}/none/x.csv"),
        ("compare", NAME, f"{NAME}-none"),
        ("run", NAME),
        ("run", "echo", "--agent", f"replay:{NAME}#{NAME}"),
        ("suite", "echo", "--baseline", f"{NAME}#x"),
    ],
)
def test_what_a_folder_is_called_is_shown_and_not_obeyed(hostile_desk: Desk, arguments: tuple[str, ...]) -> None:
    done = hostile_desk.viva(*arguments)
    for output in (done.stdout, done.stderr):
        assert not [raw for raw in RAW if raw in output], output


@pytest.mark.parametrize("arguments", [("judge",), ("replay",), ("report",), ("report", "--format", "html")])
def test_what_a_strangers_run_is_called_is_shown_and_not_obeyed(
    desk: Desk, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    desk.run("echo")

    def renamed(line: bytes) -> bytes:
        event = json.loads(line)
        event["run"] = NAME
        event.pop("crc")
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    edit(tmp_path / "journal", renamed)
    out = ("--out", "-") if "html" in arguments else ("--sandbox", "process") if arguments == ("judge",) else ()
    done = desk.viva(arguments[0], "journal", *arguments[1:], *out)
    for output in (done.stdout, done.stderr):
        assert not [raw for raw in RAW if raw in output], output
    found = {path.name for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "journal")}
    assert not [name for name in found if any(raw in name for raw in RAW)]
