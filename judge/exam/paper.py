"""Prepares what a case tells its examiner, and what only its scoring points say, so that messages can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from viva.cases import Case
from viva.judge.exam.common_words import listed, word_list
from viva.judge.exam.secrets import NO_SECRETS, Secrets, secrets_of
from viva.judge.exam.words import Words, is_small, joined, words_of

_STEP = re.compile(r"^[ \t]*(?:\w+[ \t]+)?(\d{1,3})[.):\u3001][ \t]*(\S.*)$", re.MULTILINE)
"""A line of a numbered list: `1. …`, `Step 2: …`."""
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*|\n+")
_IF_UNSPACED = ("\u5982\u679c", "\u82e5", "\u53ea\u6709", "\u5834\u5408", "\u306a\u3089", "\u305f\u3089")


@cache
def _asking() -> re.Pattern[str]:
    return re.compile("|".join(listed("assistant_sentences")["asking"]), re.I)


WEIGHT_OF_SPECIFIC = 2
"""A number or an identifier says as much about a task as two words."""
MOST_STEPS = 1_000


@dataclass(frozen=True, slots=True)
class Paper:
    """What an exam is about. Everything is in the form in which messages are compared."""

    text: str
    """All that the examiner was told, in lower case."""
    stems: frozenset[str]
    """Stems of the task and of what the user knows."""
    specifics: frozenset[str]
    size: int = 0
    """How much the task alone says: its stems, and its specifics, which count twice; 0 if it cannot be recognised."""
    core: frozenset[str] = frozenset()
    """The stems of its first sentence, and those that it has more than once: what it is about."""
    tokens: frozenset[str] = frozenset()
    """All words of the task alone, the small ones too."""
    steps: tuple[Words, ...] = ()
    """The items of a numbered list in the task, in order."""
    rounds: int = 0
    """The number of rounds that the task counts; 0 if it counts none."""
    held_back: tuple[Words, ...] = ()
    """Facts that may not be told in the first message."""
    never: tuple[Words, ...] = ()
    """Facts that may never be told."""
    insists: Words | None = None
    insist_times: int | None = None
    gives_up: bool = False
    """Whether the case says when the user gives up, or how patient the user is."""
    language: str | None = None
    """The user's language, if the case names one."""
    plays: bool = False
    """Whether the examiner plays a persona or a strategy, so that odd facts and subjects may be intended."""
    misleads: bool = False
    """Whether the examiner follows a strategy, so that it may pretend to be somebody else."""
    secrets: Secrets = NO_SECRETS


def paper_of_case(case: Case, *, persona: str = "", strategy: str = "") -> Paper:
    """Return the paper of a case.

    Args:
        case: The case.
        persona: The persona that was chosen for the exam, beside the case's.
        strategy: The strategy that was chosen for it.
    """
    misleads = bool(strategy or (case.strategy and case.strategy.name))
    facts = [fact.says for fact in case.facts]
    more = [case.opening or "", case.insist.on if case.insist else "", *facts]
    if case.done_when is not None:
        more += [case.done_when.content or "", case.done_when.gives_up or ""]
    user = case.user
    if user is not None:
        more += [user.mood or "", user.style or "", user.persona or ""]
    if case.strategy is not None:
        more += [case.strategy.goal or "", case.strategy.name or ""]
    told = "\n".join((case.task_description, *case.data_files, *more))
    stems, specifics = joined(map(words_of, _pieces(told)))
    rounds = _rounds(case.task_description, case.max_rounds)
    known = " ".join(told.casefold().split())
    asked = words_of(case.task_description).stems
    # A fact of the first step is due in the first message. Words of the task itself tell nothing of a fact.
    later = [fact for fact in case.facts if fact.when == "asked" or (fact.when == "step" and fact.step != 1)]
    held_back = [words for fact in later if (words := words_of(fact.says)).specifics or words.stems - asked]
    return Paper(
        known,
        stems,
        specifics,
        size=_size(case.task_description),
        core=_core(case.task_description),
        tokens=_tokens(case.task_description),
        steps=_steps(case.task_description),
        rounds=rounds,
        held_back=(*_held_back(case.task_description), *held_back),
        never=tuple(words_of(fact.says) for fact in case.facts if fact.when == "never"),
        insists=words_of(case.insist.on) if case.insist else None,
        insist_times=case.insist.times if case.insist else None,
        gives_up=bool((case.done_when and case.done_when.gives_up) or (user and user.patience)),
        language=user.language if user else None,
        plays=misleads or bool(persona or (user and user.persona)),
        misleads=misleads,
        secrets=secrets_of(case.scoring_points, known, stems, specifics, rounds),
    )


def paper_of_text(task: str) -> Paper:
    """Return the paper of a recording's task description, which has no scoring points."""
    stems, specifics = joined(map(words_of, _pieces(task)))
    return Paper(
        " ".join(task.casefold().split()),
        stems,
        specifics,
        size=_size(task),
        core=_core(task),
        tokens=_tokens(task),
        steps=_steps(task),
        rounds=_rounds(task, None),
        held_back=_held_back(task),
    )


def _size(task: str) -> int:
    stems, specifics = joined(map(words_of, _pieces(task)))
    return len(stems) + WEIGHT_OF_SPECIFIC * sum(not is_small(each) for each in specifics)


def _core(task: str) -> frozenset[str]:
    sentences = [words_of(each).stems for each in _SENTENCE.split(task) if each.strip()]
    times = Counter(stem for stems in sentences for stem in stems)
    return frozenset(stem for stem, number in times.items() if number > 1 or stem in sentences[0])


def _tokens(task: str) -> frozenset[str]:
    return frozenset(token for piece in _pieces(task) for token in words_of(piece).tokens)


def _pieces(text: str) -> Iterator[str]:
    # A long message is compared by its beginning and end; a task must be read as a whole.
    for line in text.splitlines():
        for at in range(0, len(line), 3_000):
            yield line[at : at + 3_000]


def _steps(task: str) -> tuple[Words, ...]:
    """Return the items of a list that is numbered from 1."""
    found: list[Words] = []
    for number, words in _STEP.findall(task)[:MOST_STEPS]:
        if int(number) == len(found) + 1:
            found.append(words_of(words))
    return tuple(found) if len(found) > 1 else ()


def _rounds(task: str, max_rounds: int | None) -> int:
    """Return the last number of the rounds that a task counts from 1."""
    numbers = {int(number) for number in re.findall(r"(?<![\w.,])\d{1,4}(?![\w]|[.,]\d)", task)}
    if max_rounds is not None and max_rounds in numbers and max_rounds > 2:
        return max_rounds
    counted = [number for number in numbers if number > 4]
    return max(counted) if 1 in numbers and len(counted) == 1 else 0


def _held_back(task: str) -> tuple[Words, ...]:
    """Return the specifics and quoted words that are only in sentences such as `If it asks, say that …`."""
    free: list[Words] = []
    held: list[tuple[Words, str]] = []
    for sentence in _SENTENCE.split(task):
        words = words_of(sentence)
        conditional = not word_list("conditions").isdisjoint(words.tokens) or any(
            sign in sentence for sign in _IF_UNSPACED
        )
        if conditional and _asking().search(sentence):
            held.append((words, sentence))
        else:
            free.append(words)
    _, open_ = joined(free)
    found = (Words(frozenset(), frozenset(), frozenset(_large(words.specifics - open_))) for words, _ in held)
    return tuple(each for each in found if each.specifics)


def _large(specifics: frozenset[str]) -> Iterator[str]:
    return (each for each in specifics if not each.isdecimal() or len(each) > 2)
