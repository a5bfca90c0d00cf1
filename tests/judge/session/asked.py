"""Judges a made-up session with models of a local server, and looks at what reached it."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conftest import ModelAt
from tests.model_server import OWN_MARK, ModelServer, Play, Request
from tests.ufo_folders import app_line, host_line, make_folder
from viva.judge.session.evaluator import SessionEvaluator
from viva.judge.session.settings import Settings
from viva.recordings.desktop.ufo import read_session
from viva.records.transcript import Transcript
from viva.records.verdict import Insight

_URL = re.compile(r"data:image/(png|jpeg);base64,(.*)", re.S)


def sub(name: str, evaluation: str = "yes", step: str = "1", quote: str = "thought 1", **more: Any) -> dict[str, Any]:
    """A sub-goal with evidence from a step."""
    return {
        "name": name,
        "reason": f"Step {step} shows it.",
        "evidence": [{"step": step, "quote": quote}],
        "evaluation": evaluation,
        **more,
    }


def said(complete: str = "yes", *subs: Mapping[str, Any], reason: str = "That is how it ended.", **more: Any) -> str:
    """An answer in the form that is asked for."""
    scores = list(subs) or [sub("the message is typed"), sub("the message is sent", quote="")]
    return json.dumps({"sub_scores": scores, "reason": reason, "complete": complete, "mark": OWN_MARK, **more})


def folder_of(path: Path, steps: int = 3, rounds: int = 1) -> Path:
    """A session with pictures of each step, and of the end of each round and of the whole."""
    numbers = [(step, (step - 1) * rounds // steps) for step in range(1, steps + 1)]
    told = [app_line(step, round_, request=f"Request {round_}") for step, round_ in numbers]
    lines = [host_line(request="Request 0"), *told]
    return make_folder(path / "session", lines, pictures=range(1, steps + 1))


def reader(folder: Path) -> Any:
    """Reads the pictures of a folder."""
    return lambda name: (folder / name).read_bytes() if (folder / name).is_file() else None


async def judge(
    play: Play | Mapping[str, Play],
    model_at: ModelAt,
    folder: Path,
    settings: Settings | None = None,
    *,
    backup: str | None = None,
    transcript: Transcript | None = None,
    request: str | None = None,
) -> tuple[tuple[Insight, ...], list[Request]]:
    """Judge the session of a folder; gives the insights and the requests that reached the server."""
    parts = dict(play) if isinstance(play, Mapping) else {"m": play}
    with ModelServer(parts) as server:
        model = model_at(server.url)
        other = model_at(server.url, f"openai:{backup}") if backup else None
        evaluator = SessionEvaluator(model, other, settings=settings or Settings())
        talk = transcript or read_session(folder).transcript
        insights = await evaluator.judge_transcript(talk, "run", reader(folder), request=request)
        return insights, [seen.body for seen in server.requests if seen.method == "POST"]


def pictures(request: Request) -> list[bytes]:
    """The pictures of a request, as files, in order."""
    found = []
    for message in request["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "image_url":
                match = _URL.fullmatch(part["image_url"]["url"])
                assert match is not None
                found.append(base64.b64decode(match[2]))
    return found


def captions(request: Request) -> list[str]:
    """The words that stand right before each picture."""
    found = []
    for message in request["messages"]:
        content = message["content"] if isinstance(message["content"], list) else []
        for before, part in itertools.pairwise(content):
            if part["type"] == "image_url":
                found.append(before["text"])
    return found
