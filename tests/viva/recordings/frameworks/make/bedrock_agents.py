"""Writes responses of Amazon Bedrock's agents in their documented form; botocore checks it. No agent ran."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

from botocore.session import get_session
from botocore.validate import validate_parameters

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    PARALLEL,
    PLAIN,
    SYSTEM,
    TOOLS,
    Script,
    Task,
    Turn,
    folder_given,
)

folder = folder_given()
script = Script("Amazon Bedrock agents", "API 2023-07-26", f"trace parts, checked by botocore {version('botocore')}")
SHAPE = get_session().get_service_model("bedrock-agent-runtime").shape_for("TracePart")
BEGAN = datetime(2026, 11, 22, 10, tzinfo=UTC)
ALIAS = "arn:aws:bedrock:eu-central-1:123456789012:agent-alias/{}/TSTALIASID"
TOOLS["knowledge_base"] = lambda knowledgeBaseId, text: "Rome lies on the Tiber."  # noqa: N803
TOOLS["code_interpreter"] = lambda code: str(eval(code))
TOOLS["expert"] = lambda text: "25 degrees."
SEARCH = Task(
    "Where does Rome lie?",
    (
        Turn("I search.", (("knowledge_base", {"knowledgeBaseId": "KB1", "text": "Rome river"}),)),
        Turn("", (("code_interpreter", {"code": "6 * 7"}),)),
        Turn("On the Tiber."),
    ),
)
OUTER = Task(
    "Ask the expert for the weather in Rome.",
    (Turn("The expert knows.", (("expert", {"text": "Weather in Rome?"}),)), Turn("25 degrees, says the expert.")),
)
INNER = Task("Weather in Rome?", (Turn("", (("get_weather", {"city": "Rome"}),)), Turn("25 degrees.")))
seconds = iter(range(10_000))
TYPES = {int: "integer", str: "string", bool: "boolean"}


def part(step: dict[str, Any], agent: str, callers: tuple[str, ...]) -> dict[str, Any]:
    """Make a part of a trace, in the documented form."""
    made = {
        "agentId": agent.upper(),
        "agentAliasId": "TSTALIASID",
        "agentVersion": "DRAFT",
        "sessionId": "session-1",
        "callerChain": [{"agentAliasArn": ALIAS.format(each)} for each in (*callers, agent)],
        "eventTime": BEGAN + timedelta(seconds=next(seconds)),
        "trace": {"orchestrationTrace": step},
        **({"collaboratorName": agent} if callers else {}),
    }
    validate_parameters(made, SHAPE)
    return made


def invocation(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Make the input of a tool."""
    if name == "knowledge_base":
        return {"invocationType": "KNOWLEDGE_BASE", "knowledgeBaseLookupInput": given}
    if name == "code_interpreter":
        code = {**given, "files": []}
        return {"invocationType": "ACTION_GROUP_CODE_INTERPRETER", "codeInterpreterInvocationInput": code}
    if name == "expert":
        asked = {"agentCollaboratorName": name, "agentCollaboratorAliasArn": ALIAS.format(name)}
        asked["input"] = {"type": "TEXT", **given}  # type: ignore[assignment]
        return {"invocationType": "AGENT_COLLABORATOR", "agentCollaboratorInvocationInput": asked}
    listed = [{"name": key, "type": TYPES[type(value)], "value": str(value)} for key, value in given.items()]
    group = {"actionGroupName": "world", "executionType": "LAMBDA", "function": name, "parameters": listed}
    return {"invocationType": "ACTION_GROUP", "actionGroupInvocationInput": group}


def observation(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Make what the agent observes of a tool."""
    try:
        result = TOOLS[name](**given)
    except ValueError as error:
        return {"type": "REPROMPT", "repromptResponse": {"source": "ACTION_GROUP", "text": str(error)}}
    if name == "knowledge_base":
        location = {"type": "S3", "s3Location": {"uri": "s3://bucket/rome.txt"}}
        found = [{"content": {"text": result}, "location": location}]
        return {"type": "KNOWLEDGE_BASE", "knowledgeBaseLookupOutput": {"retrievedReferences": found}}
    if name == "code_interpreter":
        return {"type": "ACTION_GROUP", "codeInterpreterInvocationOutput": {"executionOutput": result}}
    if name == "expert":
        said = {"agentCollaboratorName": name, "output": {"type": "TEXT", "text": result}}
        return {"type": "AGENT_COLLABORATOR", "agentCollaboratorInvocationOutput": said}
    return {"type": "ACTION_GROUP", "actionGroupInvocationOutput": {"text": result}}


def parts_of(task: Task, agent: str = "weatherman", callers: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Yield the parts that an agent sends while it works on a task."""
    messages = [{"role": "user", "content": f"[{{text={task.question}, type=text}}]"}]
    prompt = json.dumps({"system": SYSTEM, "messages": messages})
    for number, turn in enumerate(task.turns):
        ids = {"traceId": f"trace-of-{len(task.question)}-{number}"}

        def step(ids: dict[str, str] = ids, **given: Any) -> dict[str, Any]:
            return part({key: {**ids, **value} for key, value in given.items()}, agent, callers)

        yield step(modelInvocationInput={"type": "ORCHESTRATION", "foundationModel": "scripted", "text": prompt})
        usage = {"inputTokens": INPUT_TOKENS, "outputTokens": OUTPUT_TOKENS}
        raw = {"content": json.dumps({"content": turn.words})}
        yield step(modelInvocationOutput={"rawResponse": raw, "metadata": {"usage": usage}})
        if not turn.calls:
            yield step(observation={"type": "FINISH", "finalResponse": {"text": turn.words}})
            continue
        if turn.words:
            yield step(rationale={"text": turn.words})
        for name, given in turn.calls:
            yield step(invocationInput=invocation(name, given))
        for name, given in turn.calls:
            if name == "expert":
                yield from parts_of(INNER, "expert", (*callers, agent))
            yield step(observation=observation(name, given))


def write(responses: list[Any]) -> None:
    """Append responses, each on a line; times are written as Python shows them."""
    with (folder / "traces.jsonl").open("a") as out:
        for each in responses:
            out.write(json.dumps(each, default=str) + "\n")


(folder / "traces.jsonl").write_text("")
for task in (PLAIN, FAILING, PARALLEL):
    script.play(task)
    write([{"trace": each} for each in parts_of(task)])
for task in (*CONVERSATION, SEARCH):
    events = [{"trace": each} for each in parts_of(task)]
    write([{"inputText": script.play(task), "sessionId": "session-1", "completion": events}])
script.play(OUTER)
script.play(INNER, same_trace=True)
write(list(parts_of(OUTER)))
script.write_truth(folder, reader="bedrock")
