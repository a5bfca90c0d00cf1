"""A conversation that has already begun: who is given it, who refuses it, and that no point is earned by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.conftest import KEY
from tests.model_server import ModelServer, Request, text_of, verdict
from tests.scripted_judges import ScriptedModel
from tests.viva.conftest import Desk
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.cases import Case
from viva.exam.requirements.begun_conversations import untaken_conversation
from viva.examiner.model import render_prompt
from viva.examiner.role import role_of
from viva.judge import ScoringPointsEvaluator
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript

TURNS = [
    {"role": "system", "content": "You sell shoes, in sizes 36 to 46."},
    {"role": "user", "content": "I would like the red ones in 41."},
    {"role": "agent", "content": "They are in your basket."},
]
MESSAGES = [*TURNS[:2], {"role": "assistant", "content": "They are in your basket."}]
SHOES: dict[str, Any] = {
    "task_description": None,
    "conversation": TURNS,
    "script": ["Make it 42, please."],
    "scoring_points": [{"check": {"contains": "42"}}, {"check": {"not": {"contains": "basket"}, "over": "any_round"}}],
}
RECALLING = """
def load_conversation(self, messages):
    self.before = messages

def get_reply_from_agent(self, message):
    return f"{len(self.before)} before, from {self.before[-1]['role']}: " + message
"""


@pytest.fixture
def shop(desk: Desk) -> Desk:
    desk.case("shoes", **SHOES)
    return desk


@pytest.mark.parametrize("isolate", [(), ("--isolate",)], ids=["here", "own-process"])
def test_an_agent_with_the_method_is_given_the_turns_before_its_first_message(
    shop: Desk, isolate: tuple[str, ...]
) -> None:
    record = shop.run("shoes", "--agent", shop.agent(RECALLING), *isolate)
    assert record["score"] == 1.0
    (stored,) = viva.read_journal(shop.folder / "journal")
    assert [each.agent for each in stored.transcript.rounds] == ["3 before, from assistant: Make it 42, please."]
    assert [(turn.role, turn.content) for turn in stored.transcript.given] == [tuple(turn.values()) for turn in TURNS]
    printed = shop.viva("replay", "journal", expect=0).stdout
    assert "agent (given by the case): They are in your basket." in printed
    shop.viva("report", "journal", "--format", "html", "--out", "page.html", expect=0)
    assert "user: I would like the red ones in 41." in (shop.folder / "page.html").read_text()


def test_no_agent_of_a_suite_is_asked_if_the_class_of_another_takes_no_conversation(shop: Desk) -> None:
    first = shop.agent(RECALLING + "\n    Path('asked').touch()", "first")
    other = shop.agent("def get_reply_from_agent(self, message):\n    return '42'", "other")
    done = shop.viva("suite", "shoes", "--agent", first, "--agent", other, "--sandbox", "process", expect=2)
    assert "the agent other.py:Agent takes none" in done.stderr
    assert not [each for each in shop.folder.iterdir() if each.name in ("asked", "runs")]


@pytest.mark.parametrize("spec", ["a2a:http://127.0.0.1:9/", "cmd:cat", "cmd+plain:cat"])
def test_connectors_without_a_way_to_give_it_refuse_it(shop: Desk, spec: str) -> None:
    done = shop.viva("run", "shoes", "--agent", spec, "--sandbox", "process", expect=2)
    assert f"the agent {spec} takes none" in done.stderr


def test_a_coding_agent_refuses_it_before_the_first_exam() -> None:
    begun = Case("shoes", conversation=TURNS, script=["Hi."], scoring_points=["Fine."])
    other = Case("hello", script=["Hi."], scoring_points=["Fine."])
    agent = LoadedAgent("acp:coder", "coder", lambda: None, kind="acp")
    assert "the agent acp:coder takes none" in (untaken_conversation([other, begun], [agent]) or "")
    assert untaken_conversation([other], [agent]) is None


@pytest.mark.parametrize("isolate", [(), ("--isolate",)], ids=["here", "own-process"])
def test_an_agent_without_the_method_refuses_the_case_before_the_first_message(
    shop: Desk, isolate: tuple[str, ...]
) -> None:
    agent = shop.agent("def get_reply_from_agent(self, message):\n    Path('asked').touch()\n    return '42'")
    done = shop.viva("suite", "shoes", "--agent", agent, "--trials", "3", "--sandbox", "process", *isolate, expect=2)
    assert "the case 'shoes' begins with a conversation, and the agent agent.py:Agent takes none" in done.stderr
    assert "load_conversation(messages)" in done.stderr
    assert not list(shop.folder.rglob("asked"))


def test_an_agent_at_an_address_has_the_turns_in_its_history(shop: Desk) -> None:
    with ModelServer({"shop": "Size 42 it is."}) as server:
        record = shop.run("shoes", "--agent", f"{server.url}#shop", environment={"VIVA_AGENT_API_KEY": KEY})
        (request,) = [each.body for each in server.requests]
    assert request["messages"] == [*MESSAGES, {"role": "user", "content": "Make it 42, please."}]
    assert record["score"] == 1.0


def test_the_messages_of_the_responses_api_begin_with_the_turns() -> None:
    from viva.adapters.connectors.http.responses import ResponsesAgent

    agent = ResponsesAgent("task")
    agent.load_conversation(MESSAGES)
    assert agent.save_state()["history"] == MESSAGES


async def test_a_judge_sees_the_turns_as_given_and_no_hit_rests_on_them() -> None:
    asked: list[str] = []

    def answer(request: Request) -> str:
        asked.append(text_of(request["messages"][-1]))
        return verdict("hit", "It says so.", {"round": 1, "quote": "They are in your basket."})

    case = Case("shoes", script=["Make it 42, please."], scoring_points=["The shoes are in the basket."])
    given = Case("shoes", conversation=TURNS, script=["Hi."], scoring_points=["Fine."]).conversation
    talk = Transcript((Round(1, "Make it 42, please.", "No."),), given=given)
    judge = ScoringPointsEvaluator("model", None, ScriptedModel(answer))
    (one,) = (await judge.evaluate(talk, Context("run", case))).verdicts
    assert (one.label, one.flags) == ("unsure", ("quote-not-found",))
    assert "[given by the case, before the exam] agent:\n    They are in your basket." in asked[0]
    assert "no hit can rest on it: quote the rounds" in " ".join(asked[0].split())
    asked.clear()
    await judge.evaluate(Transcript(talk.rounds), Context("run", case))
    assert "given by the case" not in asked[0]


def test_an_examiner_reads_what_was_said_and_not_what_only_the_agent_knows() -> None:
    case = Case("shoes", task_description="Change the size to 42.", scoring_points=["Fine."], conversation=TURNS)
    prompt = render_prompt(role_of(case), "mark")
    assert "you: I would like the red ones in 41.\nthe agent: They are in your basket.\n</conversation>" in prompt
    assert "sizes 36 to 46" not in prompt
    plain = render_prompt(role_of(Case("shoes", task_description="Buy.", scoring_points=["Fine."])), "mark")
    assert "already begun" not in plain


def test_the_lint_tries_such_a_case_and_training_data_begin_with_it(shop: Desk, tmp_path: Path) -> None:
    assert "tried: silent" in shop.viva("cases", "lint", "shoes", "--sandbox", "process", expect=0).stdout
    shop.run("shoes", "--agent", shop.agent(RECALLING))
    lines = shop.viva("report", "journal", "--format", "training_supervised", expect=0).stdout
    assert json.loads(lines.splitlines()[0])["messages"][:3] == MESSAGES
