"""Journals made for the tests of reports: real files, written by the real writer, of runs that never took place."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

from viva.journal.kept_files import name_for, write_once
from viva.journal.writer import Journal, run_id
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Round, Step, StepKind, StopReason, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Label, Verdict

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></failure><failure>",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2",
    "@SUM(1+1)",
    "\t=1",
    "\r=1",
    ";=1+1",
    "\x1b[31mred\x1b[0m\x1b]8;;http://example.org\x07",
    "lone \ud800 surrogate \udfff",
    "no character \ufffe \uffff",
    "bidi \u202egnp.exe\u202c \u2066x\u2069",
    "null \x00 bell \x07 del \x7f next \x85",
    "| a | b |\n|---|---|\n# heading\n```\ncode\n```",
    "`code` *bold* _it_ [link](http://example.org) ![i](http://example.org/i.png) <b>b</b>",
    "@somebody #12 www.example.org http://example.org a@example.org",
    "{{ 7 * 7 }} {% raw %}",
    "line \u2028 separators \u2029 here",
    "javascript:alert(1)",
    "[bold red]rich[/bold red]",
    '" onmouseover="alert(1)',
)
"""What an agent might say."""

PLAIN = ("The mean of the column is 12.5.", "I have saved the file.", "Could you tell me which city you mean?")


def keep_image(folder: Path, content: bytes, ending: str = "png") -> str:
    """Keep a picture in a journal's folder, as Viva names it; gives its name there."""
    name = name_for("images", content, ending)
    write_once(folder, name, content)
    return name


def png() -> bytes:
    """A real image of 2 x 2 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00\x00\xff\x00" * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def write_run(
    journal: Journal,
    case: str = "a case",
    agent: str = "agents.py:One",
    trial: int = 1,
    *,
    said: Sequence[str] = PLAIN,
    outcome: Outcome = Outcome.SCORED,
    hits: Sequence[bool] = (True,),
    error: str | None = None,
    reason: str = "It is what the point asks for.",
    statement: str = "The agent answers rightly.",
    quote: str | None = None,
    evidence: Sequence[Evidence] | None = None,
    steps: Sequence[Step] = (),
    images: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
    seconds: float = 2.0,
    cost: float | None = 0.01,
    ended: bool = True,
    isolates: bool = True,
    further: Sequence[Insight] = (),
    usage: Usage | None = None,
    persona: str = "",
    strategy: str = "",
    requeued: tuple[str, ...] = (),
) -> str:
    """Write the events of one run as an exam writes them; gives its id."""
    run = run_id(case, agent, trial, persona, strategy)
    setting = Setting(
        viva="0.1.0",
        case=case,
        agent=agent,
        examiner="script",
        judge="code",
        sandbox="docker",
        sandbox_isolates=isolates,
        persona=persona,
        strategy=strategy,
        requeued=requeued,
    )
    journal.append("setting", run, 1, setting)
    for number, words in enumerate(said, 1):
        last = number == len(said)
        journal.append(
            "round",
            run,
            1,
            Round(
                number,
                f"Question {number}?",
                words,
                tuple(steps) if last else (),
                images=images if last else (),
                agent_seconds=0.4,
            ),
        )
    if not ended:
        return run
    stop = StopReason.TARGET_ERROR if outcome is Outcome.TARGET_ERROR else StopReason.FINISHED
    journal.append("transcript", run, 1, Transcript(stop=stop, stop_detail=error))
    if evidence is None:
        evidence = (Evidence(f"r{len(said)}", (quote or said[-1])[:2000]),) if said else ()
    verdicts = tuple(
        Verdict(
            run,
            f"p{number}",
            Label.HIT if hit else Label.MISS,
            float(hit),
            reason=reason,
            evidence=tuple(evidence),
            statement=statement,
        )
        for number, hit in enumerate(hits)
    )
    score = sum(hits) / len(hits)
    insight = Insight("scoring_points", run, "scored", score, low=score, high=score, verdicts=verdicts)
    insights = (insight, *further)
    for each in insights:
        journal.append("insight", run, 1, each)
    record = RunRecord(
        run,
        case,
        agent,
        outcome,
        score,
        low=score,
        high=score,
        points=float(sum(hits)),
        max_points=float(len(hits)),
        error=error,
        trial=trial,
        rounds=len(said),
        stop=stop,
        tags=tags,
        insights=insights,
        usage={"target": usage or Usage(800, 200, calls=len(said), cost=cost)},
        timing=Timing(1_760_000_000.0, seconds, 0.2, seconds - 0.5, 0.3),
        setting=setting,
    )
    journal.append("run", run, 1, record)
    return run


def write_suite(folder: Path, cases: int, agents: int = 1, trials: int = 1, rounds: int = 3, seed: int = 1) -> Path:
    """A suite whose agents differ; some runs fail, a few are excluded."""
    chance = random.Random(seed)
    with Journal(folder) as journal:
        for case in range(1, cases + 1):
            hard = chance.random()
            for agent in range(1, agents + 1):
                for trial in range(1, trials + 1):
                    hits = [chance.random() > hard * (0.4 + 0.25 * agent) for _ in range(4)]
                    outcome = Outcome.SCORED
                    if chance.random() < 0.02:
                        outcome = chance.choice([Outcome.JUDGE_ERROR, Outcome.INFRA_ERROR, Outcome.TARGET_ERROR])
                    write_run(
                        journal,
                        f"case {case}",
                        f"agents.py:Agent{agent}",
                        trial,
                        said=[chance.choice(PLAIN) for _ in range(rounds)],
                        outcome=outcome,
                        hits=hits,
                        error=None if outcome is Outcome.SCORED else "something broke",
                        tags=(f"tag {case % 3}",),
                        seconds=1.0 + 4 * chance.random(),
                        cost=0.002 * agent * (0.5 + chance.random()),
                    )
    return folder


def write_hostile(folder: Path) -> Path:
    """One run for each hostile text, everywhere an agent, a case or a model can put it; and a huge line."""
    with Journal(folder) as journal:
        real = keep_image(folder, png())
        for number, text in enumerate(HOSTILE):
            step = Step(
                f"step {text}", StepKind.TOOL, agent=text, thought=text, tool=text, tool_input={text: [text]},
                result=text, error=text, model=text, attributes={"x": text}, images=(text, real),
            )  # fmt: skip
            write_run(
                journal, f"{text} {number}", f"agents.py:{text}", said=(text, f"before {text} after"),
                outcome=list(Outcome)[number % 5], hits=(False,), error=text, reason=text, statement=text, quote=text,
                steps=(step,), images=(real, "../../secret.png", "http://example.org/i.png", text),
                tags=(text,),
            )  # fmt: skip
        write_run(journal, "long line", said=("x" * 5_000_000,), hits=(False,), error="y" * 5_000_000)
        write_run(journal, "never ended", said=HOSTILE[:1], ended=False)
    return folder
