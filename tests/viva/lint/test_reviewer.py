"""A model reviews cases: what it adds, and that an answer which cannot be used leaves the case unreviewed."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.model_server import (
    OWN_MARK,
    ModelServer,
    Play,
    Request,
    ServerError,
    Unauthorized,
    by_role,
    sequence,
    system_text,
    text_of,
    verdict,
)
from tests.prompt_text import choices, form_in, states
from tests.viva.conftest import Desk, point
from viva.cases import load_case
from viva.judge.asking import AskAgain
from viva.lint.review_answer import CaseFlaw, CaseReviewAnswer, ReviewedFlaw
from viva.lint.reviewer import SYSTEM_PROMPT, paper_parts, with_found_quotes
from viva.models.prompts import render

TASK = "Tell the agent that the parcel 4711 has not come.\nAsk what it can do. The agent can send it again."
POINTS = [
    point(None, "The agent offers to send the parcel again.", 2),
    point(None, "The agent refuses to send anything.", 1),
]


def flaw(kind: str, number: int, quote: str, against: str = "", **more: Any) -> dict[str, Any]:
    given = {"point": number, "kind": kind, "quote": quote, "against": against}
    return {**given, "reason": "They do not fit.", "advice": "Drop it.", **more}


def review(*flaws: dict[str, Any], **changes: Any) -> str:
    answer = {"reason": "This is what I make of it.", "flaws": list(flaws), "verdict": "flawed" if flaws else "sound"}
    return json.dumps({**answer, "mark": OWN_MARK, **changes})


CLASH = flaw("contradicts_task", 2, "refuses to send anything", "The agent can send it again.")


def run(
    desk: Desk, certificate: Path, reviewer: Play, judge: Play = "", *, expect: int = 0, points: Any = POINTS
) -> tuple[CompletedProcess[str], list[Request]]:
    """Lint one case with a model that reviews and judges; also return the reviewer's requests."""

    def play(request: Request) -> Any:
        part = reviewer if system_text(request).startswith("You review a test case") else judged
        return part(request) if callable(part) else part

    judged = judge or verdict("miss", "The agent says nothing of the kind.")
    folder = desk.case("parcel", task_description=TASK, scoring_points=points, script=None)
    with ModelServer({"m": play}) as server:
        environment = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "test-key-123456",
            "SSL_CERT_FILE": str(certificate),
            "VIVA_MODEL_WAIT": "0.001",
        }
        words = ("cases", "lint", folder, "--model", "openai:m", "--sandbox", "process", "--strict", "--json")
        done = desk.viva(*words, environment=environment, expect=expect)
    asked = [each.body for each in server.requests if each.body]
    return done, [each for each in asked if system_text(each).startswith("You review a test case")]


def lint(*given: Any, **more: Any) -> tuple[dict[str, Any], list[Request]]:
    """What `run` came to."""
    done, asked = run(*given, **more)
    (found,) = json.loads(done.stdout)["cases"]
    return found, asked


def test_a_reviewer_finds_what_code_cannot_see(desk: Desk, one_certificate: Path) -> None:
    found, asked = lint(desk, one_certificate, review(CLASH), expect=1)
    (one,) = found["findings"]
    assert (one["kind"], one["point"], one["by"], one["note"]) == ("contradiction", 2, "m", False)
    assert one["message"] == "They do not fit. (against 'The agent can send it again.')"
    assert one["advice"] == "Drop it."
    assert found["tried"] == ["silent", "echoing", "refusing", "parroting", "reviewed by m"]
    prompt = "\n".join(text_of(message) for message in asked[0]["messages"])
    assert "[scoring point 2, weight 1]:\n    The agent refuses to send anything." in prompt


def test_a_sound_case_stays_without_a_finding(desk: Desk, one_certificate: Path) -> None:
    found, asked = lint(desk, one_certificate, review())
    assert (found["findings"], found["failed"], len(asked)) == ([], [], 1)


def test_points_that_a_model_judges_are_tried_with_it(desk: Desk, one_certificate: Path) -> None:
    hit = verdict("hit", "It does.", {"round": 1, "quote": "I cannot help with that."})
    found, _ = lint(desk, one_certificate, review(), hit, expect=1, points=POINTS[:1])
    (one,) = [each for each in found["findings"] if not each["note"]]
    assert one["kind"] == "anybody"
    assert "refuses everything" in one["message"]
    assert "as m judges it" in one["message"]


@pytest.mark.parametrize(
    "poor",
    [
        review(flaw("contradicts_task", 2, "accepts to send anything", "The agent can send it again.")),
        review(flaw("contradicts_task", 2, "refuses to send anything", "The agent cannot send it again.")),
        review(flaw("revealed", 1, "send the parcel", "The agent refuses to send anything.")),
        review(flaw("unobservable", 3, "refuses to send anything")),
        review(flaw("too_hard", 2, "refuses to send anything")),
        review(CLASH, verdict="sound"),
        review(verdict="flawed"),
        review(CLASH, mark="00000000"),
        "I find this case quite all right.",
    ],
    ids=["lost-quote", "lost-other", "revealed-elsewhere", "no-point", "kind", "sound", "flawed", "mark", "prose"],
)
def test_an_answer_that_cannot_be_used_leaves_the_case_unreviewed(desk: Desk, one_certificate: Path, poor: str) -> None:
    found, asked = lint(desk, one_certificate, poor, expect=3)
    assert found["findings"] == []
    assert found["failed"][0].startswith("the review by m: ")
    assert "reviewed by m" not in found["tried"]
    assert len(asked) == 3


def test_a_reviewer_that_corrects_itself_counts(desk: Desk, one_certificate: Path) -> None:
    lost = review(flaw("contradicts_task", 2, "accepts to send anything", "The agent can send it again."))
    found, asked = lint(desk, one_certificate, sequence(lost, then=review(CLASH)), expect=1)
    assert [one["kind"] for one in found["findings"]] == ["contradiction"]
    assert len(asked) == 2
    assert "these words are not in the statement of point 2" in text_of(asked[1]["messages"][-1])


def test_a_provider_that_fails_leaves_the_case_unreviewed(desk: Desk, one_certificate: Path) -> None:
    found, _ = lint(desk, one_certificate, ServerError(500), expect=3)
    assert "the judge's model failed" in found["failed"][0]


@pytest.mark.parametrize("points", [POINTS, [point('assert "x" in rounds[0]["agent"]', "The agent says x.")]])
def test_a_model_that_cannot_be_used_at_all_is_a_usage_error(desk: Desk, one_certificate: Path, points: Any) -> None:
    done, _ = run(desk, one_certificate, Unauthorized(), Unauthorized(), expect=2, points=points)
    assert "OPENAI_API_KEY" in done.stderr
    assert done.stdout == ""


def test_neither_examiner_nor_judge_nor_reviewer_nor_agent_sees_a_solution(desk: Desk, one_certificate: Path) -> None:
    points = [
        point(None, "In round 1 the sum should be 55."),
        point('assert "55" in rounds[0]["agent"]', "The sum is 55."),
    ]
    case = desk.case(
        task_description="Ask the agent to add 55 to the sum.", scoring_points=points, solution="Sixpence 55."
    )
    methods = """
    def __init__(self, task_description, app_dir=None, config_var=None, workspace=None):
        Path("seen.txt").write_text(repr((task_description, app_dir, config_var, sorted(os.listdir(workspace)))))
    def get_reply_from_agent(self, message):
        return "It is 55." + message
    """
    with ModelServer({"m": by_role()}) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test-key-123456", "VIVA_MODEL_WAIT": "0.001"}
        words = ("--agent", desk.agent(methods), "--model", "openai:m")
        desk.run(case, *words, environment=environment | {"SSL_CERT_FILE": str(one_certificate)})
    asked = [text_of(message) for each in server.requests if each.body for message in each.body["messages"]]
    assert any("the sum should be 55" in text for text in asked)
    assert "Sixpence" not in "".join(asked) + (desk.folder / "seen.txt").read_text()


def test_the_prompt_says_how_to_read_a_case_and_what_is_no_flaw() -> None:
    prompt = render(SYSTEM_PROMPT)
    states(
        prompt,
        'The task is written for the examiner. Where it says "you", it means the examiner.',
        "Where there is a script, the examiner says its messages in this order, and nothing else.",
        "Where there is no script, the examiner speaks freely: it may say whatever is in the opening, in its facts, "
        "and in the task, unless the task forbids it.",
        "The contents of the files that the agent is given are not shown.",
        "Whether the check is correct is not your question",
        "which points it requires (if one of these is a miss, it is a miss), and on what a hit must rest.",
        "(asked) only if the agent asks for it, (step 2) with this step of the task, (never) not at all.",
        "A point may demand good conduct that nobody asks for",
        "A point that demands that the agent does not give in is sound.",
        "One such part of a statement is enough.",
        "Where two points contradict each other or are the same, name the flaw once, at the point with the higher "
        "number.",
    )


def test_the_form_of_the_prompt_has_the_fields_and_the_words_of_the_answer() -> None:
    form = form_in(render(SYSTEM_PROMPT))
    assert list(form) == list(CaseReviewAnswer.model_fields)
    (one,) = form["flaws"]
    assert list(one) == list(ReviewedFlaw.model_fields)
    assert choices(one["kind"]) == [kind.value for kind in CaseFlaw]
    assert choices(form["verdict"]) == ["sound", "flawed"]


def test_every_kind_of_flaw_is_explained_once() -> None:
    lines = render(SYSTEM_PROMPT).splitlines()
    for kind in CaseFlaw:
        assert sum(line.startswith(f"- {kind.value}: ") for line in lines) == 1


def paper_of(desk: Desk, **fields: Any) -> dict[str, str]:
    return dict(paper_parts(load_case(desk.folder / desk.case("paper", **fields))))


def test_the_paper_shows_what_a_point_requires_and_rests_on_and_when_something_is_said(desk: Desk) -> None:
    ready = {"id": "ready", "score_point": "It is ready.", "weight": 2, "points": [
        {"id": "sorts", "score_point": "It sorts.", "weight": 1}, {"score_point": "It has tests.", "weight": 1}
    ]}  # fmt: skip
    published = {"score_point": "It is published.", "weight": 1, "require": "ready", "shown": "step"}
    script = ["Write it.", {"say": "Publish it.", "if_agent_says": "done|ready"}]
    parts = paper_of(desk, scoring_points=[ready, published], script=script)
    assert parts["scoring point 1, weight 1, part of 'It is ready.'"] == "It sorts."
    name = "scoring point 3, weight 1, requires point 1, requires point 2, a hit must be shown by a step"
    assert parts[name] == "It is published."
    said = parts["the script: all that the examiner says"]
    assert said == "message 1: Write it.\nmessage 2 (if the agent says done|ready): Publish it."


@pytest.mark.parametrize(
    ("kind", "against"),
    [
        ("revealed", "The agent can send it again."),  # with a script, nobody says the task
        ("contradicts_point", "The agent can send it again."),
        ("same_as_point", "Where is it?"),
    ],
)
def test_words_that_clash_with_a_point_stand_where_the_kind_of_flaw_says(desk: Desk, kind: str, against: str) -> None:
    case = load_case(
        desk.folder / desk.case("parcel", task_description=TASK, scoring_points=POINTS, script=["Where is it?"])
    )
    answer = CaseReviewAnswer.model_validate_json(review(flaw(kind, 2, "refuses to send anything", against)))
    with pytest.raises(AskAgain, match="not where it should be"):
        with_found_quotes(answer, case)
