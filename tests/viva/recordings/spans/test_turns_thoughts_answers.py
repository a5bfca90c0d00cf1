"""Earlier turns become rounds, thoughts reach each call they precede, and answers are what the framework gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viva.recordings.spans.test_broken import model, read, span
from viva.recordings.output_text import text_of_output
from viva.records.trajectory import UNPARSED, answer_of, tool_calls, trajectory, undispatched


def messages(side: str, *said: dict[str, Any]) -> dict[str, Any]:
    """Write messages of the chat format as OpenInference does."""
    flat = {}
    for place, message in enumerate(said):
        start = f"llm.{side}_messages.{place}.message"
        flat |= {f"{start}.{key}": value for key, value in message.items() if key != "calls"}
        for number, (name, given) in enumerate(message.get("calls", ())):
            at = f"{start}.tool_calls.{number}.tool_call"
            flat |= {f"{at}.id": f"c{number}", f"{at}.function.name": name}
            flat[f"{at}.function.arguments"] = json.dumps(given)
    return flat


def chat(*said: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in said]


TURNS = chat(
    ("system", "Be brief."), ("user", "Who are you?"), ("assistant", "A bot."), ("user", "Warm?"), ("assistant", "Yes.")
)


def of_model(number: int, parent: int | None, given: list[dict[str, Any]], *said: dict[str, Any]) -> dict[str, Any]:
    written = messages("input", *given) | messages("output", *said)
    return span(number, parent, span_kind="LLM", attributes=written)


def test_earlier_turns_become_earlier_rounds_without_steps(tmp_path: Path) -> None:
    asked = [*TURNS, *chat(("user", "And now?"))]
    (recording,) = read(tmp_path, [span(1), of_model(2, 1, asked, *chat(("assistant", "Still.")))])
    rounds = recording.transcript.rounds
    assert [(each.number, each.examiner, each.agent) for each in rounds] == [
        (1, "Who are you?", "A bot."),
        (2, "Warm?", "Yes."),
        (3, "And now?", "Still."),
    ]
    assert recording.subject == "And now?"
    assert [len(each.steps) for each in rounds] == [0, 0, 2]


def test_calls_and_observations_of_earlier_turns_are_no_turns(tmp_path: Path) -> None:
    said = 'Thought: t\nAction: f\nAction Input: {"a": 1}'
    before = chat(
        ("user", "Warm?"), ("assistant", said), ("user", "Observation: 25"), ("assistant", "Thought: ok\nAnswer: Yes.")
    )
    spans = [
        span(1),
        of_model(2, 1, [*before, *chat(("user", "And now?"))], *chat(("assistant", "Thought: x\nAnswer: No."))),
    ]
    (recording,) = read(tmp_path, spans)
    assert [(each.examiner, each.agent) for each in recording.transcript.rounds] == [
        ("Warm?", "Yes."),
        ("And now?", "No."),
    ]


def test_what_stands_before_the_first_question_is_no_earlier_turn(tmp_path: Path) -> None:
    given = chat(("user", "Context: it is winter."), ("user", "Warm?"))
    (recording,) = read(tmp_path, [span(1), of_model(2, 1, given, *chat(("assistant", "No.")))])
    assert [each.examiner for each in recording.transcript.rounds] == ["Warm?"]


def test_a_run_that_was_resumed_keeps_its_question(tmp_path: Path) -> None:
    given = [*TURNS, *chat(("user", "And now?")), {"role": "assistant", "content": "", "calls": [("f", {})]}]
    given.append({"role": "tool", "content": "25", "tool_call_id": "c0"})
    (recording,) = read(tmp_path, [span(1), of_model(2, 1, given, *chat(("assistant", "Still.")))])
    assert [each.examiner for each in recording.transcript.rounds] == ["Who are you?", "Warm?", "And now?"]


def test_a_question_that_the_framework_wraps_is_no_earlier_turn(tmp_path: Path) -> None:
    root = span(1, attributes={"input.value": "And now?"})
    given = [*TURNS, *chat(("user", "New task:\nAnd now?"))]
    (recording,) = read(tmp_path, [root, of_model(2, 1, given, *chat(("assistant", "Still.")))])
    assert [each.examiner for each in recording.transcript.rounds] == ["Who are you?", "Warm?", "And now?"]


def test_reasoning_words_and_calls_in_messages_of_their_own_are_one_decision(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = [
        {"role": "assistant", "contents.0.message_content.type": "reasoning"},
        {"role": "assistant", "calls": [("f", {"a": 1})]},
        {"role": "assistant", "calls": [("g", {})]},
    ]
    said[0]["contents.0.message_content.text"] = "I need both."
    asked = chat(("user", "Q?"))
    (recording,) = read(tmp_path, [span(1), of_model(2, 1, asked, *said), model(4, 1, "Done.")])
    steps = trajectory(recording.transcript)
    assert [(step.tool, step.thought) for step in steps] == [("f", "I need both."), ("g", "I need both."), (None, None)]


def test_of_alternative_answers_one_counts(tmp_path: Path) -> None:
    said = chat(("assistant", "One."), ("assistant", "Other."))
    (recording,) = read(tmp_path, [span(1), of_model(2, 1, chat(("user", "Q?")), *said)])
    (step,) = trajectory(recording.transcript)
    assert answer_of(step) == "Other."


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning", "content": "Hm."},
        {"type": "reasoning", "text": "Hm."},
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "reasoningContent", "content": {"reasoningText": {"text": "Hm.", "signature": "x"}}},
    ],
)
@pytest.mark.parametrize("key", ["parts", "content"])
def test_parts_of_reasoning_are_the_thought(part: dict[str, Any], key: str, tmp_path: Path) -> None:
    words = {"type": "text", ("content" if key == "parts" else "text"): "Yes."}
    said = json.dumps([{"role": "assistant", key: [part, words]}])
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said}
    (recording,) = read(tmp_path, [span(1), span(2, 1, attributes=attributes)])
    (step,) = trajectory(recording.transcript)
    assert (step.thought, answer_of(step)) == ("Hm.", "Yes.")


def test_a_field_of_reasoning_is_the_thought(tmp_path: Path) -> None:
    attributes = {
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.reasoning": "Hm.",
        "gen_ai.completion.0.content": "Yes.",
        "llm.request.type": "chat",
    }
    (recording,) = read(tmp_path, [span(1), span(2, 1, attributes=attributes)])
    (step,) = trajectory(recording.transcript)
    assert (step.thought, answer_of(step)) == ("Hm.", "Yes.")


@pytest.mark.parametrize(
    "content",
    ["Yes.", [{"type": "text", "text": "Yes."}], [{"type": "text", "content": "Yes."}], [{"text": "Yes."}]],
)
def test_output_messages_may_have_content_in_place_of_parts(content: Any, tmp_path: Path) -> None:
    said = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": content}])}
    (recording,) = read(tmp_path, [span(1), span(2, 1, attributes={"gen_ai.operation.name": "chat", **said})])
    assert recording.transcript.rounds[0].agent == "Yes."
    agent = span(1, attributes={"gen_ai.operation.name": "invoke_agent", **said})
    (recording,) = read(tmp_path, [agent])
    assert recording.transcript.rounds[0].agent == "Yes.", "of the agent's own span"


@pytest.mark.parametrize(
    ("tool", "given", "answer"),
    [
        ("final_result", {"city": "Rome", "warm": True}, '{"city": "Rome", "warm": true}'),
        ("final_result_City", {"response": "Rome"}, "Rome"),
        ("final_answer", {"answer": "It is Rome."}, "It is Rome."),
        ("set_model_response", {"response": 5}, "5"),
    ],
)
def test_an_output_tool_gives_the_answer_and_is_no_tool_used(
    tool: str, given: dict[str, Any], answer: str, tmp_path: Path
) -> None:
    asked = chat(("user", "Q?"))
    spans = [
        span(1, span_kind="AGENT"),
        of_model(2, 1, asked, {"role": "assistant", "calls": [("f", {})]}),
        span(3, 1, span_kind="TOOL", attributes={"tool.name": "f", "output.value": "25"}),
        of_model(4, 1, asked, {"role": "assistant", "calls": [(tool, given)]}),
        span(5, 1, span_kind="TOOL", attributes={"tool.name": tool, "output.value": "processed"}),
    ]
    (recording,) = read(tmp_path, spans)
    assert recording.transcript.rounds[0].agent == answer
    assert [step.tool for step in tool_calls(recording.transcript.rounds[0].steps)] == ["f"]


def test_a_call_whose_arguments_the_framework_gave_as_its_answer_is_no_tool_used(tmp_path: Path) -> None:
    given = {"city": "Rome", "degrees": 25}
    root = span(1, span_kind="AGENT", attributes={"final_result": json.dumps(given)})
    said = {"role": "assistant", "calls": [("City", given)]}
    (recording,) = read(tmp_path, [root, of_model(2, 1, chat(("user", "Q?")), said)])
    assert json.loads(recording.transcript.rounds[0].agent or "") == given
    assert not tool_calls(recording.transcript.rounds[0].steps)


def test_an_output_tool_whose_result_was_refused_is_an_answer_that_could_not_be_read(tmp_path: Path) -> None:
    asked = chat(("user", "Q?"))
    refused = {"role": "assistant", "calls": [("final_result", {"city": 5})]}
    complaint = {"role": "tool", "content": "city should be text", "tool_call_id": "c0"}
    spans = [
        span(1),
        of_model(2, 1, asked, refused),
        of_model(4, 1, [*asked, refused, complaint], {"role": "assistant", "calls": [("final_result", {"city": "R"})]}),
    ]
    (recording,) = read(tmp_path, spans)
    first, second = trajectory(recording.transcript)
    assert (undispatched(first), first.error) == (UNPARSED, "city should be text")
    assert answer_of(second) == '{"city": "R"}'
    assert not tool_calls(recording.transcript.rounds[0].steps)


def code_agent(result: str, *ran: dict[str, Any]) -> list[dict[str, Any]]:
    """Write a code agent's action, the tools that ran in it, and the next model call, as smolagents does."""
    said = chat(("assistant", "Thought: I try.\n<code>\nprint(f(1))\n</code>"))
    asked = chat(("user", "New task:\nQ?"))
    after = [*asked, *said, *chat(("tool-response", f"Call id: call_1\n{result}"))]
    tools = [
        span(number, 1, span_kind="TOOL", attributes={"tool.name": "f", "output.value": "25"}, **each)
        for number, each in enumerate(ran, 3)
    ]
    end = chat(("assistant", "Thought: Done.\n<code>\nfinal_answer('25')\n</code>"))
    last = span(9, 1, span_kind="TOOL", attributes={"tool.name": "final_answer", "output.value": "25"})
    models = [of_model(2, 1, asked, *said), of_model(8, 1, after, *end)]
    for made in models:
        made["name"] = "OpenAIModel.generate"
        made["attributes"]["openinference.span.kind"] = "LLM"
    return [span(1, span_kind="AGENT"), models[0], *tools, models[1], last]


def test_tools_that_code_ran_are_the_steps_and_the_code_is_one_if_it_failed_by_itself(tmp_path: Path) -> None:
    error = "Error:\nname 'x' is not defined"
    for result, ran, steps in (
        ("Observation:\nExecution logs:\n25", [{}, {}], [("f", None), ("f", None)]),
        ("Observation:\nExecution logs:\n25", [], [("python_interpreter", None)]),
        (error, [], [("python_interpreter", "name 'x' is not defined")]),
        (error, [{}], [("f", None), ("python_interpreter", "name 'x' is not defined")]),
        (error, [{"status_code": "ERROR", "status_message": "no x"}], [("f", "no x")]),
    ):
        (recording,) = read(tmp_path, code_agent(result, *ran))
        (round_,) = recording.transcript.rounds
        assert [(step.tool, step.error) for step in tool_calls(round_.steps)] == steps
        assert {step.thought for step in tool_calls(round_.steps)} == {"I try."}
        assert (recording.subject, round_.agent) == ("Q?", "25")


def parser(number: int, **value: Any) -> dict[str, Any]:
    said = {"output.value": json.dumps(value), "output.mime_type": "application/json"}
    return span(number, 1, name="ReActOutputParser.parse", attributes=said)


def test_the_frameworks_parser_outranks_what_the_text_looks_like(tmp_path: Path) -> None:
    prompt = "You act with Action Input: …\nQ?"
    looks_like_a_call = "Thought: done\nAction: call your bank\nAction Input: {}\nAnswer: Call your bank."
    spans = [
        span(1),
        model(2, 1, "Thought: I look.\nAnswer: weather(Rome)", prompt),
        parser(3, thought="I look.", action="weather", action_input={"city": "Rome"}),
        model(5, 1, looks_like_a_call, prompt),
        parser(6, thought="done", response="Call your bank."),
    ]
    (recording,) = read(tmp_path, spans)
    call, answer = trajectory(recording.transcript)
    assert (call.thought, call.tool, call.tool_input) == ("I look.", "weather", {"city": "Rome"})
    assert (answer.tool, answer_of(answer)) == (None, "Call your bank.")


def test_words_that_the_framework_gave_as_its_answer_are_no_action(tmp_path: Path) -> None:
    text = "What to do next:\nAction: call your bank"
    root = span(1, attributes={"output.value": text})
    (recording,) = read(tmp_path, [root, model(2, 1, text)])
    (step,) = trajectory(recording.transcript)
    assert (step.tool, answer_of(step)) == (None, text)


@pytest.mark.parametrize(
    "given",
    [
        "AgentOutput(response=ChatMessage(role='assistant', content='Yes.'))",
        "<agents.result.RunResult object at 0x7f0000000000>",
        "StopEvent(result=AgentOutput(response=None))",
    ],
)
def test_a_python_object_is_no_answer(given: str, tmp_path: Path) -> None:
    spans = [span(1, attributes={"output.value": given})]
    spans.append(of_model(2, 1, chat(("user", "Q?")), {"role": "assistant", "calls": [("f", {})]}))
    (recording,) = read(tmp_path, spans)
    assert recording.transcript.rounds[0].agent is None


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"raw": "Yes.", "pydantic": None, "json_dict": None, "tasks_output": []}, "Yes."),
        ({"response": {"role": "assistant", "blocks": [{"block_type": "text", "text": "Yes."}]}, "raw": {}}, "Yes."),
        ({"message": {"role": "assistant", "content": "Yes."}, "raw": {"id": "x"}}, "Yes."),
        ({"messages": [{"type": "human", "content": "Q?"}, {"type": "ai", "content": "Yes."}]}, "Yes."),
        ({"messages": [{"type": "ai", "content": ""}], "structured_response": {"city": "Rome"}}, '{"city": "Rome"}'),
    ],
)
def test_the_answer_is_found_in_the_output_of_a_run(given: dict[str, Any], answer: str, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, [span(1, attributes={"output.value": json.dumps(given)})])
    assert recording.transcript.rounds[0].agent == answer


@pytest.mark.parametrize("text", ['{"raw": "1,2", "checked": true}', '{"response": "x", "ok": 1}', "f(x) = 2 (at 3)"])
def test_an_answer_in_json_is_the_text_itself(text: str) -> None:
    assert text_of_output(text) == text
