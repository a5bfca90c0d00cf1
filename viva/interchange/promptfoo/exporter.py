"""Writes cases as a configuration of promptfoo: a test for each case, with an assertion for each scoring point."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from viva.interchange.drafts.draft import FULFILLED
from viva.interchange.ledger import Gap
from viva.interchange.promptfoo.assertions import NoAssertion, Written, of_check, of_statement
from viva.interchange.promptfoo.differences import differences
from viva.interchange.promptfoo.importer import DESCRIPTION, OURS
from viva.interchange.promptfoo.templates import is_template
from viva.interchange.promptfoo.users import PROVIDER
from viva.interchange.source import Source

MESSAGE = "message"
PLAIN = f"{{{{{MESSAGE}}}}}"
"""The prompt of a test that says one message."""
PROVIDERS = "name your agent under providers: promptfoo asks it"
VARIABLE = "promptfoo takes what is in braces for a variable"
ROLES = {"agent": "assistant", "user": "user", "system": "system"}


def export(cases: Sequence[tuple[str, Source]]) -> dict[str, Any]:
    """Return the configuration.

    Args:
        cases: Names and trees.
    """
    prompts: list[Any] = []
    tests = [_test(name, tree, prompts) for name, tree in cases]
    if any(isinstance(prompt, dict) for prompt in prompts) and PLAIN in prompts:
        prompts[prompts.index(PLAIN)] = {"label": MESSAGE, "raw": PLAIN}
        for test in tests:
            if MESSAGE in test.get("vars", ()) and "provider" not in test:
                test["prompts"] = [MESSAGE]
    return {"prompts": prompts or [PLAIN], "providers": [], "tests": tests}


def _test(name: str, tree: Source, prompts: list[Any]) -> dict[str, Any]:
    test: dict[str, Any] = {"description": name}
    script = tree.get("script")
    said = [] if script is None else list(script.elements())
    if said and said[0].is_text:
        _say(test, name, tree, said[0], prompts)
        for each in said[1:]:
            each.report(Gap.NO_HOME, "a test of promptfoo says one message to the agent")
    else:
        _add_user(test, tree)
    metadata = _metadata(test, tree)
    assertions = [each for point in (tree.get("scoring_points") or tree).elements() for each in _assertion(point)]
    if assertions:
        test["assert"] = assertions
    threshold = tree.get("threshold")
    if threshold is not None:
        test["threshold"] = threshold.take()
    if metadata:
        test["metadata"] = metadata
    return test


def _say(test: dict[str, Any], name: str, tree: Source, said: Source, prompts: list[Any]) -> None:
    task, rounds, conversation = (tree.get(key) for key in ("task_description", "max_rounds", "conversation"))
    if task is not None:
        task.express("the message") if said.peek() in str(task.peek()) else None
    if rounds is not None and rounds.peek() == 1:
        rounds.express("one message")
    text = said.take()
    if is_template(text):
        said.remark(Gap.NEEDS_A_PERSON, VARIABLE)
    if conversation is None:
        test["vars"] = {MESSAGE: text}
        if PLAIN not in prompts:
            prompts.append(PLAIN)
        return
    turns = [*_turns(conversation), {"role": "user", "content": text}]
    prompts.append({"label": name, "raw": json.dumps(turns, ensure_ascii=False)})
    test["prompts"] = [name]


def _turns(conversation: Source) -> Iterator[dict[str, str]]:
    for turn in conversation.elements():
        given = turn.take()
        yield {"role": ROLES[given["role"]], "content": given["content"]}


def _add_user(test: dict[str, Any], tree: Source) -> None:
    task, rounds, opening, conversation = (
        tree.get(key) for key in ("task_description", "max_rounds", "opening", "conversation")
    )
    config: dict[str, Any] = {} if task is None else {"instructions": task.take()}
    if rounds is not None:
        config["maxTurns"] = rounds.take()
    test["provider"] = {"id": PROVIDER, "config": config}
    messages = [] if conversation is None else list(_turns(conversation))
    if opening is not None:
        messages.append({"role": "user", "content": opening.take()})
    if messages:
        test["vars"] = {"initialMessages": messages}


def _metadata(test: dict[str, Any], tree: Source) -> dict[str, Any]:
    metadata, tags = tree.get("metadata"), tree.get("tags")
    kept: dict[str, Any] = {}
    for key, value in metadata.items() if metadata is not None else ():
        if key == "vars" and value.is_mapping:
            test["vars"] = {**test.get("vars", {}), **value.take()}
        elif key == OURS and value.is_mapping and value.get(DESCRIPTION) is not None:
            ours = dict(value.take())
            test["description"] = ours.pop(DESCRIPTION)
            kept |= {key: ours} if ours else {}
        else:
            kept[key] = value.take()
    if tags is not None:
        kept["tags"] = tags.take()
    return kept


def _assertion(point: Source) -> Iterator[Written]:
    """Yield the assertion of a point; none, if promptfoo has none, or the point stands for a lack of one."""
    inner = point.get("points")
    if inner is not None:
        members = [each for below in inner.elements() for each in _assertion(below)]
        title = point.get("score_point")
        made: Written = {"type": "assert-set", "assert": members}
        if title is not None and not str(title.peek()).startswith("All "):
            made["metric"] = title.take()
        elif title is not None:
            title.express("assert-set")
        if members:
            yield _with_weight(point, made)
        return
    found = _single(point)
    if found is not None:
        yield _with_weight(point, found)


def _with_weight(point: Source, made: Written) -> Written:
    weight, metadata = point.get("weight"), point.get("metadata")
    if weight is not None:
        made = {**made, "weight": weight.take()}
    for key, value in metadata.items() if metadata is not None else ():
        if key == "metric" and "metric" not in made:
            made = {**made, "metric": value.take()}
    return made


def _single(point: Source) -> Written | None:
    statement, check, code = (point.get(key) for key in ("score_point", "check", "eval_code"))
    if code is not None:
        point.report(Gap.REFUSED, "code is not exported: write an assertion of your own")
        return None
    if check is not None:
        try:
            made = of_check(check.peek())
        except NoAssertion:
            point.report(Gap.NO_HOME, "promptfoo has no assertion like this check")
            return None
        check.express(f"assertion {made['type']}")
        for words in differences(check.peek()):
            check.remark(Gap.NEEDS_A_PERSON, words)
        if is_template(made):
            check.remark(Gap.NEEDS_A_PERSON, VARIABLE)
        if statement is not None:
            statement.report(Gap.NO_HOME, "an assertion that does not ask a model has no statement")
        return made
    if statement is None:
        return None
    if statement.peek() == FULFILLED:
        statement.express("no assertion")
        return None
    statement.express("an assertion")
    if is_template(statement.peek()):
        statement.remark(Gap.NEEDS_A_PERSON, VARIABLE)
    return of_statement(str(statement.peek()))
