"""The agent that leads an exam is one of AutoGen's, which AutoGen's own parts can use."""

import asyncio
from typing import Any

import pytest
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken

from viva.errors import ModelAnswerError
from viva.models.autogen.agent import ConversingAgent
from viva.models.model import Completion, ModelFeatures


class EchoingModel:
    """A model that repeats the last message, and fails or waits where it is told to."""

    name = "echo"
    features = ModelFeatures()

    def __init__(self) -> None:
        self.sent: list[list[tuple[str, Any]]] = []
        self.fails = False
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def ask(self, messages: Any, schema: Any = None, limits: Any = None) -> Completion:
        self.sent.append([(each.role, each.content) for each in messages])
        await self.goes_on.wait()
        if self.fails:
            raise ModelAnswerError("no answer")
        return Completion(f"heard: {messages[-1].content}")


async def test_what_is_sent_is_the_whole_conversation() -> None:
    model = EchoingModel()
    agent = ConversingAgent("examiner", model, "lead")
    await agent.remember("hello", "agent", "hi")
    assert await agent.say("one", "agent") == "heard: one"
    assert await agent.say("two", "agent") == "heard: two"
    system, opening = [("system", "lead")], [("user", "hello"), ("assistant", "hi")]
    assert model.sent[0] == [*system, *opening, ("user", "one")]
    assert model.sent[1] == [*model.sent[0], ("assistant", "heard: one"), ("user", "two")]


async def test_words_without_an_answer_are_sent_with_the_next() -> None:
    model = EchoingModel()
    agent = ConversingAgent("examiner", model, "lead")
    model.fails = True
    with pytest.raises(ModelAnswerError):
        await agent.say("one", "agent")
    model.fails = False
    await agent.say("two", "agent")
    assert model.sent[-1] == [("system", "lead"), ("user", "one\n\ntwo")]


async def test_it_speaks_in_a_team_of_autogen_and_forgets_at_a_reset() -> None:
    model = EchoingModel()
    team = RoundRobinGroupChat(
        [ConversingAgent("first", model, "lead"), ConversingAgent("second", model, "follow")],
        termination_condition=MaxMessageTermination(3),
    )
    said = (await team.run(task="go")).messages
    assert [(each.source, each.to_text()) for each in said if isinstance(each, TextMessage)] == [
        ("user", "go"),
        ("first", "heard: go"),
        ("second", "heard: heard: go"),
    ]
    await team.reset()
    model.sent.clear()
    await team.run(task="again")
    assert model.sent[0] == [("system", "lead"), ("user", "again")]


async def test_autogen_can_cancel_an_answer() -> None:
    model, token = EchoingModel(), CancellationToken()
    model.goes_on.clear()
    agent = ConversingAgent("examiner", model, "lead")
    answer = asyncio.ensure_future(agent.on_messages([TextMessage(content="one", source="agent")], token))
    await asyncio.sleep(0)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
