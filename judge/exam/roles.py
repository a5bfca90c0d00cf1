"""Recognises an examiner that speaks as the assistant, solves the task, or thinks aloud.

What shows it in any language are labels in front of a turn, marks of thinking, code, and the agent's own words. Beside
them stand the usual sentences of assistants in several languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from viva.judge.exam.common_words import listed
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.messages import Message, Talk, sentence_with
from viva.judge.exam.paper import Paper

SHOWN = 1_600
"""Number of characters of a message that are searched for sentences."""
COPIED = 60
"""Minimum number of characters of a message that repeats the agent's words."""
WEAK = 2
"""Number of different sentences of the weak kind that show an assistant."""

_THOUGHT = re.compile(r"</?think(?:ing)?>|<\|[a-z_]+\|>|\[/?inst\]")
_LABEL = re.compile(
    r"^\s*(?:ai|agent|assistant|assistent|asistente|assistente|examiner|bot|system|thought|reasoning|\u52a9\u624b|"
    r"\u52a9\u7406|\u0430\u0441\u0441\u0438\u0441\u0442\u0435\u043d\u0442|\u0430\u0433\u0435\u043d\u0442)\s*[:\uff1a]",
    re.M,
)
_CODE = re.compile(r"^\s*```(?:python|javascript|js|java|sql|bash|c\+\+|c#|go|rust)\b", re.M)


ANY = "*"
"""In place of words in the list of sentences: the sentence is a form of lines, which needs one of `LINE_SIGNS`."""
LINE_SIGNS = frozenset("*([:\uff1a\n")


@cache
def _sentences(section: str) -> dict[str, tuple[re.Pattern[str], ...]]:
    """Return the sentences of a section of the list by the words of which they have one."""
    found: dict[str, list[re.Pattern[str]]] = {}
    for line in listed("assistant_sentences")[section]:
        words, _, pattern = line.partition(" :: ")
        compiled = re.compile(pattern, re.M)
        for word in words.split():
            found.setdefault(word, []).append(compiled)
    return {word: tuple(each) for word, each in found.items()}


@cache
def _words(section: str) -> frozenset[str]:
    return frozenset(_sentences(section))


def _matches(section: str, lower: str, tokens: tuple[str, ...], known: str) -> Iterator[str]:
    """Yield what a text has of the sentences of a section, one for each sentence."""
    by_word, seen = _sentences(section), set()
    words = _words(section).intersection(tokens)
    lines = ANY in by_word and not LINE_SIGNS.isdisjoint(lower)
    for word in (*words, ANY) if lines else words:
        for pattern in by_word[word]:
            if pattern in seen:
                continue
            seen.add(pattern)
            # A form of lines can only be at the beginning of a text that is one line.
            look = pattern.match if word == ANY and "\n" not in lower else pattern.search
            if (found := look(lower)) is not None and found[0] not in known:
                yield found[0]


def role_flips(talk: Talk, paper: Paper) -> list[Finding]:
    """Return each message in which the examiner left its role."""
    if paper.plays:  # a strategy may pretend to be somebody else
        return []
    found = []
    for message in talk.messages:
        words, reason = _flipped(message, talk, paper)
        if reason:
            quote = sentence_with(message.text, words)
            found.append(Finding(ExamFault.ROLE_FLIP, message.round, quote, reason))
    return found


def _flipped(message: Message, talk: Talk, paper: Paper) -> tuple[str, str]:
    """Return the words that show that a message is not a user's, and the reason; both empty if it is one."""
    text = message.text
    if not text:
        return "", ""
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}\n{text[-SHOWN // 2 :]}"
    lower = text.casefold()
    known = paper.text
    # Each structure needs one of these signs.
    found = _THOUGHT.search(lower) if "<" in lower or "[" in lower else None
    if found is None and (":" in lower or "\uff1a" in lower):
        found = _LABEL.search(lower) if "\n" in lower else _LABEL.match(lower)
    if found is not None and found[0].strip() not in known:
        return found[0].strip(), "it writes a turn or a thought in somebody else's name"
    if "```" in text and (code := _CODE.search(lower)) and "```" not in known and "code" not in known:
        return code[0].strip(), "it writes code, although the task gives none"
    words = _assistant(lower.replace("\u2019", "'"), message, known)
    if words:
        return words, "it speaks as the assistant, or about the agent, and not as the user"
    if not lower.isascii() and (
        sign := next((each for each in listed("assistant_sentences")["signs"] if each in lower), "")
    ):
        return sign, "it speaks as the assistant, and not as the user"
    if len(lower) >= COPIED and lower not in known and lower in talk.reply(message.round - 1):
        return lower[:COPIED], "it repeats the agent's own words as if they were the user's"
    return "", ""


def _assistant(lower: str, message: Message, known: str) -> str:
    """Return the words of a message that only an assistant says; empty if there are none."""
    tokens = message.words.tokens
    if (strong := next(_matches("strong", lower, tokens, known), None)) is not None:
        return strong
    weak = list(islice(_matches("weak", lower, tokens, known), WEAK))
    return weak[0] if len(weak) == WEAK else ""
