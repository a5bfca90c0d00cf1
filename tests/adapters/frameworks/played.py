"""The model behind the agents of the framework tests. It has no state: many conversations can ask it at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.model_server import Answer, Request, ToolCall, text_of
from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    PARALLEL,
    PLAIN,
    UNKNOWN,
    Task,
    Turn,
)

DELEGATES = Task(
    "Please ask the expert.", (Turn("", (("ask_expert", {"input": PLAIN.question}),)), Turn("It is warm."))
)
CRASHES = Task("Please crash.", (Turn("", (("crash", {}),)), Turn("It crashed.")))
LOOKS = Task("Please look around.", (Turn("", (("look", {}),)), Turn("I looked.")))
HANDS_OVER = Task("Please book.", (Turn("", (("transfer_to_booker", {}),)), Turn("It is booked.")))
HANDS_OFF = Task(
    "Please hand over.",
    (Turn("", (("handoff", {"to_agent": "booker", "reason": "It books."}),)), Turn("It is booked.")),
)
HANDS_TO_USER = Task("Please ask me.", (Turn("", (("transfer_to_user", {}),)), Turn("Thank you.")))
DELETES = Task("Please delete a.txt.", (Turn("", (("delete_file", {"name": "a.txt"}),)), Turn("Done with a.txt.")))
STRUCTURE = Task("Which city is warm?", (Turn("", (("final_result", {"name": "Rome", "degrees": 25}),)),))
TASKS = {
    task.question: task
    for task in (
        PLAIN,
        FAILING,
        PARALLEL,
        UNKNOWN,
        CRASHES,
        LOOKS,
        DELETES,
        STRUCTURE,
        DELEGATES,
        HANDS_OVER,
        HANDS_OFF,
        HANDS_TO_USER,
        *CONVERSATION,
    )
}


def played(request: Request) -> Answer:
    """Answer as the task of the last question says, by how often the model was asked since."""
    messages = request["messages"]
    asked = [place for place, message in enumerate(messages) if message["role"] == "user"]
    known = [place for place in asked if text_of(messages[place]) in TASKS]
    if known and (known[-1] == asked[-1] or messages[-1]["role"] != "user"):
        task = TASKS[text_of(messages[known[-1]])]
        done = sum(message["role"] == "assistant" for message in messages[known[-1] :])
        turn = task.turns[min(done, len(task.turns) - 1)]
    else:
        turn = Turn("You said: " + "; ".join(text_of(messages[place]) for place in asked))
    return answered(turn, len(messages))


def answered(turn: Turn, number: int) -> Answer:
    """Return a turn as the model's answer; `number` makes the ids of its calls unique."""
    calls = tuple(
        ToolCall(name, json.dumps(given), f"call_{number}_{place}") for place, (name, given) in enumerate(turn.calls)
    )
    return Answer(turn.words or None, calls, usage=(INPUT_TOKENS, OUTPUT_TOKENS))


def files_model(request: Request) -> Answer:
    """Solve the case `same_number_in_two_files` with a tool `write_file(name, text)`."""
    messages = request["messages"]
    last: Mapping[str, Any] = messages[-1]
    if last["role"] == "tool":
        return answered(Turn("Done."), len(messages))
    said = text_of(last)
    written = [
        json.loads(call["function"]["arguments"])["text"]
        for message in messages
        for call in message.get("tool_calls") or ()
    ]
    if "a.txt" in said and not written:
        return answered(Turn("", (("write_file", {"name": "a.txt", "text": "4711"}),)), len(messages))
    if "b.txt" in said:
        # What it wrote before stands in the conversation, or the agent has no memory.
        remembered = written[0] if written else "unknown"
        return answered(Turn("", (("write_file", {"name": "b.txt", "text": remembered}),)), len(messages))
    return answered(Turn("Why did the agent cross the road? To reach its goal."), len(messages))
