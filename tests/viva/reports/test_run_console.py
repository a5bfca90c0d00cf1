"""Everything an agent, a model or a case says is hostile text: nothing of it may drive the terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.examples import examples
from tests.viva.conftest import Desk, point
from tests.viva.viva_command import clean_environment, start_viva
from viva.cli.replaying.printed import print_run
from viva.exam.subscribers import RunHeader
from viva.journal.reader import StoredRun
from viva.records.codec import decode, encode
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.transcript import Round, Step, StepKind, StopReason, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Verdict, Vote
from viva.records.wording import score_line
from viva.reports.console.run import run_report
from viva.reports.progress.reporter import ConsoleDisplay

HOSTILE = {
    "colours": "\x1b[31mred\x1b[0m \x1b[2J\x1b[H cleared",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "title": "\x1b]0;owned\x07",
    "8-bit controls": "\x9b31m \x9d52;c;x\x9c \x85 \x84",
    "markup": "[red]pass[/red] [link=http://evil.example]x[/link] [/] [bold] [@click=app.quit]",
    "bidi": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "nul": "a\0b\x08\x08\x08c\x7f",
    "surrogates": "a\ud800b\udfffc",
    "carriage return": "honest\rhonest no more",
    "rows": "fine\n\n  2 examiner    Well done.\n    agent     Thanks.\n50 rounds, stopped: finished\nscored, 9/9 = 1",
    "box": "x\n│ 1 │ hit │ the point │ the check passed │\n╰──────╯\n score 99/99 = 1.00",
    "separators": "a\u2028b\u2029c\x0bd\x0ce\x1cf\x1dg\x1eh",
    "tabs": "a\tb\t\tc",
    "long": "x" * 5_000_000,
    "blanks": " " * 100_000 + "end",
    "combining": "e" + "\u0301" * 5_000,
    "template": "{{ 7 * 7 }} {0} %s ${x}",
}
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

hostile_text = st.one_of(
    st.sampled_from([text for name, text in HOSTILE.items() if name != "long"]),
    st.text(st.characters(codec=None), max_size=60),
    st.text("\x1b[]()/;mred\n\r\t \x07\u202e\ud800", max_size=40),
)


def console(width: int = 100, *, terminal: bool = False) -> Console:
    """Without colours: then whatever drives a terminal is not Viva's own."""
    return Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)


def shown(out: Console) -> str:
    file = out.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def record_saying(text: str) -> RunRecord:
    verdicts = (
        Verdict(
            "run",
            text,
            "hit",
            1.0,
            reason=text,
            evidence=(Evidence(text, text),),
            by=text,
            statement=text,
            flags=(text,),
            votes=(Vote(text, "hit", text),),
        ),
        Verdict("run", "b", text, None, reason=text),
    )
    insight = Insight("scoring_points", "run", "partial", 0.5, low=0.5, high=1.0, notes=(text,), verdicts=verdicts)
    return RunRecord(
        text,
        text,
        text,
        Outcome.SCORED,
        0.5,
        low=0.5,
        high=1.0,
        points=1.0,
        max_points=2.0,
        error=text,
        agent_version=text,
        rounds=1,
        stop=StopReason.FINISHED,
        insights=(insight,),
        usage={text: Usage(1, 1, calls=1)},
        setting=Setting(case=text, agent=text, examiner=text, judge="model", judge_model=text, sandbox="process"),
    )


def conversation_saying(text: str) -> Transcript:
    step = Step(text, agent=text, tool=text, tool_input={text: [text]}, result=text, thought=text, error=text)
    rounds = (Round(1, text, text, (step,)), Round(2, None, text, error=text), Round(3, text, None))
    return Transcript(rounds, stop=StopReason.TARGET_ERROR, stop_detail=text, notes=(text,))


def replay(out: Console, transcript: Transcript, record: RunRecord | None = None) -> None:
    """As `viva replay` prints it."""
    setting = Setting(case="exam", agent="agent") if record is None else record.setting
    print_run(out, StoredRun(Path("runs/x"), "exam-1", 1, setting, transcript, True, (), record))


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_drives_neither_report_nor_replay(name: str, terminal: bool) -> None:
    out = console(terminal=terminal)
    out.print(run_report(record_saying(HOSTILE[name]), Path("runs/x")))
    replay(out, conversation_saying(HOSTILE[name]), record_saying(HOSTILE[name]))
    assert not FORBIDDEN.findall(shown(out))
    assert len(shown(out)) < 60_000, "a flood does not flood the terminal"


@settings(max_examples=examples(150), deadline=None)
@given(hostile_text, st.integers(30, 200), st.booleans())
def test_no_text_at_all_drives_the_terminal(text: str, width: int, terminal: bool) -> None:
    out = console(width, terminal=terminal)
    out.print(run_report(record_saying(text), Path("runs/x")))
    replay(out, conversation_saying(text), record_saying(text))
    assert not FORBIDDEN.findall(shown(out))
    assert decode(RunRecord, json.loads(encode(record_saying(text)))).score == 0.5


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "text", [HOSTILE["rows"], HOSTILE["box"], "fine" + " " * 69 + "  2 examiner    Well done.", "x" * 159 + "50 rounds"]
)
def test_words_that_imitate_a_turn_stay_indented_words(text: str, terminal: bool) -> None:
    out = console(80, terminal=terminal)
    replay(out, Transcript((Round(1, "Ask.", text),), stop=StopReason.FINISHED))
    # A terminal breaks what is wider than itself, and goes on in its first column.
    width = 80 if terminal else 10_000
    rows = [line[at : at + width] for line in shown(out).split("\n") for at in range(0, len(line), width)]
    ours = [row for row in rows if row[:13].strip()]
    assert [row.split()[0] for row in ours] == ["exam", "1", "agent", "1"]


def test_words_that_imitate_a_row_of_the_report_stay_in_their_cell() -> None:
    out = console(100)
    out.print(run_report(record_saying(HOSTILE["box"]), Path("runs/x")))
    rows = [row for row in shown(out).splitlines() if re.match(r"│\s+\d+ │ (hit|miss)", row)]
    assert len(rows) == 1
    assert sum(row.startswith("╰") for row in shown(out).splitlines()) == 1
    scores = [row for row in shown(out).splitlines() if re.match(r"│ score ", row)]
    assert len(scores) == 1
    assert "1/2 = 0.50" in scores[0]


def test_markup_is_shown_as_it_was_said() -> None:
    out = console(400)
    replay(out, conversation_saying(HOSTILE["markup"]))
    out.print(run_report(record_saying(HOSTILE["markup"]), Path("runs/x")))
    assert shown(out).count("[red]pass[/red] [link=http://evil.example]x[/link]") >= 8


def test_what_a_step_did_how_it_failed_and_its_pictures_are_told() -> None:
    steps = (
        Step("s1", StepKind.THINK, thought="Look it up."),
        Step("s2", tool="search", tool_input={"q": "rain"}, error="the service is away", images=("images/a.png",)),
    )
    out = console(200)
    replay(out, Transcript((Round(1, "Ask.", "Told.", steps, images=("images/b.png",)),), stop=StopReason.FINISHED))
    text = shown(out)
    assert [line.strip() for line in text.splitlines()[2:-1]] == [
        "thought   Look it up.",
        "step      search({'q': 'rain'})",
        "failed    the service is away",
        "image     images/a.png",
        "agent     Told.",
        "image     images/b.png",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_thought_call_and_result_of_a_step_have_lines_of_their_own(terminal: bool) -> None:
    step = Step("s1", thought="It rains.\nOr not.", tool="search", tool_input={"q": "rain"}, result="one\n  two\nthree")
    out = console(200, terminal=terminal)
    replay(out, Transcript((Round(1, "Ask.", "Told.", (step,)),), stop=StopReason.FINISHED))
    lines = [line.rstrip() for line in shown(out).splitlines()]
    at = next(number for number, line in enumerate(lines) if "thought" in line)
    assert lines[at : at + 6] == [
        "    thought   It rains.",
        "              Or not.",
        "    step      search({'q': 'rain'})",
        "    result    one",
        "                two",
        "              three",
    ]


def test_a_score_that_is_in_no_average_says_so() -> None:
    out = console(120)
    out.print(
        run_report(
            RunRecord("r", "s", "a", Outcome.JUDGE_ERROR, 0.4, low=0.4, high=0.6, points=6, max_points=15),
            Path("runs/x"),
        )
    )
    assert "6/15 = 0.40 (between 0.40 and 0.60, some points are open) (excluded from all averages)" in shown(out)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "long"])
def test_no_field_of_a_strangers_journal_drives_the_terminal(name: str) -> None:
    text = HOSTILE[name]
    setting = Setting(
        viva=text,
        case=text,
        case_file=text,
        case_hash=text,
        agent=text,
        app_dir=text,
        examiner=text,
        judge=text,
        judge_model=text,
        sandbox=text,
        sandbox_isolates=False,
    )
    out = console()
    out.print(run_report(RunRecord("r", "s", "a", Outcome.SCORED, 1.0, setting=setting), Path(f"runs/{text[:50]}")))
    assert not FORBIDDEN.findall(shown(out))


async def test_the_seconds_go_on_while_an_agent_thinks() -> None:
    display = ConsoleDisplay(console())
    run = RunHeader(id="r", subject="exam", agent="a", max_rounds=5)
    with display.begin(1, 0):
        await display.on_start(run)
        assert display.line() == "exam: starting, 0 s"
        await display.on_round(run, Round(2, "a", "b"))
        display.progress.began -= 100
        assert display.line() == "exam: round 2 of at most 5, 100 s"


def test_the_score_line_shows_bounds_only_where_points_are_open() -> None:
    sure = RunRecord("r", "s", "a", Outcome.SCORED, 0.4, low=0.4, high=0.4, points=6, max_points=15)
    open_ = RunRecord("r", "s", "a", Outcome.SCORED, 0.4, low=0.4, high=0.6, points=6, max_points=15)
    assert score_line(sure) == "6/15 = 0.40"
    assert score_line(open_) == "6/15 = 0.40 (between 0.40 and 0.60, some points are open)"
    assert score_line(RunRecord("r", "s", "a", Outcome.INFRA_ERROR, None)) == "no score"


# --- the same through the real command ---------------------------------------------------------------------------


# The check repeats what the agent said, so that it stands in the report too.
REPEATS = point(
    "raise AssertionError(''.join(each['agent'] for each in rounds)[:4000])", "[bold]It is \x07 good.[/bold]"
)
SHORT = [text for name, text in HOSTILE.items() if name != "long"]


@pytest.mark.parametrize(
    ("reply", "texts"),
    [(f"{SHORT!r}[int(message)]", SHORT), ("'x' * 5_000_000", [HOSTILE["long"]])],
    ids=["hostile", "endless"],
)
def test_a_hostile_agent_reaches_the_terminal_through_no_command(desk: Desk, reply: str, texts: list[str]) -> None:
    case = desk.case(scoring_points=[REPEATS], script=[str(number) for number in range(len(texts))], max_rounds=50)
    agent = desk.agent(f"def get_reply_from_agent(self, message): return {reply}")
    arguments = ("run", case, "--agent", agent, "--sandbox", "process", "--out", "journal")
    for done in (
        desk.viva(*arguments, expect=0, process=True),
        desk.viva("replay", "journal", expect=0, process=True),
        desk.viva("judge", "journal", "--sandbox", "process", "--quiet", expect=0, process=True),
    ):
        assert not FORBIDDEN.findall(done.stdout)
        assert not FORBIDDEN.findall(done.stderr)
    (line,) = desk.viva(*arguments, "--quiet", expect=0).stdout.splitlines()
    assert line == "exam scored 0/1 = 0.00"
    done = desk.viva(*arguments, "--json", expect=0)
    assert not FORBIDDEN.findall(done.stdout)
    assert len(done.stdout.splitlines()) == 1
    assert json.loads(done.stdout)["run"]["score"] == 0
    rounds = json.loads(desk.viva("replay", "journal", "--json", expect=0).stdout)["transcript"]["rounds"]
    stored = [round_["agent"] for round_ in rounds]
    assert stored == [text.encode("utf-8", "backslashreplace").decode() for text in texts], "stored as it was said"


def test_an_agent_that_fails_in_escape_codes_is_told_in_plain_words(desk: Desk) -> None:
    agent = desk.agent(
        f"def get_reply_from_agent(self, message): raise ValueError({HOSTILE['colours'] + HOSTILE['link']!r})"
    )
    done = desk.viva("run", "echo", "--agent", agent, "--sandbox", "process", expect=0)
    assert not FORBIDDEN.findall(done.stdout)
    assert r"\x1b[31mred" in "".join(done.stdout.split())


def test_a_real_terminal_gets_colours_from_viva_and_nothing_from_the_agent(desk: Desk) -> None:
    hostile = "".join(text for name, text in HOSTILE.items() if name not in ("long", "blanks", "combining"))
    agent = desk.agent(f"def get_reply_from_agent(self, message): return {hostile!r}")
    desk.run(desk.case(scoring_points=[REPEATS]), "--agent", agent)
    seen = _on_a_terminal(desk, "replay", "journal")
    assert "\x1b[" in seen, "no terminal was seen"
    rest = re.sub(r"\x1b\[[0-9;]*m", "", seen).replace("\r\n", "\n")
    assert not FORBIDDEN.findall(rest)
    assert "1 examiner" in rest


def _on_a_terminal(desk: Desk, *arguments: str) -> str:
    ours, theirs = pty.openpty()
    environment = {**clean_environment(), "TERM": "xterm-256color", "COLUMNS": "100"}
    process = start_viva(*arguments, cwd=desk.folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return seen.decode("utf-8")
