"""What reaches the examiner's model of a case that describes a person, and what never does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ModelAt
from tests.model_server import BadRequest, ModelServer, Request, said_by, sequence, system_text
from tests.prompt_text import states
from viva.cases import Case, CaseStrategy, DoneWhen, Insistence, ScoringPoint, User, UserFact
from viva.errors import SetupError
from viva.examiner import ConversationLimits, converse
from viva.examiner.conversation import KICK_OFF
from viva.examiner.library import chosen_names, names_of, personas, strategies
from viva.examiner.model import ModelExaminer
from viva.examiner.role import DEFAULT_GOAL, role_of
from viva.records.transcript import Reply

POINT, BACKGROUND = "It finds out about the secret discount card.", "Ben owns a discount card."
CASE = Case(
    "c", Path("case.yaml"), "0" * 64, "You want two train tickets.", (ScoringPoint("p", POINT, 1.0, "assert CHECK"),)
)
WHOLE = replace(
    CASE,
    user=User("A retired sailor.", "cheerful", "German", "short lines", "two poor replies"),
    facts=(
        UserFact("Ben is 71."),
        UserFact("You travel on Monday.", "start"),
        UserFact("You pay in cash.", "step", 3),
        UserFact("You need a ramp.", "step", 2),
        UserFact("You won the lottery.", "never"),
    ),
    opening="Ahoy! Two tickets, please.",
    insist=Insistence("a seat at the window", 2),
    done_when=DoneWhen("you know the price", "it takes too long"),
    background=BACKGROUND,
    strategy=CaseStrategy("role-play", "a free ticket"),
)


class Answers:
    async def reply(self, message: str, seconds: float) -> Reply:
        return Reply("What day?")


async def requests(case: Case, model_at: ModelAt, persona: str = "", strategy: str = "") -> list[Request]:
    """What the examiner's model is sent in a conversation."""
    with ModelServer({"m": sequence("One.", "Two.", "EXAM_FINISHED", then=BadRequest())}) as server:
        examiner = ModelExaminer(model_at(server.url), role_of(case, persona, strategy))
        await converse(examiner, Answers(), ConversationLimits(5))
    return [request.body for request in server.requests]


async def test_each_part_of_the_person_reaches_the_model_with_its_condition(model_at: ModelAt) -> None:
    prompt = system_text((await requests(WHOLE, model_at))[0])
    states(
        prompt,
        "Who you are: A retired sailor. Mood: cheerful Language that you write: German Style: short lines "
        "Patience: two poor replies",
        "- in your next message: You travel on Monday.",
        "- with step 2 (your message 2 if the task has no steps), not before: You need a ramp. - with step 3",
        "not before: You pay in cash. - only when the agent asks for it: Ben is 71. "
        "- never; if asked, you would rather not say: You won the lottery.",
        "You insist on this: a seat at the window",
        "ask for it again in other words, at most 2 times after the first request; then let it be and go on.",
        "You are content, and stop, when: you know the price",
        "You give up, and stop, when: it takes too long",
        "What you try to get: a free ticket",
        strategies()["role-play"].how,
        "Your first message has been sent already, and counts as message 1.",
        "Where the task says how you speak, feel or behave, the task comes before these lines.",
        "what is due with a message is said there, beside what you answer",
    )
    assert prompt.index("retired sailor") < prompt.index("comes before the rules") < prompt.index("Writing:")
    assert "\n\n\n" not in prompt


async def test_scoring_points_and_background_never_reach_it(model_at: ModelAt) -> None:
    for body in await requests(WHOLE, model_at):
        assert not [words for words in (POINT, "CHECK", BACKGROUND, "discount") if words in str(body)]


async def test_an_opening_is_sent_as_it_is_without_a_request_and_the_model_knows_that_it_was(
    model_at: ModelAt,
) -> None:
    with ModelServer({"m": sequence("Monday.", "EXAM_FINISHED", then=BadRequest())}) as server:
        examiner = ModelExaminer(model_at(server.url), role_of(replace(CASE, opening=" Ahoy! {{ 7 * 7 }}\n")))
        assert await examiner.next_message(None) == "Ahoy! {{ 7 * 7 }}"
        assert server.requests == []
        assert await examiner.next_message("What day?") == "Monday."
        assert await examiner.next_message("Fine.") is None
    first, second = (request.body for request in server.requests)
    roles = [message["role"] for message in first["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert said_by("user", first) == [KICK_OFF, "What day?"]
    assert said_by("assistant", first) == ["Ahoy! {{ 7 * 7 }}"]
    assert said_by("assistant", second) == ["Ahoy! {{ 7 * 7 }}", "Monday."]


async def test_without_an_opening_a_fact_of_the_start_belongs_to_the_first_message(model_at: ModelAt) -> None:
    case = replace(CASE, facts=(UserFact("You travel on Monday.", "start"),), insist=Insistence("a seat", 1))
    prompt = system_text((await requests(case, model_at))[0])
    states(prompt, "- in your first message: You travel on Monday.", "at most once after the first request")
    assert "has been sent already" not in prompt


async def test_insistence_without_a_number_has_no_limit_of_its_own(model_at: ModelAt) -> None:
    prompt = system_text((await requests(replace(CASE, insist=Insistence("a seat, until it is rude")), model_at))[0])
    states(prompt, "ask for it again in other words. What is said above")


@pytest.mark.parametrize("name", names_of("persona"))
async def test_a_named_persona_reaches_the_model_as_its_description(name: str, model_at: ModelAt) -> None:
    own = system_text((await requests(replace(CASE, user=User(name, language="Welsh")), model_at))[0])
    chosen = system_text((await requests(replace(WHOLE, user=User("x", language="Welsh")), model_at, persona=name))[0])
    for prompt in (own, chosen):
        states(prompt, f"Who you are: {personas()[name]} Language that you write: Welsh")


async def test_a_chosen_persona_replaces_mood_style_and_patience_but_not_the_language(model_at: ModelAt) -> None:
    prompt = system_text((await requests(WHOLE, model_at, persona="terse"))[0])
    states(prompt, "Language that you write: German")
    assert not [words for words in ("sailor", "cheerful", "short lines", "two poor replies") if words in prompt]


@pytest.mark.parametrize("name", names_of("strategy"))
async def test_a_chosen_strategy_tries_for_the_goal_of_the_case(name: str, model_at: ModelAt) -> None:
    prompt = system_text((await requests(replace(CASE, strategy=CaseStrategy(goal="a refund")), model_at, "", name))[0])
    states(prompt, f"What you try to get: a refund How: {strategies()[name].how}")


async def test_a_goal_without_a_strategy_is_not_tried_for(model_at: ModelAt) -> None:
    assert "led astray" not in system_text(
        (await requests(replace(CASE, strategy=CaseStrategy(goal="a refund")), model_at))[0]
    )


async def test_a_strategy_for_a_case_without_a_goal_has_a_general_one(model_at: ModelAt) -> None:
    states(system_text((await requests(CASE, model_at, strategy="encoding"))[0]), DEFAULT_GOAL)


async def test_a_strategy_in_words_of_ones_own_is_used_as_it_is(model_at: ModelAt) -> None:
    case = replace(CASE, strategy=CaseStrategy("Cry about it.", "a refund"))
    states(system_text((await requests(case, model_at))[0]), "What you try to get: a refund How: Cry about it.")


def test_the_library_has_the_promised_size_and_each_strategy_its_source() -> None:
    assert len(personas()) >= 10
    assert len(strategies()) >= 8
    assert len(set(personas().values())) == len(personas())
    for each in strategies().values():
        assert each.how
        assert each.source
        assert each.url.startswith("https://")


@pytest.mark.parametrize(
    ("written", "name"),
    [("terse", "terse"), (" Terse", "terse"), ("over polite", "over-polite"), ("Over_Polite\n", "over-polite")],
)
def test_a_bundled_name_is_recognised_however_it_is_written(written: str, name: str) -> None:
    role = role_of(replace(CASE, user=User(written)))
    assert role.user is not None
    assert role.user.persona == personas()[name]


@pytest.mark.parametrize("words", ["Terse, but friendly.", "A sailor", "Grandmother", "terse " * 50])
def test_other_words_are_a_description(words: str) -> None:
    role = role_of(replace(CASE, user=User(words)))
    assert role.user is not None
    assert role.user.persona == words


def test_names_are_chosen_once_and_all_stands_for_each() -> None:
    assert chosen_names("persona", ["terse", "expert", "terse"]) == ("terse", "expert")
    assert chosen_names("persona", ["terse", "all"]) == tuple(personas())
    assert chosen_names("strategy", []) == ()
    with pytest.raises(SetupError, match="did you mean 'talkative'"):
        chosen_names("persona", ["talkativ"])


@pytest.mark.parametrize(
    "case",
    [replace(CASE, user=User("ters")), replace(CASE, strategy=CaseStrategy("roleplay"))],
    ids=["user", "strategy"],
)
def test_a_misspelt_name_in_a_case_is_refused_with_the_nearest(case: Case) -> None:
    with pytest.raises(SetupError, match=r"did you mean '(terse|role-play)'\?"):
        role_of(case)
