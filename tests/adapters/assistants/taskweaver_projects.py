"""A TaskWeaver project for tests, and the model that plays its planner and its code interpreter."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.model_server import Answer, Request, system_text, text_of

PLAN = {
    "plan_reasoning": "It needs code.",
    "init_plan": "1. do it",
    "plan": "1. do it",
    "current_plan_step": "1. do it",
}


def planned(message: str, send_to: str = "User") -> dict[str, str]:
    """Return what the planner says."""
    stop = "Completed" if send_to == "User" else "InProcess"
    return {**PLAN, "stop": stop, "send_to": send_to, "message": message}


def played(request: Request) -> Answer:
    """Play the planner, or the code interpreter; the present question is in the last message."""
    last = text_of(request["messages"][-1])
    planner = "You are the Planner" in system_text(request)
    return Answer(json.dumps({"response": _planner(last) if planner else _coder(last)}))


def _planner(last: str) -> dict[str, str]:
    if "has succeeded" in last:
        return planned("Done.")
    if "has failed" in last or "execution failed" in last.lower():
        return planned("It failed.")
    wanted = re.search(r"(a\.txt|b\.txt|fail|remember \d+|recall|joke)", last)
    word = wanted[1] if wanted else ""
    return planned("A joke.") if word in ("joke", "") else planned(f"please {word}", "CodeInterpreter")


def _coder(last: str) -> dict[str, str]:
    code = "raise ValueError('lost')"
    if found := re.search(r"remember (\d+)", last):
        code = f"number = {found[1]}"
    elif "recall" in last:
        code = "open('number.txt', 'w').write(str(number))"
    elif "b.txt" in last:
        code = "open('b.txt', 'w').write(str(number))"
    elif "a.txt" in last:
        code = "number = 4711\nopen('a.txt', 'w').write(str(number))"
    return {"thought": "I write code.", "reply_type": "python", "reply_content": code}


def make_project(folder: Path, url: str) -> Path:
    """Make a project whose model is at `url`, and whose code runs in a kernel on this machine."""
    for name in ("planner_examples", "code_generator_examples"):
        (folder / "examples" / name).mkdir(parents=True)
    (folder / "plugins").mkdir()
    config = {"llm.api_base": url, "llm.api_key": "none", "llm.model": "gpt-4"}
    config |= {"execution_service.kernel_mode": "local", "code_interpreter.max_retry_count": 1}  # type: ignore[dict-item]
    (folder / "taskweaver_config.json").write_text(json.dumps(config))
    return folder


def stand_in_for_litellm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an empty module in place of litellm, which the distribution imports without declaring it: it is 190 MB, and
    a session with a model of OpenAI's protocol does not use it.
    """
    folder.mkdir()
    (folder / "litellm.py").write_text("")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
