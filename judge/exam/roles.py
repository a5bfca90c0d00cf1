"""Recognises an examiner that speaks as the assistant, solves the task, or thinks aloud.

What shows it in any language are labels in front of a turn, marks of thinking, code, and the agent's own words. Beside
them stand the usual sentences of assistants in several languages.
"""

from __future__ import annotations

import re
from functools import cache

from viva.judge.exam.common_words import listed, word_list
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.messages import Message, Talk, sentence_with
from viva.judge.exam.paper import Paper

SHOWN = 4_000
"""Number of characters of a message that are searched for sentences."""
COPIED = 60
"""Minimum number of characters that an examiner's message and the agent's reply have in common to be a copy."""

_STRUCTURE = re.compile(
    r"</?think(?:ing)?>|<\|[a-z_]+\|>|\[/?inst\]|"
    r"^\s*(?:ai|agent|assistant|assistent|asistente|assistente|examiner|bot|system|\u52a9\u624b|\u52a9\u7406|"
    r"\u0430\u0441\u0441\u0438\u0441\u0442\u0435\u043d\u0442|\u0430\u0433\u0435\u043d\u0442)\s*[:\uff1a]|"
    r"^\s*[*(\[][^*()\[\]]{12,200}[*)\]]\s*$|"
    r"^\s*(?:final )?(?:answer|antwort|r\u00e9ponse|respuesta|risposta|resposta|\u043e\u0442\u0432\u0435\u0442|"
    r"\u7b54\u6848|\u56de\u7b54)\s*[:\uff1a]",
    re.M,
)
_CODE = re.compile(r"```|^\s*(?:[-*] |\d+\. )?\*\*[^*\n]{2,60}\*\*|^\s*(?:def |import |print\(|SELECT |#include)", re.M)


@cache
def _sentences() -> re.Pattern[str]:
    sections = listed("assistant_sentences")
    return re.compile("|".join(f"(?:{each})" for name in ("en", "other languages") for each in sections[name]), re.M)


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
    signs = not lower.isascii() or any(sign in lower for sign in ":<[*(")  # each structure has one of them
    if signs and (found := _STRUCTURE.search(lower)) and found[0].strip() not in known:
        return found[0].strip(), "it writes a turn, a thought or an answer in somebody else's name"
    if ("`" in text or "\n" in text or "**" in text) and (code := _CODE.search(text)) and not _CODE.search(known):
        return code[0].strip(), "it writes code or formatted text as an assistant does, although the task gives none"
    if not word_list("triggers").isdisjoint(message.words.tokens):
        said = _sentences().search(lower.replace("\u2019", "'"))
        if said is not None and said[0] not in known:
            return said[0], "it speaks as the assistant, or about the agent, and not as the user"
    if (
        not lower.isascii()
        and (sign := next((each for each in listed("assistant_sentences")["signs"] if each in lower), None))
        and sign not in known
    ):
        return sign, "it speaks as the assistant, and not as the user"
    if len(lower) >= COPIED:
        before = talk.reply(message.round - 1)
        if before and (lower[:COPIED] in before or lower[-COPIED:] in before) and lower[:COPIED] not in known:
            return lower[:COPIED], "it repeats the agent's own words as if they were the user's"
    return "", ""
