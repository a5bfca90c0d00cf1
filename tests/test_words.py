"""Messages, help, documents and reports use the terms of the field, and count in correct English."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from viva.cli.group import viva
from viva.records.text import counted, plural

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("adapters", "cases", "examiner", "judge", "sandbox", "viva")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEMPLATES = sorted((ROOT / "viva" / "reports" / "page" / "templates").iterdir())

TERMS_OF_CODE = {
    # One thing has one name.
    r"\bstands? ready\b": "ready process",
    r"\bsteps? of the environment\b": "environment step",
    r"\bconformance part\b|\bplays? the part\b": "supports the conformance commands",
    r"\bprograms? for people\b": "interactive program",
    r"\blog-in\b": "login",
    # A rate is written with `per`.
    r"\b(object|message|us|µs|ms|s) a (line|round|message)\b": "per line, per round",
    # An adverb is not a noun.
    r"\bof (before|then)\b(?! (the|a|an|this|that|it)\b)": "earlier",
    r"\b(calls|files|messages|replies|rounds) before(?=[,.:;]| and\b)": "earlier calls, previous rounds",
    # Programs, protocols and numbers do not tell.
    r"\btells? no (?!more)[a-z]+|\bdoes not tell\b(?! the fact)|\bwho saw\b": "does not report, recorded by",
    r"\b(path|text|it|value)s? leads? nowhere\b|\) leads nowhere\b": "matches nothing",
    r"\bby what means\b": "how",
    r"\band is none of\b": "and is not one of",
    r"\brounds? held again\b": "repeated, replayed",
    # The object of a sentence comes after its verb.
    r"\bWhat (is|was|are|they|it|Viva) [^.,:;|]{3,50}, (Viva|nobody|Claude Code) ": "subject, verb, object",
}
"""Words that docstrings must not use either."""

TERMS = {
    r"\bin no average\b": "excluded from all averages",
    r"\bmistakes? to mend\b|\bmend(ed|s|ing)?\b": "usage error, correct",
    r"\bby lot\b": "random",
    r"\bwalls\b": "isolation",
    r"\bdoors?\b": "connector",
    r"\bstands? (here|there) a second time\b": "duplicate key",
    r"\bthe most expensive\b.{0,20}\bup\b": "most expensive first",
    r"\bwhoever\b": "a noun",
    r"\b(looks?|looked) at\b(?! (the|how|what|whether|your))": "searched, inspected, polled",
    r"\bis no (?!longer|more|other|need|way|space|such|earlier|finished)(?<!here is no )[a-z]+": "is not a",
    r"\bare no (?!longer|more|other|such)(?<!here are no )[a-z]+": "are not",
    r"\b(strangers?)\b(?!\.md)": "untrusted",
    r"\bturned (better|worse)\b": "improved, got worse",
    r"\bset apart\b|\bare apart\b|\d apart\b": "excluded",
    r"\bneeds? tabulate\b": "requires",
    r"\bat once at most\b": "maximum number of concurrent",
    r"\b(a|per) run each\b|\b(cost|tokens|dollars|seconds|time) a run\b": "per run",
    r"\b(a|the) judge broke\b|\bevaluator \S+ broke\b": "failed",
    r"\bnot told\b": "unknown",
    r"\bstands? (only )?in (?!for\b)": "is in",
    r"\b(mistakes?|errors?) (is|are) told\b": "reported",
    **TERMS_OF_CODE,
}
"""Words that a technical writer would mark, and what to write instead."""

_NOUNS = "agent|call|case|conversation|error|file|image|line|node|point|querie|reason|retrie|round|run|step|token|trial"
LOOSE_PLURAL = re.compile(rf"\{{\}} (?:(?!of )[a-z]+ )?(?:{_NOUNS}|verdict|worker)s\b")
"""A number before a plural in an f-string: with 1 it would be wrong, unless `counted` writes both."""
ALWAYS_SEVERAL = (
    "all {} cases",  # one case has words of its own
    "## {} agents, ",
    "{} agents",
    "{} lines are",
    "{} runs in a row",
    "{} runs in its own process",  # an agent's name
    "{} holds runs of another case",  # a folder
    "the node {} sent files for",
    "{} calls the statement",  # what the judge says
    "{} counted runs, but {} has",
    "about {} open files",
    "fewer than {} changed cases",
    "{} tokens in {}",  # the number may be followed by `or more`
    "there are {} calls of",
    "of {} rounds are missing",
    "more than {} files",
)
"""Numbers that are never 1, and words that are not counted nouns."""


def _shown(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    # A constant of a module is not filled in, and none of these is 1.
    named = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
    return "N" if named.isupper() else "{}"


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Every text in a module that is not a docstring, with `{}` for what is filled in."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    plain: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            plain.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            plain.update(
                id(part) for part in ast.walk(node) if part is not node and not isinstance(part, ast.JoinedStr)
            )
            yield node.lineno, "".join(map(_shown, node.values))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in plain
            and " " in node.value
        ):
            yield node.lineno, node.value


@functools.cache
def docstrings() -> list[tuple[str, str]]:
    """Every docstring of every module, with single spaces, so that line breaks hide nothing."""
    return [
        (f"{file.relative_to(ROOT)}:{node.lineno}", " ".join(node.value.value.split()))
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


@functools.cache
def messages() -> list[tuple[str, str]]:
    """Every text of every module: read by the first test that wants them, not by each process that collects tests."""
    return [
        (f"{file.relative_to(ROOT)}:{line}", text)
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for line, text in texts(file)
    ]


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from commands(below, f"{name} {each}")


@functools.cache
def helps() -> list[tuple[str, str]]:
    """What each command says about itself."""
    return [
        (name, command.get_help(click.Context(command, info_name=name, terminal_width=1000)))
        for name, command in commands(viva, "viva")
    ]


def prose(page: Path) -> Iterator[tuple[str, str]]:
    """The lines of a page without code and output."""
    fenced = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= line.startswith("```")
        if not fenced:
            yield f"{page.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)


@functools.cache
def pages() -> list[tuple[str, str]]:
    """Return the lines of the pages, and the templates, with their places."""
    lines = [line for page in PAGES for line in prose(page)]
    return lines + [(file.name, file.read_text(encoding="utf-8")) for file in TEMPLATES]


@pytest.mark.parametrize("pattern", TERMS)
def test_no_message_help_or_page_uses_a_word_that_is_not_the_fields(pattern: str) -> None:
    found = [
        f"{where}: {match[0]!r}, write: {TERMS[pattern]}"
        for where, text in (*messages(), *helps(), *pages())
        if (match := re.search(pattern, text, re.IGNORECASE))
    ]
    assert found == []


@pytest.mark.parametrize("pattern", TERMS_OF_CODE)
def test_no_docstring_uses_a_word_that_is_not_the_fields(pattern: str) -> None:
    found = [
        f"{where}: {match[0]!r}, write: {TERMS_OF_CODE[pattern]}"
        for where, text in docstrings()
        if (match := re.search(pattern, text, re.IGNORECASE))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("a process that stands ready", 1),
        ("each call is a step of the environment", 1),
        ("one JSON object a line", 1),
        ("its files of before are not restored", 1),
        ("A2A tells no tokens", 1),
        ("What is denied, Viva neither offers nor serves", 1),
        ("A ready process forks for each run; Viva records environment steps, one per line.", 0),
        ("What is denied is not offered.", 0),
    ],
)
def test_the_patterns_find_the_faults_that_they_were_made_for(words: str, number: int) -> None:
    assert sum(bool(re.search(pattern, words, re.IGNORECASE)) for pattern in TERMS_OF_CODE) == number


def test_a_number_before_a_noun_is_written_by_the_one_function_that_knows_the_singular() -> None:
    found = [
        f"{where}: {text[:120]}"
        for where, text in messages()
        if LOOSE_PLURAL.search(text) and not any(words in text for words in ALWAYS_SEVERAL)
    ]
    assert found == []


def test_help_is_in_sentences() -> None:
    for name, command in commands(viva, "viva"):
        assert command.help is not None, name
        assert command.help.strip().endswith((".", ")", "]")), name
        for option in command.params:
            if isinstance(option, click.Option) and option.help:
                assert option.help[0].isupper() or option.help.startswith("["), (name, option.name)
                assert option.help.rstrip().endswith((".", "]")), (name, option.name)


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1200, "1,200 runs"), (-1, "-1 runs")]
)
def test_one_is_singular_and_every_other_number_is_plural(number: int, words: str) -> None:
    assert counted(number, "run") == words


def test_irregular_plurals_are_given() -> None:
    assert [counted(number, "query", "queries") for number in (1, 2)] == ["1 query", "2 queries"]
    assert [plural("point", number) for number in (1, 1.0, 0.5, 2)] == ["point", "point", "points", "points"]
