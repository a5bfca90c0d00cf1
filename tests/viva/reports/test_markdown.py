"""Markdown: readable in a job's summary, within its size, and nothing but text where an agent spoke."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.viva.reports.conftest import report
from tests.viva.reports.made import HOSTILE, write_run, write_suite
from viva.journal.writer import Journal
from viva.records.run_record import Outcome
from viva.reports.markdown.text import inert

SIZE_LIMIT = 60_000
"""Maximum size in bytes, below the 65,536 characters of a comment on GitHub."""
OWN_HTML = {"<code>", "</code>", "<q>", "</q>"}
PARSER = MarkdownIt("gfm-like", {"html": True, "linkify": False})


def tokens(text: str) -> list[Token]:
    parsed = PARSER.parse(text)
    return parsed + [child for token in parsed for child in token.children or []]


def check_harmless(text: str) -> None:
    found = tokens(text)
    html = {token.content for token in found if token.type in ("html_inline", "html_block")}
    assert html <= OWN_HTML
    assert not {"link_open", "image", "code_inline", "fence", "code_block", "hr"} & {token.type for token in found}
    # GitHub looks for mentions and references in the rendered text, so it must not hold any.
    rendered = " ".join(token.content for token in found if token.type == "text" or token.type == "text_special")
    assert not re.search(r"[@#]\w", rendered)


def test_hostile_text_stays_text(hostile: Path) -> None:
    text = report("markdown", hostile)
    check_harmless(text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert len(text.encode()) <= SIZE_LIMIT


def test_a_row_of_the_table_stays_one_row_whatever_the_cases_are_called(hostile: Path) -> None:
    found = tokens(report("markdown", hostile))
    heads = [token for token in found if token.type == "thead_open"]
    assert len(heads) == 3
    # Three heads, and a row for each agent, each case that ended, and each tag.
    tags = sum(token.type == "tr_open" for token in found) - (3 + (len(HOSTILE) + 1) + (len(HOSTILE) + 1))
    assert tags == len(HOSTILE), tags


@given(st.text())
@example("www.example.org")
@example("a|b\n\n# c")
@example("__init__")
@example("<!-- x")
@example("&lt;b&gt;")
def test_no_text_becomes_markup(text: str) -> None:
    check_harmless(f"before {inert(text)} after")
    check_harmless(f"| <code>{inert(text)}</code> |\n|--|\n| {inert(text)} |\n")


def test_common_names_stay_readable_in_the_source() -> None:
    assert inert("sum_1_to_50 - a (case)") == "sum_1_to_50 - a &#40;case&#41;"


def test_a_large_suite_is_cut_to_the_limit_and_says_what_it_left_out(tmp_path: Path) -> None:
    write_suite(tmp_path, 1000)
    text = report("markdown", tmp_path)
    assert len(text.encode()) <= SIZE_LIMIT
    assert re.search(r"\d+ more cases are left out here", text)
    with Journal(tmp_path) as journal:
        for number in range(60):
            word = f"zq{number:07b}o ".translate(str.maketrans("01", "kv"))
            write_run(journal, f"another {number}", hits=(False,), statement=word * 15)
    assert re.search(r"Left out here: \d+ more kinds of errors and misses", report("markdown", tmp_path))


def test_it_opens_with_the_score_and_names_what_is_excluded(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "x", hits=(True, False), statement="It asks back.", quote="which city you mean")
        write_run(journal, "y")
        write_run(journal, "z", outcome=Outcome.JUDGE_ERROR, error="the judge broke")
        write_run(journal, "w", ended=False)
    text = report("markdown", tmp_path)
    assert text.startswith("## Score 0.75")
    assert "**1 of 2 runs passed**" in text
    assert "Excluded from all averages: 1 judge_error, 1 unfinished." in text
    assert "**It asks back.**" in text
    assert "<q>which city you mean</q>" in text


def test_several_agents_have_no_score_together_and_few_cases_no_interval(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for agent in ("x:Good", "x:Bad"):
            write_run(journal, "case", agent=agent, hits=(agent == "x:Good",))
    text = report("markdown", tmp_path)
    assert text.startswith("## 2 agents, 1 case\n")
    assert "**1 of 2 runs passed** at a threshold of 1." in text
    assert "Intervals need at least 5 cases." in text
    assert "| <code>Good</code> | 1 | 1.00 | too few | 100% | too few |" in text
    assert "0.50" not in text, "a mean over agents"
