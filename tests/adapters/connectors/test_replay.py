"""A stored conversation can be examined again: the same replies in the same order, and no word beyond them."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError, SetupError
from viva.journal.writer import Journal
from viva.records.run_record import Setting
from viva.records.transcript import Round, Step, StopReason, Transcript, Usage

PICTURE = f"images/{'ab12' * 16}.png"
ROUNDS = (
    Round(1, "Add 1.", "1", (Step("s1", tool="add", result="1"),), usage=Usage(10, 2, cost=0.5)),
    Round(2, "Add 2.", "3", images=(PICTURE, "/etc/passwd", "images/../x.png", "images/ab12.png")),
)


def store(folder: Path, *runs: tuple[str, tuple[Round, ...]]) -> Path:
    with Journal(folder) as journal:
        for name, rounds in runs:
            journal.append("setting", name, 1, Setting(case="sums", agent="pack.module:Adder@/venv"))
            for round_ in rounds:
                journal.append("round", name, 1, round_)
            journal.append("transcript", name, 1, Transcript(stop=StopReason.FINISHED))
    return folder


async def opened(spec: str) -> AgentSession:
    return await open_session(load_agent(spec).factory, AgentArguments("task"), 10)


async def test_the_replies_come_again_with_steps_and_usage(tmp_path: Path) -> None:
    journal = store(tmp_path / "journal", ("sums-1", ROUNDS))
    for spec in (f"replay:{journal}", f"replay:{journal}#sums-1"):
        session = await opened(spec)
        first = await session.reply("whatever is asked", 10)
        assert (first.text, first.steps, first.usage) == (ROUNDS[0].agent, ROUNDS[0].steps, ROUNDS[0].usage)
        assert (await session.reply("and again", 10)).text == "3"
        with pytest.raises(AgentError, match="no reply after number 2, its last"):
            await session.reply("more", 10)
        assert await session.close() is None


async def test_each_exam_begins_with_the_first_reply(tmp_path: Path) -> None:
    agent = load_agent(f"replay:{store(tmp_path / 'journal', ('sums-1', ROUNDS))}")
    for _ in range(2):
        session = await open_session(agent.factory, AgentArguments("task"), 10)
        assert (await session.reply("?", 10)).text == "1"


def test_it_is_called_like_the_agent_that_spoke(tmp_path: Path) -> None:
    spec = f"replay:{store(tmp_path / 'journal', ('sums-1', ROUNDS))}"
    agent = load_agent(spec)
    assert (agent.spec, agent.kind, agent.name, agent.label) == (spec, "replay", "Adder", "replay:journal")


async def test_pictures_are_those_of_the_journal_and_no_other_file_is_named(tmp_path: Path) -> None:
    """A journal may come from a stranger: a path in it must not make Viva read a file of the user's."""
    journal = store(tmp_path / "journal", ("sums-1", ROUNDS))
    (journal / "images").mkdir()
    (journal / PICTURE).write_bytes(b"a picture")
    session = await opened(f"replay:{journal}")
    await session.reply("?", 10)
    assert (await session.reply("?", 10)).images == (str(journal / PICTURE),)
    (journal / PICTURE).unlink()
    (journal / PICTURE).symlink_to("/etc/passwd")
    session = await opened(f"replay:{journal}")
    await session.reply("?", 10)
    assert (await session.reply("?", 10)).images == ()


async def test_a_round_in_which_the_agent_failed_fails_again_in_the_same_words(tmp_path: Path) -> None:
    failed = Round(
        1, "?", "I cannot go on because of an error: agent.py:3: KeyError: 'x'", error="agent.py:3: KeyError: 'x'"
    )
    session = await opened(f"replay:{store(tmp_path / 'journal', ('sums-1', (failed,)))}")
    with pytest.raises(AgentError) as caught:
        await session.reply("?", 10)
    assert str(caught.value) == "agent.py:3: KeyError: 'x'"


async def test_a_recording_with_a_side_missing_can_be_replayed(tmp_path: Path) -> None:
    rounds = (Round(1, None, "Hello."), Round(2, "Go.", None, (Step("s1"),)), Round(3, "And?", None))
    session = await opened(f"replay:{store(tmp_path / 'journal', ('sums-1', rounds))}")
    assert (await session.reply("?", 10)).text == "Hello."
    assert (await session.reply("?", 10)).steps == (Step("s1"),)
    with pytest.raises(AgentError, match="no reply after"):
        await session.reply("?", 10)


def test_several_runs_are_refused_with_their_ids(tmp_path: Path) -> None:
    journal = store(tmp_path / "journal", *((f"sums-{number}", ROUNDS) for number in range(1, 4)))
    with pytest.raises(SetupError, match=r"several runs; name one: '.*#sums-1'. It holds sums-1, sums-2, sums-3\.$"):
        load_agent(f"replay:{journal}")
    assert load_agent(f"replay:{journal}#sums-2").label == "replay:sums-2"


@pytest.mark.parametrize(
    ("rounds", "suffix", "words"),
    [
        (ROUNDS, "#sums-9", "holds no run 'sums-9'.* sums-1"),
        ((Round(1, "?", None),), "", "has no reply that could be repeated"),
    ],
)
def test_what_cannot_be_replayed_is_the_users_mistake(
    rounds: tuple[Round, ...], suffix: str, words: str, tmp_path: Path
) -> None:
    journal = store(tmp_path / "journal", ("sums-1", rounds))
    with pytest.raises(SetupError, match=words):
        load_agent(f"replay:{journal}{suffix}")
