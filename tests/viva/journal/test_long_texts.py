"""A round that is too large for a line: its steps are spread over line and file, and come back whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.journal.long_texts import TEXT_LIMIT
from viva.journal.reader import decode_run, read_conversation_lines, read_runs
from viva.journal.writer import FILE, LINE_LIMIT, Damage, Journal
from viva.records import Round, Setting, Step, StopReason, Transcript
from viva.records.codec import to_plain


def stored_rounds(folder: Path) -> tuple[Round, ...]:
    """The rounds of a journal's only run."""
    (stored,) = read_runs(folder)
    return stored.transcript.rounds


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.sampled_from([0, 10, 5_000, TEXT_LIMIT - 1, TEXT_LIMIT + 1, 2 * LINE_LIMIT]), max_size=12))
def test_a_large_round_loses_no_step_and_its_line_stays_within_the_limit(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    steps = tuple(
        Step(f"s{number}", result="ä" * length, attributes={"a": {"b": number}})
        for number, length in enumerate(lengths)
    )
    rounds = Round(1, "ask", "tell", steps, images=("a.png",)), Round(2, "ask", "tell", steps[:1])
    with Journal(folder) as journal:
        for round_ in rounds:
            journal.append("round", "run", 1, round_)
    assert stored_rounds(folder) == rounds
    assert all(len(line) <= LINE_LIMIT + 200 for line in (folder / FILE).read_bytes().split(b"\n"))


def test_a_round_of_many_small_steps_is_cut_by_steps_and_copied_whole(tmp_path: Path) -> None:
    round_ = Round(1, "ask", "tell", tuple(Step(f"s{number}", result="x" * 300) for number in range(5_000)))
    with Journal(tmp_path / "old") as journal:
        journal.append("round", "run", 1, round_)
    line = json.loads((tmp_path / "old" / FILE).read_bytes())
    assert 100 < len(line["data"]["steps"]) < 5_000
    (stored,) = read_runs(tmp_path / "old", keep_lines=True)
    with Journal(tmp_path / "new") as journal:
        journal.copy_lines(stored.lines, stored.folder)
    assert stored_rounds(tmp_path / "new") == (round_,)


@pytest.mark.parametrize("count", [1, 5_000])
def test_steps_after_the_last_reply_are_in_the_last_round_however_many_there_are(tmp_path: Path, count: int) -> None:
    late = tuple(Step(f"environment:{n}", result="x" * 300, recorded_by="environment") for n in range(count))
    said = (Round(1, "ask", "tell"), Round(2, "ask", "tell", (Step("s"),)))
    ending = Transcript(said, stop=StopReason.FINISHED, late_steps=late)
    with Journal(tmp_path / "old") as journal:
        journal.append("setting", "run", 1, Setting(case="echo"))
        for round_ in said:
            journal.append("round", "run", 1, round_)
        journal.append("transcript", "run", 1, ending.without_rounds())
    whole = Transcript((said[0], replace(said[1], steps=(Step("s"), *late))), stop=StopReason.FINISHED)
    assert ending.completed() == whole
    (stored,) = read_runs(tmp_path / "old", keep_lines=True)
    (lines,) = read_conversation_lines(tmp_path / "old")
    assert stored.transcript == decode_run(lines).transcript == whole
    assert all(len(line) <= LINE_LIMIT + 200 for line in (tmp_path / "old" / FILE).read_bytes().split(b"\n"))
    with Journal(tmp_path / "new") as journal:
        journal.copy_lines(stored.lines, stored.folder)
    (copied,) = read_runs(tmp_path / "new")
    assert copied.transcript == whole


def test_lost_steps_are_told(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(
            "round", "run", 1, Round(1, "ask", "tell", tuple(Step(f"s{n}", result="x" * 900) for n in range(999)))
        )
    for file in (tmp_path / "texts").iterdir():
        file.unlink()
    (round_,) = stored_rounds(tmp_path)
    assert 0 < len(round_.steps) < 999
    assert "cannot be read" in round_.attributes["steps_lost"]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"5", b"[5]", b"[[]]", b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("named", ["the form", "outside", 5, None])
def test_a_strangers_steps_cost_at_most_their_own_round(tmp_path: Path, content: bytes, named: Any) -> None:
    folder = tmp_path / "journal"
    (folder / "texts").mkdir(parents=True)
    name = f"texts/{'0' * 64}.json"
    (folder / name).write_bytes(content)
    (tmp_path / "outside.json").write_text('[{"id": "the secret"}]')
    data = to_plain(Round(1, "ask", "tell", (Step("s"),)))
    data["_steps"] = {"the form": name, "outside": "../outside.json"}.get(named, named)
    lines = [{"v": 1, "event": "round", "run": "run", "attempt": 1, "data": each} for each in (data, {"number": 2})]
    (folder / FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    damage = Damage()
    (stored,) = read_runs(folder, damage=damage)
    assert [each.number for each in stored.transcript.rounds][-1] == 2
    assert len(stored.transcript.rounds) + damage.torn == 2
    assert all(step.id == "s" for each in stored.transcript.rounds for step in each.steps)
