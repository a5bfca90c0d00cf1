"""`suite`: runs a suite of `viva.yaml` by its name, with its gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from viva.api.arguments import call_of, checked
from viva.api.asked import ALL
from viva.api.blocking import blocking
from viva.api.journals import SuiteResult
from viva.api.suites import ORIGIN, run_suite_async
from viva.errors import SetupError
from viva.exam.option_declaration import Part, Value
from viva.exam.options import Options
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.exam.resources import DEFAULT_AGENT
from viva.plugins.parameters import split_list
from viva.statistics.adaptive.until import Until, parse_until
from viva.suites.adaptive.gate import decided_gate, exclusive_words

if TYPE_CHECKING:
    from viva.cli.project.named_gates import NamedGates

KEYWORDS = {
    "agents": "agents",
    "paths": "cases",
    "max_time": "max_seconds",
    **{
        name: name
        for name in (
            *("vary", "trials", "until", "margin", "max_runs", "names", "tags", "sinks", "out", "evaluators"),
            *("threshold", "max_cost", "max_tokens"),
            *("engine", "ray_address", "ray_workers", *sorted(ALL)),
        )
    },
}
"""The keyword of `run_suite`, by the parameter of `viva suite`."""
_LISTS = frozenset(field.name for field, option in Options.declared(*Part) if option.value is Value.TEXTS)
OF_THE_CONSOLE = frozenset({"as_json", "quiet"})


@checked
async def suite_async(name: str, *, trust: bool = False, **changes: Any) -> SuiteResult:
    """Run a suite of the nearest `viva.yaml`, which is looked for from the working folder upwards.

    Args:
        name: The suite's name.
        trust: Permit the file for this call to load and start what it names; see `viva trust`.
        changes: Keywords of `run_suite` (`cases`, `agents`, `out`, `resume`…), which replace what the file says.

    Returns:
        The result, with the exit code and the words that `viva suite` would end with.

    Raises:
        CaseError: the file, or a case, is not sound.
        SetupError: there is no such suite, its file is not trusted, or you must change something else.
        SandboxError: the requested sandbox is not available.
        JournalError: the journal cannot be written, or a baseline cannot be read.
    """
    from viva.cli.project.named_gates import GATES, NamedGates
    from viva.cli.project.named_values import named_values

    replaced = {parameter for parameter, keyword in KEYWORDS.items() if keyword in changes}
    found = named_values(name, "trust=True", trusted=trust, given=replaced)
    values = {parameter: value for parameter, value in found.values.items() if parameter not in OF_THE_CONSOLE}
    strange = sorted(found.keys[each] for each in values if each not in KEYWORDS and each not in GATES)
    if strange:
        raise SetupError(f"{call_of(suite_async)} cannot apply {', '.join(strange)} of the suite {name!r}.")
    gated = {each: values.pop(each) for each in GATES if each in values}
    keywords = {KEYWORDS[parameter]: _whole(parameter, value) for parameter, value in values.items()} | changes
    until = _until(gated, keywords)
    gates = NamedGates(gated, keywords.get("threshold", 1.0))
    keywords.setdefault("agents", DEFAULT_AGENT)
    token = ORIGIN.set(found.origin)
    try:
        result = await run_suite_async(**keywords)
    finally:
        ORIGIN.reset(token)
    return _gated(gates, result, until)


def _until(gated: Mapping[str, Any], keywords: Mapping[str, Any]) -> Until | None:
    """Return the decision at which the suite ends.

    Raises:
        SetupError: it is not valid, or there are other gates.
    """
    text = keywords.get("until")
    if not isinstance(text, str):
        return None
    if others := [each for each in ("fail_under", "max_drop", "corrected") if gated.get(each)]:
        raise SetupError(exclusive_words("until", others))
    return parse_until(text, keywords.get("margin"))


def _whole(parameter: str, value: Any) -> Any:
    """Return a value as `run_suite` takes it, which splits no text at its commas."""
    return tuple(part for text in value for part in split_list(text)) if parameter in _LISTS else value


def _gated(gates: NamedGates, result: SuiteResult, until: Until | None) -> SuiteResult:
    """Return a result with what the gates say about it, the decision at which it was to end included."""
    from viva.journal.reader import read_records

    figures = gates.figures(lambda: read_records(result.folder, quick=True), result.figures)
    code, words = gates.result(figures)
    if until is not None and code == EXIT_DONE:
        code, words = decided_gate(until, result.decisions, figures, result.reason or "")
    if result.left_out and code == EXIT_DONE:
        code, words = EXIT_NOT_SCORED, result.reason or ""
    return replace(result, figures=figures, exit_code=code, failure=words)


suite = blocking(suite_async)
