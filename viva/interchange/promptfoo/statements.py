"""The assertions of promptfoo that a model decides, as statements, and those that Viva refuses, with the reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from viva.interchange.promptfoo.checks import Assertion, Unfit, text
from viva.interchange.promptfoo.templates import in_words

Statement = Callable[[Assertion], str]
ALIKE = "The agent's answer means the same as this:"


def _own(assertion: Assertion) -> str:
    value = assertion.value
    if isinstance(value, list):
        return _listed("All of this applies to the agent's answer:", value)
    return text(assertion)


def _with(words: str) -> Statement:
    return lambda assertion: f"{words} {text(assertion)}"


def _always(words: str) -> Statement:
    return lambda assertion: words


def _skill_used(assertion: Assertion) -> str:
    value = assertion.value
    if isinstance(value, dict):
        return _skill_counted(value, assertion.negated)
    if not isinstance(value, list) or len(value) == 1:
        return f"The agent uses the skill {in_words(value[0]) if isinstance(value, list) else text(assertion)}"
    # `not-` forbids each skill of a list, and not only all of them in one conversation.
    how_many = "at least one" if assertion.negated else "all"
    return _listed(f"The agent uses {how_many} of these skills:", value)


def _skill_counted(value: dict[str, Any], is_negated: bool) -> str:
    name, pattern = value.get("name"), value.get("pattern")
    if not name and not pattern:
        raise Unfit("it has neither name nor pattern")
    skill = f"the skill {in_words(name)}" if name else f"a skill whose name matches {in_words(pattern)}"
    limits = {key: value[key] for key in ("min", "max") if value.get(key) is not None}
    if is_negated and limits not in ({}, {"max": 0}):
        raise Unfit("promptfoo knows no limits of what must not be used, other than max: 0")
    if is_negated or not limits:
        return f"The agent uses {skill}"
    words = {"min": "at least", "max": "at most"}
    numbers = " and ".join(f"{words[key]} {in_words(number)}" for key, number in limits.items())
    return f"This is the number of times that the agent uses {skill}: {numbers}"


def _alike(assertion: Assertion) -> str:
    value = assertion.value
    if isinstance(value, list) and len(value) > 1:
        return _listed("The agent's answer means the same as at least one of these:", value)
    return f"{ALIKE} {in_words(value[0]) if isinstance(value, list) and value else text(assertion)}"


def _listed(words: str, value: list[Any]) -> str:
    return f"{words}\n" + "\n".join(f"- {in_words(each)}" for each in value)


STATEMENTS: dict[str, Statement] = {
    "llm-rubric": _own,
    "agent-rubric": _own,
    "g-eval": _own,
    "model-graded-closedqa": _own,
    "search-rubric": _own,
    "trajectory:goal-success": _with("The agent reaches this goal:"),
    "factuality": _with("What the agent says agrees in its facts with this:"),
    "model-graded-factuality": _with("What the agent says agrees in its facts with this:"),
    "answer-relevance": _always("The agent's answer is about what it was asked."),
    "conversation-relevance": _always("Each answer of the agent is about what it was asked."),
    "context-faithfulness": _always("The agent claims nothing that the given context does not say."),
    "is-refusal": _always("The agent declines to do what it was asked."),
    "skill-used": _skill_used,
}
"""Statements for a model; the judge is the user's own, whatever `provider` the source names."""

STAND_INS: dict[str, Statement] = {
    **{f"similar{kind}": _alike for kind in ("", ":cosine", ":dot", ":euclidean")},
    **dict.fromkeys(("bleu", "gleu", "rouge-n", "meteor"), _alike),
    "is-html": _always("The agent's answer is valid HTML and nothing else."),
    "contains-html": _always("The agent's answer contains HTML."),
    "is-sql": _always("The agent's answer is one valid SQL statement and nothing else."),
    "contains-sql": _always("The agent's answer is valid SQL, or contains a block of it."),
}
"""Statements in the place of what promptfoo computes: by embeddings, by n-grams, by parsers."""

REFUSED: dict[str, str] = {
    "javascript": "JavaScript, which Viva does not run; write the check with check or eval_code",
    "ruby": "Ruby, which Viva does not run; write the check with check or eval_code",
    "webhook": "it sends answers to an address; write an evaluator of your own if you want that",
    "classifier": "it asks a hosted classifier; write a statement or an evaluator of your own",
    "guardrails": "it reads what the provider's guardrails say; write a statement",
    "moderation": "it asks a hosted moderation service; write a statement",
    "pi": "it asks a hosted scorer; write a statement",
    "perplexity": "it needs the probabilities of the model's tokens, which agents do not report",
    "perplexity-score": "it needs the probabilities of the model's tokens, which agents do not report",
    "finish-reason": "agents do not report why a model stopped",
    "context-recall": "it judges the retrieved context and not the agent; write a statement about the answer",
    "context-relevance": "it judges the retrieved context and not the agent; write a statement about the answer",
    "is-valid-function-call": "it needs the schemas of the provider's tools; check the calls with tool_called",
    "is-valid-openai-function-call": "it needs the schemas of the provider's tools; check the calls with tool_called",
    "is-valid-openai-tools-call": "it needs the schemas of the provider's tools; check the calls with tool_called",
    "trace-error-spans": "it reads spans; check the agent's steps, or the trace with --evaluators",
    "trace-span-count": "it reads spans; check the agent's steps, or the trace with --evaluators",
    "trace-span-duration": "it reads spans; check the agent's steps, or the trace with --evaluators",
    "select-best": "it compares the answers of several agents; viva compare does that for whole suites",
    "max-score": "it compares the answers of several agents; viva compare does that for whole suites",
    "human": "a person decides; viva label takes the labels of people",
}


def refusal(kind: str) -> str:
    """Return why a type of assertion is left out."""
    if kind in REFUSED:
        return REFUSED[kind]
    if kind.startswith("promptfoo:redteam"):
        return "promptfoo's hosted grader of attacks; write a statement"
    return "this type is unknown to Viva; write a statement, check or eval_code"


def negated(statement: str) -> str:
    """Return the opposite of a statement."""
    return f"The opposite holds, this does not apply: {statement}"
