"""The model examiner: an AutoGen agent that gets the task and leads the conversation."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from viva.adapters.calls import describe
from viva.errors import CutOffError, ModelAnswerError, ModelError, SharedSetupError, WithheldError
from viva.examiner.conversation import KICK_OFF
from viva.examiner.examiner import AgentEndsExam, ExaminerError
from viva.examiner.heard_replies import HeardReplies, HeardReply
from viva.examiner.role import Role
from viva.examiner.stop import STOP_KEYWORD, read_message
from viva.models.autogen.agent import ConversingAgent
from viva.models.marks import new_mark
from viva.models.metered_model import MeteredModel
from viva.models.model import Model
from viva.models.prompts import render
from viva.models.retry import is_for_content
from viva.records.text import counted
from viva.records.transcript import Usage

PROMPT = Path(__file__).parent / "prompts" / "examiner.md"

EITHER_OR = (
    f"your last message was not sent, because it holds other words beside {STOP_KEYWORD}. Write one of the two alone: "
    f"the message to the agent, if something is left to ask, or {STOP_KEYWORD}, if the exam is over."
)


NOT_SHOWN = "(not shown) "
"""Stands, repeated, for messages of the examiner in the last question to a provider that refuses them."""
REFUSED = (
    "the provider of the examiner's model refuses what the examiner said after the agent's first reply, and accepts "
    "the conversation without it; the agent may have brought it about"
)
"""Why an exam ends that could go on only without what the agent may have made the examiner say."""
CUT_OFF = "your last message was not sent, because {fault}. Write it again, and shorter: only what the user would say."


class ModelExaminer:
    """Leads the conversation with a language model. It knows its role, which has neither scoring points nor
    background."""

    may_repeat = False

    def __init__(self, model: Model, role: Role | str) -> None:
        """Args:
        model: Writes the messages.
        role: What the examiner knows, or the task's description alone.
        """
        role = Role(task_description=role) if isinstance(role, str) else role
        self._opening = role.opening
        self._misleads = role.adversary is not None
        """Whether it says on purpose what a provider may refuse."""
        self._model = MeteredModel(model)
        self.name = model.name
        # Made for this conversation and never sent to the agent, so the agent cannot forge a text that contains it.
        self._mark = new_mark(6)
        prompt = render_prompt(role, self._mark)
        self._agent = ConversingAgent("examiner", self._model, prompt)
        self._heard = HeardReplies(self._notice, self._rewrite)
        self._notices: list[str] = []
        self._refused: Counter[str] = Counter()
        """What the model read of the replies where its provider refused more, and how often."""

    @property
    def usage(self) -> Usage:
        """Return the usage of this conversation."""
        return self._model.usage

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader should know of what the model was shown of the agent's replies."""
        notes = [
            f"the provider of the examiner's model refused the agent's replies ({counted(times, 'time')}): "
            f"the examiner read {left}"
            for left, times in self._refused.items()
        ]
        if self._heard.shortened:
            notes.append("the agent's replies are very long together: of older ones the examiner read the beginnings")
        return tuple(notes)

    async def next_message(self, reply: str | None) -> str | None:
        """Return the model's next message, or None once it says the stop keyword. An opening is sent as it is.

        Raises:
            ExaminerError: the message is not usable.
            AgentEndsExam: the provider refuses what the examiner said after the agent's first reply.
            ModelError: the provider failed after retries.
        """
        if reply is None and self._opening is not None:
            await self._agent.remember(KICK_OFF, "agent", self._opening.strip())
            return self._opening.strip()
        notices = [*map(self._notice, self._notices)]
        self._notices.clear()
        message = read_message(await self._say(self._hear(reply, notices)))
        if message.misplaced or (message.stop and message.text):
            # "Add 50, please. EXAM_FINISHED" may be the last question or a farewell: only the model knows.
            message = read_message(await self._say(self._notice(EITHER_OR)))
        if message.misplaced:
            words = message.text[:200]
            raise ExaminerError(f"the examiner used its stop keyword in the middle of a sentence: {words!r}")
        # The marker must not be sent: an agent that knew it could forge notices to the examiner.
        return None if message.stop else message.text.replace(self._mark, "")

    async def recall(self, reply: str | None, message: str) -> None:
        """Remember that it answered a reply with a message, without asking the model."""
        await self._agent.remember(self._hear(reply), "agent", message)

    def tell(self, notice: str) -> None:
        """Tell the model something with the agent's next reply; the agent does not see it."""
        self._notices.append(notice)

    async def _say(self, heard: str) -> str:
        """Return the model's answer to `heard`; if it was cut off, the answer to the request for a shorter one."""
        try:
            try:
                return await self._answer(heard)
            except CutOffError as error:
                return await self._answer(self._notice(CUT_OFF.format(fault=error)))
        except ModelAnswerError as error:
            hint = f" ({CutOffError.hint})" if isinstance(error, CutOffError) else ""
            raise ExaminerError(f"the examiner's model gave no usable message: {error}{hint}") from error
        except (AgentEndsExam, ModelError, SharedSetupError):
            raise
        except Exception as error:  # AutoGen's own, for an answer it did not expect
            raise ExaminerError(f"the examiner's model gave no usable message: {describe(error)}") from error

    async def _answer(self, heard: str) -> str:
        """Return the model's answer; if its provider refuses what the agent said, the answer to less of that.

        What an agent says, or makes the examiner say, must not end its exam as a failure of the provider, in which it
        would leave the averages.
        """
        try:
            return await self._agent.say(heard, "agent")
        except (ModelError, WithheldError) as error:
            if not is_for_content(error):
                raise
            refused = error
        left = "what was left of them"
        for left in self._heard.in_fewer_words():
            if (answer := await self._answer_to(left)) is not None:
                return answer
        if self._misleads or not await self._is_for_its_own_words():
            raise refused
        # A refusal of a proxy's may have passed in between.
        if (answer := await self._answer_to(left)) is not None:
            return answer
        raise AgentEndsExam(REFUSED)

    async def _answer_to(self, left: str) -> str | None:
        """Return the model's answer to what is left of the agent's replies; None if its provider refuses that, too."""
        try:
            answer = await self._agent.answer()
        except (ModelError, WithheldError) as error:
            if not is_for_content(error):
                raise
            return None
        except ModelAnswerError:
            self._refused[left] += 1  # accepted, although the answer is not usable
            raise
        self._refused[left] += 1
        return answer

    async def _is_for_its_own_words(self) -> bool:
        """Return whether the provider accepts the conversation without what the examiner said after the first reply.

        Other words of the same length stand there, so that a context that is full of its messages is not held against
        the agent.

        The model's answer is of no use: it does not know any more what it has asked.
        """
        first = self._heard.first_place
        without = None if first is None else self._agent.without_answers(first, NOT_SHOWN)
        if without is None:
            return False
        try:
            await without.answer()
        except (ModelError, ModelAnswerError) as error:
            if not is_for_content(error):
                # Another failure of the provider says nothing of the words; an answer that is not usable accepts them.
                return isinstance(error, ModelAnswerError)
            return False
        return True

    def _notice(self, words: str) -> str:
        return f"[notice {self._mark}] {words}"

    def _hear(self, reply: str | None, notices: Sequence[str] = ()) -> str:
        """Return what the model is sent for a reply."""
        if reply is None:
            return "\n".join([KICK_OFF, *notices])
        return self._heard.add(reply, self._agent.next_place, notices)

    def _rewrite(self, heard: HeardReply) -> None:
        self._agent.rewrite(heard.place, heard.words, "agent")


def render_prompt(role: Role | str, mark: str) -> str:
    """Return the examiner's system prompt for a role; notices that are not from the agent contain `mark`."""
    role = Role(task_description=role) if isinstance(role, str) else role
    if role.conversation:  # of any length, so it is not kept
        return _rendered(role, mark)
    return _rendered_once(role).replace(_ANY_MARK, mark)


@lru_cache(maxsize=128)
def _rendered_once(role: Role) -> str:
    """Return the prompt for a role with `_ANY_MARK`. Trials of a case have the same role, each with its own mark."""
    return _rendered(role, _ANY_MARK)


_ANY_MARK = secrets.token_hex(16)
"""In place of the mark. No case can contain it, because it is drawn for this process."""


def _rendered(role: Role, mark: str) -> str:
    return render(
        PROMPT,
        task_description=role.task_description.strip(),
        user=role.user,
        traits=_traits(role),
        facts=_facts(role),
        insist=role.insist,
        done_when=role.done_when,
        adversary=role.adversary,
        opening=role.opening,
        conversation=role.conversation,
        stop_keyword=STOP_KEYWORD,
        mark=mark,
    )


def _traits(role: Role) -> list[tuple[str, str]]:
    """Return what is said of the user besides the persona, each with its name."""
    user = role.user
    if user is None:
        return []
    given = {
        "Mood": user.mood,
        "Language that you write": user.language,
        "Style": user.style,
        "Patience": user.patience,
    }
    return [(name, words) for name, words in given.items() if words]


def _facts(role: Role) -> list[tuple[str, str]]:
    """Return the facts in the order of the conversation, each with the words for when it may be said."""
    first = "in your next message" if role.opening is not None else "in your first message"
    order = {"start": 0, "step": 1, "asked": 2, "never": 3}
    titles = {
        "start": first,
        "asked": "only when the agent asks for it",
        "never": "never; if asked, you would rather not say",
    }
    found = sorted(role.facts, key=lambda fact: (order[fact.when], fact.step or 0))
    return [
        (
            titles.get(
                fact.when, f"with step {fact.step} (your message {fact.step} if the task has no steps), not before"
            ),
            fact.says,
        )
        for fact in found
    ]
