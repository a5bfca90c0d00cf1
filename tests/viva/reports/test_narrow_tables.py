"""On 80 columns, which is also what a pipe has, tables fold their names and lose no figure."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.verdict import Insight
from viva.reports.console.comparison import comparison_report
from viva.reports.console.suite import suite_report
from viva.reports.console.trends import trends_report
from viva.reports.console.whys import print_whole
from viva.statistics.comparison import compare
from viva.statistics.comparison_inputs import Runs
from viva.statistics.over_time.trends import find_trends
from viva.statistics.summary import summarize

LONG = "an-agent-with-a-long-name"


def run(case: str, agent: str, trial: int, score: float, version: str | None = None) -> RunRecord:
    name = f"{case}/{agent}/{version}/{trial}"
    insight = Insight("scoring_points", name, "scored", score, low=score, high=score)
    return RunRecord(
        name,
        case,
        agent,
        Outcome.SCORED,
        score,
        low=score,
        high=score,
        trial=trial,
        agent_version=version,
        insights=(insight,),
        timing=Timing(1_700_000_000.0 + 100_000 * float((version or "0").split(".")[-1]) + trial, 1.0),
        setting=Setting(case=case, agent=agent, examiner="script", judge="code"),
    )


def shown(report: RenderableType, width: int = 80) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(report)
    return out.getvalue().splitlines()


def columns(lines: list[str], head: str) -> list[str]:
    """Put the folded lines of each cell of a table together again; give the text of each column."""
    first = next(number for number, line in enumerate(lines) if "┃" in line and head in line)
    edges = [-1, *(at for at, mark in enumerate(lines[first]) if mark == "┃")]
    rows = [line for line in lines[first:] if len(line) > edges[-1] and line[edges[-1]] in "│┃"]
    spans = zip(edges, [*edges[1:], None], strict=True)
    return ["".join(row[start + 1 : end].strip() for row in rows) for start, end in spans]


@pytest.mark.parametrize("agents", [2, 4, 6])
@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_matrix_of_agents_shows_each_case_and_each_figure(agents: int, width: int) -> None:
    records = [
        run(f"a case with a rather long name {case}", f"x:{LONG[:20]}{agent}", trial, float((case + trial + agent) % 2))
        for case in range(3)
        for trial in (1, 2, 3)
        for agent in range(agents)
    ]
    lines = shown(suite_report(summarize(records), Path("j")), width)
    matrix = lines[next(i for i, line in enumerate(lines) if line.startswith("case") or "case  " in line) :]
    text = "".join(matrix).replace(" ", "")
    assert not re.search("…", text)
    for figures in ("0.672/3flaky", "0.331/3flaky"):
        assert sum(column.replace(" ", "").count(figures) for column in columns(lines, "case")) == 3 * agents / 2
    assert "acasewitharatherlongname2" in columns(lines, "case")[0].replace(" ", "")


@pytest.mark.parametrize("width", [20, 30, 40, 60])
@pytest.mark.parametrize("agents", [1, 2, 3])
def test_a_narrow_terminal_shows_every_agent_with_every_figure(agents: int, width: int) -> None:
    records = [
        run(f"c{case}", f"x:Agent{agent}", trial, float((case + trial + agent) % 2))
        for case in range(6)
        for trial in (1, 2)
        for agent in range(agents)
    ]
    lines = shown(suite_report(summarize(records), Path("j")), width)
    text = " ".join(" ".join(lines).split())
    assert "…" not in text
    for name in [f"Agent{agent}" for agent in range(agents)] if agents > 1 else ["c0", "all"]:
        assert f"{name} runs {12 if name != 'c0' else 2}, mean (95 %) 0.50" in text
    assert text.count("pass^2 0.00") == (7 if agents == 1 else agents)


@pytest.mark.parametrize("width", [20, 40])
def test_a_comparison_on_a_narrow_terminal_shows_both_sides_and_the_interval(width: int) -> None:
    def side(folder: str, score: float) -> Runs:
        return Runs(
            Path(folder), [run(f"case {number}", "x:A", trial, score) for number in range(6) for trial in (1, 2)]
        )

    found = compare(side("one", 1.0), side("two", 0.0), ("x:A", "x:A"), 1.0)
    assert found is not None
    text = " ".join(" ".join(shown(comparison_report(found), width)).split())
    assert re.search(r"mean score A 1\.000, B 0\.000, B - A \(95 %\) -1\.000 \(-1\.000 to [-+]\d\.\d{3}\)", text)
    assert "case 5 A score, passes 1.000 2/2, B score, passes 0.000 0/2, change -1.000, result worse" in text


@pytest.mark.parametrize("versions", [2, 30])
@pytest.mark.parametrize("agents", [1, 2])
def test_the_table_of_trends_shows_every_figure_and_version(versions: int, agents: int) -> None:
    records = [
        run(
            "a task with a long name",
            f"x:{LONG}{agent}",
            trial,
            1.0 if version < versions - 1 else 0.2,
            f"1.0.{version}",
        )
        for agent in range(agents)
        for version in range(versions)
        for trial in range(6)
    ]
    lines = shown(trends_report(find_trends(records)))
    found = columns(lines, "score")
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert found[-1].count(f"1.0.{versions - 2}→1.0.{versions - 1}") == agents
    assert found[-2].count("-0.80") == found[-3].count("1.00→0.20") == agents
    assert found[-4].count("▂") >= agents, "the newest bars are there"
    assert "scoring_points" in found[-5]


def test_a_comparison_names_the_command_that_shows_why_cases_turned_worse() -> None:
    def side(folder: str, score: float) -> Runs:
        cases = [run(f"case {number}", "x:A", trial, score) for number in range(6) for trial in (1, 2)]
        return Runs(Path(folder), cases)

    good, bad = side("runs/before the change", 1.0), side("runs/after the change", 0.0)
    found, other = compare(good, bad, ("x:A", "x:A"), 1.0), compare(bad, good, ("x:A", "x:A"), 1.0)
    assert found is not None
    assert other is not None
    out = io.StringIO()
    print_whole(Console(file=out, width=60), comparison_report(found))
    assert "see why cases got worse: viva report 'runs/after the change' --format html\n" in out.getvalue()
    assert not any("viva report" in line for line in shown(comparison_report(other)))
