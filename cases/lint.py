"""Finds what loads, and is probably not what the author meant: in checks, script, person and MCP servers.

A case with such findings can be used: a name in braces may be part of the message, and a name may be defined in a way
that cannot be seen. `viva cases check` therefore reports them, and no other command refuses the case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from viva.cases.case import Case
from viva.cases.check_code.findings import check_findings
from viva.cases.load import source_of
from viva.cases.person_lint import person_findings
from viva.cases.points.places import Place, leaf_places
from viva.cases.yaml.lines import LineNumbers

_PLACEHOLDER = re.compile(r"(?<!\{)\{([^\W\d]\w{0,60})\}(?!\})")


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something in a case that is probably not what its author meant."""

    message: str
    line: int | None = None
    """The line of the case file, counted from 1."""
    certain: bool = True
    """False for what may be meant as it is written; it is then reported as a warning."""


def lint_case(case: Case) -> list[LintFinding]:
    """Return the findings of a case that loads, in the order of their lines.

    Raises:
        CaseError: the file has become unreadable since it was loaded.
    """
    source = source_of(case)
    points, lines = source.data["scoring_points"], source.lines
    # A row of a family may provide them all.
    places = list(leaf_places(points, ("scoring_points",))) if isinstance(points, list) else []
    found = [*_script(case, lines), *_checks(case, lines, places), *_person(case, lines), *_servers(case, lines)]
    return sorted(found, key=lambda finding: finding.line or 0)


def _script(case: Case, lines: LineNumbers) -> Iterator[LintFinding]:
    counters = {line.counter for line in case.script if line.first is not None}
    for index, line in enumerate(case.script):
        names = dict.fromkeys(_PLACEHOLDER.findall(line.say))
        loops = line.first is not None
        for name in names:
            if loops and name == line.counter:
                continue
            where = lines.of("script", index, "say")
            if loops and line.counter not in names:
                words = f"{{{name}}} is not replaced: 'for' counts {line.counter!r}; write {{{line.counter}}}"
                yield LintFinding(words, where)
            elif loops:
                words = f"{{{name}}} is not replaced, because 'for' counts {line.counter!r}: the agent sees the braces"
                yield LintFinding(words, where, certain=False)
            elif name in counters or (len(name) == 1 and not re.search(rf"[\w^}}$\\]\{{{name}\}}", line.say)):
                yield LintFinding(f"{{{name}}} is not replaced: this message has no 'for: {name} in 1..5'", where)
            else:
                words = f"{{{name}}} is not replaced, because this message has no 'for': the agent sees the braces"
                yield LintFinding(words, where, certain=False)


def _person(case: Case, lines: LineNumbers) -> Iterator[LintFinding]:
    for message, path, certain in person_findings(case):
        yield LintFinding(message, lines.of(*path), certain)


def _servers(case: Case, lines: LineNumbers) -> Iterator[LintFinding]:
    for index, server in enumerate(case.mcp):
        if (command := server.missing_command) is not None:
            words = f"the command {command!r} of the MCP server {server.name!r} is not on this machine"
            yield LintFinding(words, lines.of("mcp", index, "command"), certain=False)


def _checks(case: Case, lines: LineNumbers, places: Sequence[Place]) -> Iterator[LintFinding]:
    for each in check_findings(case):
        place = places[each.point - 1] if each.point <= len(places) else ("scoring_points",)
        where = lines.inside(each.line, *place, "eval_code")
        yield LintFinding(each.message, where, each.certain)
