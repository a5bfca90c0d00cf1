"""Writes a large journal for the benchmark of reports: suites of several agents with misses, errors and broken runs."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from viva.journal.kept_files import name_for
from viva.journal.writer import Journal, run_id
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import NO_USAGE, Round, Step, StopReason, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Label, Verdict

AGENTS = ("example:careful", "openai:gpt-4o-mini", "agents/planner.py:Planner", "http://127.0.0.1:8000/v1#local")
CASES = 250
POINTS = (
    "The agent's last reply is the sum of the numbers and nothing else.",
    "The agent asks which file is meant before it opens one.",
    "The report names the three largest customers.",
)
TEXT = "Please read the table in the working folder, and tell me which of the customers ordered most in the last year. "


def write_journal(folder: Path, runs: int, *, seed: int = 1) -> None:
    """Write a journal with that many runs. Most passed; the others missed points, failed, broke off or were resumed."""
    chance = random.Random(seed)
    with Journal(folder) as journal:
        for number in range(runs):
            place = number // len(AGENTS)
            trial, case = divmod(place, CASES)
            _write_run(journal, chance, AGENTS[number % len(AGENTS)], f"case_{case}", trial + 1, number)
        journal.sync()


def write_rounds(folder: Path, runs: int, rounds: int, *, seed: int = 1) -> None:
    """Write a journal of long conversations."""
    chance = random.Random(seed)
    with Journal(folder) as journal:
        for number in range(runs):
            place, agent = divmod(number, len(AGENTS))
            setting = _setting(AGENTS[agent], f"case_{place}", 1)
            run = run_id(setting.case, setting.agent, 1)
            journal.append("setting", run, 1, setting)
            for round_ in range(1, rounds + 1):
                reply = f"The largest one is customer {chance.randrange(1000)}. {TEXT}"
                journal.append("round", run, 1, Round(round_, TEXT, reply, started=1.7e9, agent_seconds=0.8))
            journal.append("transcript", run, 1, Transcript(stop=StopReason.FINISHED, round_count=rounds))
            verdicts = tuple(_verdict(chance, run, point, text, setting.agent) for point, text in enumerate(POINTS))
            _append(journal, _record(setting, run, 1, number, verdicts, Outcome.SCORED, None))
        journal.sync()


def write_pictures(folder: Path, number: int, *, kinds: int = 12) -> None:
    """Write a journal of one session with screenshots of 1920 x 1080 pixels, of that many different contents."""
    import io

    from PIL import Image

    with Journal(folder) as journal:
        setting = _setting(AGENTS[0], "session", 1)
        run = run_id(setting.case, setting.agent, 1)
        journal.append("setting", run, 1, setting)
        steps = []
        for place in range(number):
            noise = Image.frombytes("L", (480, 270), random.Random(place % kinds).randbytes(480 * 270))
            screen = noise.resize((1920, 1080), Image.Resampling.BICUBIC).convert("RGB")
            screen.putpixel((place % 1920, place // 1920), (255, 0, 0))  # so that no two are the same file
            out = io.BytesIO()
            screen.save(out, "PNG", compress_level=1)
            name = name_for("images", out.getvalue(), "png")
            journal.keep(name, out.getvalue())
            steps.append(Step(f"s{place}", tool="click", images=(name,)))
        journal.append("round", run, 1, Round(1, TEXT, TEXT, steps=tuple(steps)))
        journal.append("transcript", run, 1, Transcript(stop=StopReason.FINISHED, round_count=1))
        _append(journal, _record(setting, run, 1, 0, (), Outcome.SCORED, None))
        journal.sync()


def _write_run(journal: Journal, chance: random.Random, agent: str, case: str, trial: int, number: int) -> None:
    setting = _setting(agent, case, trial)
    run, drawn = run_id(case, agent, trial), chance.random()
    attempts = 2 if drawn > 0.99 else 1
    for attempt in range(1, attempts + 1):
        journal.append("setting", run, attempt, setting)
        for round_ in (1, 2):
            reply = f"The largest one is customer {chance.randrange(1000)}. {TEXT}"
            journal.append("round", run, attempt, Round(round_, TEXT, reply, started=1.7e9 + number, agent_seconds=0.8))
        if drawn < 0.002:
            return
        journal.append("transcript", run, attempt, Transcript(stop=StopReason.FINISHED, round_count=2))
        if attempt < attempts:
            _append(journal, _record(setting, run, attempt, number, (), Outcome.INFRA_ERROR, "the sandbox died"))
            continue
        verdicts = tuple(_verdict(chance, run, point, text, agent) for point, text in enumerate(POINTS))
        failed = "no reply within 300 s" if drawn < 0.01 else None
        _append(
            journal,
            _record(
                setting, run, attempt, number, verdicts, Outcome.TARGET_ERROR if failed else Outcome.SCORED, failed
            ),
        )


def _append(journal: Journal, record: RunRecord) -> None:
    for insight in record.insights:
        journal.append("insight", record.id, record.attempt, insight)
    journal.append("run", record.id, record.attempt, record)


def _setting(agent: str, case: str, trial: int) -> Setting:
    return Setting(
        viva="0.1.0",
        case=case,
        case_file=f"/home/somebody/suites/customers/{case}/case.yaml",
        case_hash=f"{sum(case.encode()):064x}",
        agent=agent,
        examiner="script",
        judge="code",
        sandbox="docker",
        sandbox_isolates=True,
        max_rounds=15,
        reply_seconds=300.0,
        versions={"python": "3.11.7", "autogen-agentchat": "0.7.5", "openai": "3.52.0", "docker": "7.2.0"},
        evaluators=("scoring_points", "polite"),
        trial=trial,
    )


def _verdict(chance: random.Random, run: str, point: int, text: str, agent: str) -> Verdict:
    hit = chance.random() > 0.02 * (1 + AGENTS.index(agent))
    reason = "the check passed" if hit else f"AssertionError: assert {chance.randrange(1000)} == 1275"
    label, evidence = Label.HIT if hit else Label.MISS, (Evidence("r2", "The largest one is customer"),)
    return Verdict(
        run, f"p-{point:08x}", label, float(hit), reason=reason, evidence=evidence, statement=text, seconds=0.002
    )


def _record(
    setting: Setting,
    run: str,
    attempt: int,
    number: int,
    verdicts: tuple[Verdict, ...],
    outcome: Outcome,
    error: str | None,
) -> RunRecord:
    score = sum(verdict.score or 0.0 for verdict in verdicts) / len(verdicts) if verdicts else None
    low = 0.0 if outcome is Outcome.TARGET_ERROR else score
    insights: tuple[Insight, ...] = ()
    if score is not None:
        points = sum(verdict.score or 0.0 for verdict in verdicts)
        label, summary = Label.HIT if score == 1 else Label.MISS, f"{points:g} of {len(verdicts)} points"
        insights = (
            Insight(
                "scoring_points",
                run,
                label,
                score,
                low=score,
                high=score,
                summary=summary,
                verdicts=verdicts,
                seconds=0.01,
            ),
            Insight("polite", run, "polite", 0.9, scores={"tone": 0.9, "brevity": 0.8}, summary="no rude word"),
        )
    return RunRecord(
        id=run,
        subject=setting.case,
        agent=setting.agent,
        outcome=outcome,
        score=score,
        low=low,
        high=score,
        points=None if score is None else score * len(verdicts),
        max_points=float(len(verdicts)) or None,
        error=error,
        trial=setting.trial or 1,
        attempt=attempt,
        rounds=2,
        stop=StopReason.TIMEOUT if error else StopReason.FINISHED,
        tags=("customers", "smoke"),
        insights=insights,
        usage={"target": Usage(1200, 300, calls=2, cost=0.0021), "examiner": NO_USAGE, "judge": NO_USAGE},
        timing=Timing(1.7e9 + number, 1.9, 0.01, 1.7, 0.2),
        setting=setting,
    )


if __name__ == "__main__":
    write_journal(Path(sys.argv[1]), int(sys.argv[2]))
