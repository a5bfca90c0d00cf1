"""Tells apart why a judge gives no answer: for what the agent said and did, or for something else.

A provider answers 400 to a prompt that is too long for its model, and to one that its filter objects to; a model may
refuse in words, or answer as the transcript tells it to. All of this may be the agent's doing, so such a run must not
leave the averages as one that judge or provider failed to judge: the question is asked without anything of the agent's.
If that works, the verdict is open, and the run counts; if not, the failure is that of the judge or its provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeGuard, TypeVar

from viva.errors import CutOffError, SchemaError
from viva.judge.answers import NoJson
from viva.judge.asking import NoAnswer
from viva.judge.turns import NOTHING_OF_THE_AGENT, OF_THE_AGENT, WITHOUT_THE_AGENT, Detail
from viva.models.retry import is_for_content
from viva.records.fault import Fault

T = TypeVar("T")
TRANSCRIPT_REFUSED = "transcript-refused"
"""The flag of a verdict that is open because a provider, or its model in words, refuses what the agent said or did."""
TRANSCRIPT_UNANSWERED = "transcript-unanswered"
"""The flag of a verdict that is open because no answer of the judge to what the agent said or did can be used."""
REFUSED_WORDS = "the judge's provider refuses what the agent said or did, and accepts the question without it"
"""Why a verdict has the first flag. The run still counts: no agent leaves the averages by what it says."""
ASKED_WORDS = (
    "the judge's provider refuses what the examiner said after the agent's first words (in a recording: what the user "
    "said, the instructions or the tools), and accepts the question without it"
)
"""Why it has this flag if the provider refuses words that the agent, or whoever delivers a recording, may have brought
about."""
UNANSWERED_WORDS = "the judge gives no usable answer to what the agent said or did, and gives one without it"
"""Why a verdict has the second flag, or the first one if the judge writes prose."""


def is_content_refused(found: object) -> TypeGuard[NoAnswer]:
    """Return whether there is no answer because a provider refused the question for what it holds."""
    return isinstance(found, NoAnswer) and is_for_content(found.error)


def is_refusal(found: NoAnswer) -> bool:
    """Return whether a request was too large or refused, so that a smaller one may be answered.

    A model that never wrote any JSON is taken to have refused, because refusals are worded in many ways.
    """
    error = found.error
    causes = (error, error.__cause__) if error is not None else ()
    return is_for_content(error) or any(isinstance(each, NoJson | SchemaError) for each in causes)


async def attributed(
    found: T | NoAnswer,
    ask_without: Callable[[Detail], Awaitable[object]],
    ask_again: Callable[[], Awaitable[T | NoAnswer]],
    shortest: Detail,
) -> T | NoAnswer:
    """Return what was found, with a flag if there is no answer because of what the agent said or did.

    A provider that refused the question must accept it without the agent's words, and refuse it once more with them: a
    proxy's refusal may pass in between. A judge whose answers were unusable must give a usable one with other words of
    the same length in their place, and none when it is asked about them once more, down to the shortest form: a judge
    that fails by chance, or always, or at that length, costs the agent nothing.

    Args:
        found: The result for a question; if a provider refused it, in as few words as there are.
        ask_without: Asks it in a detail that hides what is the agent's, and returns the result; None if there is
            nothing of it.
        ask_again: Asks it as before, and in fewer words as long as `is_for_less` holds.
        shortest: The last detail in which `ask_again` asks.
    """
    if is_content_refused(found) and (why := await _refused_words(ask_without)):
        found = await ask_again()
        if is_content_refused(found):
            return _refused(found, why)
    if not _is_unusable(found) or not _is_answered(await ask_without(replace(shortest, veiled=OF_THE_AGENT))):
        return found
    again = await ask_again()
    if is_content_refused(again):
        return _refused(again)
    if not _is_unusable(again) or _is_cut_off(again):
        return again
    flag = TRANSCRIPT_REFUSED if is_refusal(again) else TRANSCRIPT_UNANSWERED
    return replace(again, reason=f"{UNANSWERED_WORDS} ({again.reason})", flag=flag)


async def _refused_words(ask_without: Callable[[Detail], Awaitable[object]]) -> str:
    """Return whose words a provider refuses, as the reason for a verdict; empty if neither the agent's nor those that
    it may have brought about are at fault."""
    without = await ask_without(WITHOUT_THE_AGENT)
    if _is_accepted(without):
        return REFUSED_WORDS
    if is_content_refused(without) and _is_accepted(await ask_without(NOTHING_OF_THE_AGENT)):
        return ASKED_WORDS
    return ""


def _refused(found: NoAnswer, why: str = REFUSED_WORDS) -> NoAnswer:
    return replace(found, reason=f"{why} ({found.reason})", flag=TRANSCRIPT_REFUSED)


def is_for_less(found: object) -> TypeGuard[NoAnswer]:
    """Return whether a judge that is able to answer may do so if it is asked in fewer words."""
    return is_content_refused(found) or _is_unusable(found)


def _is_unusable(found: object) -> TypeGuard[NoAnswer]:
    return isinstance(found, NoAnswer) and found.unusable


def _is_cut_off(found: NoAnswer) -> bool:
    """Return whether the last answer reached a limit, which is the judge's own and says nothing of the agent."""
    return found.error is not None and isinstance(found.error.__cause__, CutOffError)


def _is_answered(found: object) -> bool:
    return found is not None and not isinstance(found, NoAnswer)


def _is_accepted(found: object) -> bool:
    """Return whether a provider took a question, whatever its model answered."""
    if isinstance(found, NoAnswer):
        return found.fault is not Fault.INFRA and not is_content_refused(found)
    return found is not None
