"""What judging reads of settings and records natively is what a parser reads of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from viva.exam.judging import stored_facts
from viva.exam.judging.stored_facts import facts_of
from viva.exam.stored_runs import read_run_states
from viva.journal.conversation_lines import read_conversation_lines
from viva.journal.line_checksum import seal
from viva.journal.writer import FILE, Damage
from viva.records import Insight, Outcome, RunRecord, Setting
from viva.records.codec import to_plain
from viva.records.run_record import Timing
from viva.records.unfair_attempts import UnfairAttempt

SETTING = to_plain(
    Setting(
        case="echo",
        case_hash="ab" * 32,
        agent="me.py:Me",
        agent_digest="0123456789ab",
        agent_version="2",
        trial=3,
        evaluators=("points", "brevity"),
        evaluator_parameters={"brevity": "words=3"},
    )
)
RECORD = to_plain(
    RunRecord(
        "run",
        "other",
        "me.py:Me",
        Outcome.SCORED,
        1.0,
        agent_version="3",
        trial=4,
        tags=("one", "two"),
        insights=(Insight("points", "run", "hit", 1.0),),
        timing=Timing(1.0, 5.0, 1.0, 2.0, 7.0),
        setting=Setting(case="echo"),
    )
)
ODD = [None, True, 0, -1, 2.5, 10**30, "", "text", "ä\u2028", [], ["x", 1], {}, {"a": 1}, {"brevity": None}]
"""Values that a field may have in a journal from a stranger."""
FIELDS = [("setting", name) for name in [*SETTING, "unknown", "_texts"]] + [
    ("run", name) for name in ["subject", "trial", "agent_version", "tags", "timing", "outcome", "unknown", "insights"]
]


def write(folder: Path, lines: list[tuple[str, Any]]) -> None:
    """Write a journal with one run."""
    with (folder / FILE).open("wb") as file:
        for kind, data in lines:
            head = f'{{"v":1,"event":"{kind}","run":"run","attempt":1,"data":'
            file.write(seal(f"{head}{json.dumps(data, separators=(',', ':'))}".encode()))


def read(folder: Path) -> object:
    """Return the facts and the states, and what was damaged; or why they cannot be read."""
    damage = Damage()
    try:
        facts = [facts_of(lines) for lines in read_conversation_lines(folder, damage=damage)]
        return facts, read_run_states(folder, damage=damage), damage
    except (ValueError, TypeError) as error:
        return type(error)


def read_slowly(folder: Path) -> object:
    """Do the same without native readers."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_setting", "read_record"):
            patch.setattr(stored_facts, name, lambda _: None)
        return read(folder)


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_native_readers_find_the_facts_that_a_parser_finds(tmp_path: Path, kind: str, name: str) -> None:
    for odd in (*ODD, ...):
        data = {"setting": dict(SETTING), "run": dict(RECORD)}
        data[kind][name] = odd
        if odd is ...:
            del data[kind][name]
        ending = ("transcript", {"stop": "finished", "round_count": 0})
        write(tmp_path, [("setting", data["setting"]), ending, ("run", data["run"])])
        assert read(tmp_path) == read_slowly(tmp_path), odd


def test_whole_settings_and_records_are_read_natively(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, [("setting", SETTING), ("transcript", {"stop": "finished"}), ("run", RECORD)])
    (lines,) = read_conversation_lines(tmp_path)
    expected = read(tmp_path)
    monkeypatch.setattr(stored_facts, "parse", None)
    facts = facts_of(lines)
    assert isinstance(expected, tuple)
    assert [facts] == expected[0]
    assert (facts.subject, facts.trial, facts.tags, facts.agent_version) == ("other", 4, ("one", "two"), "3")
    assert facts.evaluators == ("points", "brevity(words=3)")
    assert facts.timing == Timing(1.0, 0.0, 1.0, 2.0, 7.0)


def test_a_scored_record_names_the_unfair_attempts_before_it_to_every_reader(tmp_path: Path) -> None:
    unfair = (UnfairAttempt(1, ("leak",), 0.5), UnfairAttempt(2, ("broke_off",)))
    exam = Insight("exam", "run", "fair", 1.0, details={"earlier": [each.plain() for each in unfair]})
    record = {**RECORD, "attempt": 3, "insights": [*RECORD["insights"], to_plain(exam)]}
    write(tmp_path, [("setting", SETTING), ("transcript", {"stop": "finished", "round_count": 0}), ("run", record)])
    assert read_run_states(tmp_path)["run"].unfair == unfair
    assert read(tmp_path) == read_slowly(tmp_path)
