"""Compares the statements of a case with each other and with its task, as far as code can: numbers and quoted words.

What is compared is narrow on purpose. Two statements contradict each other here only if they are the same but for one
value or one negation; whatever takes understanding is left to the reviewer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, dropwhile, takewhile

from viva.cases import Case
from viva.lint.finding import CaseFinding, LintKind
from viva.lint.places import CaseLines
from viva.lint.words import asks_to_find_out, is_limit

_VALUE = r"[-+]?[$€£]?\d[\d,]*(?:\.\d+)?|\"[^\"]{1,60}\"|'[^']{1,60}'|\u201c[^\u201d]{1,60}\u201d"
_IS = re.compile(
    rf"^(?P<subject>.*\b(?:is|are|was|be|equals?|amounts to|comes to|=))\s+(?:exactly |now )?(?P<value>{_VALUE})"
    r"(?P<rest>[^\d\"\u201c]*)$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_OPEN = re.compile(
    r"^\W*(?:an?|one|some|another|any|each|every|either)\b|\b(?:one of|among|also|another|whether|or|example)\b",
    re.IGNORECASE,
)
"""What there may be several of: `One of the files is 'a.txt'.` contradicts nothing."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NEGATION = re.compile(
    r"\b(?:does not|do not|doesn['\u2019]t|don['\u2019]t|did not|didn['\u2019]t|is not|isn['\u2019]t|never|not)\b", re.I
)
_MODAL = frozenset(
    {"should", "must", "will", "shall", "has", "have", "to", "does", "do", "did", "is", "are", "be", "was", "were"}
)
_IN_A_MIND = re.compile(
    r"^\W*(?:the |an? )?(?:agent|assistant|bot|model|chatbot)\W+(?:\w+ly )?"
    r"(?:understands?|knows?|realizes?|realises?"
    r"|believes?|thinks|feels?|wants?|intends?|cares?|is aware|has understood|understood|comprehends?|grasps?)\b",
    re.IGNORECASE,
)
_SUBJECTS = frozenset(
    {"the", "its", "all", "agent", "assistant", "bot", "model", "it", "agent's", "s", "reply", "replies", "answer"}
    | {"answers", "response", "responses", "last", "final", "conversation", "result", "output", "behaviour", "behavior"}
)
_COPULAS = frozenset({"is", "are", "was", "were", "be", "seems", "looks", "feels", "sounds", "should", "must"})
_DEGREES = frozenset({"very", "really", "quite", "generally", "always", "overall", "a", "of"})
_PRAISE = frozenset(
    {"helpful", "useful", "good", "nice", "great", "fine", "ok", "okay", "smart", "intelligent", "competent", "clever"}
    | {"satisfactory", "satisfying", "appropriate", "adequate", "reasonable", "excellent", "acceptable", "natural"}
    | {"sensible", "high quality", "as expected"}
)
_WELL = frozenset({"does well", "performs well", "behaves well", "works well", "does a good job", "does its job well"})
LONGEST = 500
"""Characters of a sentence that is compared: a longer one says more than one thing."""


@dataclass(frozen=True, slots=True)
class _StatedValue:
    """A sentence that gives a value to a subject."""

    subject: tuple[str, ...]
    value: str
    shown: str


def statement_findings(case: Case, lines: CaseLines, earned: Collection[int] = ()) -> Iterator[CaseFinding]:
    """Yield the statements that contradict something, give away the answer, or name nothing that can be observed.

    Args:
        case: The case.
        lines: The lines of its file.
        earned: The numbers of the points that a solution gets, which therefore do not contradict each other.
    """
    contradictions = chain(_values(case, lines, earned), _negations(case, lines, earned), _checks(case, lines))
    seen: set[int | None] = set()
    for each in contradictions:
        if each.point not in seen:  # one is enough to look at the point
            yield each
        seen.add(each.point)
    for index, point in enumerate(case.scoring_points):
        where = lines.of_point(index, "score_point")
        if not point.is_checked and (_IN_A_MIND.search(point.score_point) or _praises(point.score_point)):
            message = "no words or files of the agent decide this statement: two judges will disagree about it"
            advice = "name what the agent says, asks, does or leaves behind"
            yield CaseFinding(LintKind.UNOBSERVABLE, message, advice, where, index + 1)
        if not point.is_checked and not case.script and (source := _revealed(case, point.score_point)):
            message = f"the answer is in {source}, which the examiner may tell the agent"
            yield CaseFinding(LintKind.REVEALED, message, HIDE, where, index + 1)


HIDE = "move it to background, which only the judge knows, or have a script examine"


def _values(case: Case, lines: CaseLines, earned: Collection[int]) -> Iterator[CaseFinding]:
    seen: dict[tuple[str, ...], tuple[int, _StatedValue]] = {}
    told = {claim.subject: claim for claim in _claims(case.task_description) if "agent" in claim.subject}
    for index, point in enumerate(case.scoring_points):
        claim = _claim(point.score_point)
        if claim is None or is_limit(point.score_point):
            continue
        where = lines.of_point(index, "score_point")
        other, first = seen.setdefault(claim.subject, (index, claim))
        both_earned = {index + 1, other + 1} <= set(earned)
        if first.value != claim.value and not both_earned:
            message = f"this statement demands {claim.shown}, and point {other + 1} demands {first.shown} of the same"
            yield CaseFinding(LintKind.CONTRADICTION, message, _CORRECT, where, index + 1)
        in_task = told.get(claim.subject)
        if in_task is not None and in_task.value != claim.value and index + 1 not in earned:
            message = f"this statement demands {claim.shown}, and the task says {in_task.shown} of the same"
            yield CaseFinding(LintKind.CONTRADICTION, message, _CORRECT, where, index + 1)


def _checks(case: Case, lines: CaseLines) -> Iterator[CaseFinding]:
    """Yield the points whose check looks for another number than their statement names."""
    for index, point in enumerate(case.scoring_points):
        claim = _claim(point.score_point) if point.eval_code else None
        if claim is None or point.eval_code is None or not _NUMBER.fullmatch(claim.value):
            continue
        numbers = _numbers_looked_for(point.eval_code)
        if len(numbers) == 1 and claim.value not in numbers and claim.value not in point.eval_code:
            (other,) = numbers
            message = f"this statement demands {claim.shown}, and its check looks for {other!r}"
            yield CaseFinding(LintKind.CONTRADICTION, message, _CORRECT, lines.of_point(index, "eval_code"), index + 1)


def _numbers_looked_for(code: str) -> set[str]:
    """Return the numbers of two digits or more that a check has as texts, as in `"55" in words`."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {_plain_number(text) for text in texts if len(text) > 1 and _NUMBER.fullmatch(text.replace(",", ""))}


_CORRECT = "correct one of them, or say in each what it is about (which round, which file)"


def _negations(case: Case, lines: CaseLines, earned: Collection[int]) -> Iterator[CaseFinding]:
    seen: dict[tuple[str, ...], tuple[int, bool]] = {}
    for index, point in enumerate(case.scoring_points):
        denied = bool(_NEGATION.search(point.score_point))
        key = _plain(_NEGATION.sub(" ", point.score_point))
        other, before = seen.setdefault(key, (index, denied))
        if key and before is not denied and not {index + 1, other + 1} <= set(earned):
            where = lines.of_point(index, "score_point")
            message = f"this statement is the opposite of point {other + 1}: no agent gets both"
            yield CaseFinding(LintKind.CONTRADICTION, message, "remove one", where, index + 1)


def _revealed(case: Case, statement: str) -> str:
    """Return where the value of a statement is that the agent is to find out; empty if nowhere."""
    claim = _claim(statement)
    if claim is None or len(claim.value) < 2 or is_limit(statement) or not asks_to_find_out(statement):
        return ""
    places = {"the task": case.task_description, "the opening": case.opening or ""}
    places |= {f"fact {number}": fact.says for number, fact in enumerate(case.facts, 1) if fact.when != "never"}
    value = re.compile(rf"(?<![\w.,]){re.escape(claim.value)}(?![\w]|[.,]\d)", re.IGNORECASE)
    return next((place for place, text in places.items() if value.search(text.replace(",", ""))), "")


def _praises(statement: str) -> bool:
    """Return whether a statement is praise and nothing else: `The agent's replies are very helpful.`"""
    words = re.findall(r"[a-z']+", statement[:LONGEST].casefold()) if len(statement) <= LONGEST else []
    subject = list(takewhile(_SUBJECTS.__contains__, words))
    rest = words[len(subject) :]
    copula = list(takewhile(_COPULAS.__contains__, rest))
    praise = " ".join(dropwhile(_DEGREES.__contains__, rest[len(copula) :]))
    return bool(subject) and ((bool(copula) and praise in _PRAISE) or " ".join(rest) in _WELL)


def _claims(text: str) -> Iterator[_StatedValue]:
    for sentence in _SENTENCE.split(text):
        claim = _claim(sentence)
        if claim is not None and not is_limit(sentence):
            yield claim


def _claim(sentence: str) -> _StatedValue | None:
    match = _IS.match(" ".join(sentence.split())) if len(sentence) <= LONGEST else None
    if match is None or _OPEN.search(match["subject"]):
        return None
    value = _plain_number(match["value"].strip("\"'\u201c\u201d$€£+ ").casefold())
    return _StatedValue((*_plain(match["subject"]), "|", *_plain(match["rest"])), value, match["value"])


def _plain_number(text: str) -> str:
    """Return a number without commas and without zeros at its end; other texts without commas."""
    text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if _NUMBER.fullmatch(text) and "." in text else text


def _plain(text: str) -> tuple[str, ...]:
    """Return the words of a text without verbs such as `should`, and without the s of verbs and plurals."""
    words = re.findall(r"[\w']+", text.casefold())
    return tuple(word.removesuffix("s") if len(word) > 3 else word for word in words if word not in _MODAL)
