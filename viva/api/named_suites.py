"""`suite`: runs a suite of `viva.yaml` by its name, with its gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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

KEYWORDS = {
    "agents": "agents",
    "paths": "cases",
    "max_time": "max_seconds",
    **{
        name: name
        for name in (
            *("trials", "names", "tags", "sinks", "out", "evaluators", "threshold", "max_cost", "max_tokens"),
            *("engine", "ray_address", "ray_workers", *sorted(ALL)),
        )
    },
}
"""The keyword of `run_suite`, by the parameter of `viva suite`."""
GATES = ("fail_under", "max_drop", "baseline", "max_examiner_faults", "label_files", "labelled", "corrected")
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
    from viva.cli.project.named_values import named_values

    replaced = {parameter for parameter, keyword in KEYWORDS.items() if keyword in changes}
    found = named_values(name, "trust=True", trusted=trust, given=replaced)
    values = {parameter: value for parameter, value in found.values.items() if parameter not in OF_THE_CONSOLE}
    strange = sorted(found.keys[each] for each in values if each not in KEYWORDS and each not in GATES)
    if strange:
        raise SetupError(f"{call_of(suite_async)} cannot apply {', '.join(strange)} of the suite {name!r}.")
    gated = {each: values.pop(each) for each in GATES if each in values}
    keywords = {KEYWORDS[parameter]: _whole(parameter, value) for parameter, value in values.items()} | changes
    gates = _Gates(gated, keywords.get("threshold", 1.0))
    keywords.setdefault("agents", DEFAULT_AGENT)
    token = ORIGIN.set(found.origin)
    try:
        result = await run_suite_async(**keywords)
    finally:
        ORIGIN.reset(token)
    return gates.applied(result)


def _whole(parameter: str, value: Any) -> Any:
    """Return a value as `run_suite` takes it, which splits no text at its commas."""
    return tuple(part for text in value for part in split_list(text)) if parameter in _LISTS else value


class _Gates:
    """The gates of a suite. What they need is read when they are made, before the first run."""

    def __init__(self, values: Mapping[str, Any], threshold: float) -> None:
        from viva.cli.label_options import check_corrected, measured_from
        from viva.suites.gates import parse_gates, read_baseline

        self._floors = parse_gates(values.get("fail_under", ()))
        self._drops = parse_gates(values["max_drop"], "--max-drop") if "max_drop" in values else None
        self._faults = values.get("max_examiner_faults")
        self._corrected = bool(values.get("corrected"))
        labels = values.get("label_files", ())
        baseline = values.get("baseline")
        if (self._drops is None) != (baseline is None):
            raise SetupError("baseline and max_drop require each other.")
        check_corrected(self._floors, labels, corrected=self._corrected)
        self._before = None if baseline is None else read_baseline(baseline, threshold)
        self._measured = measured_from(labels, values.get("labelled"), gated=self._corrected)
        self._threshold = threshold

    def applied(self, result: SuiteResult) -> SuiteResult:
        """Return a result with what the gates say about it."""
        from viva.cli.label_options import gate_with_labels
        from viva.journal.reader import read_records
        from viva.statistics.summary import summarize

        figures = result.figures
        if self._measured is not None:
            figures = summarize(read_records(result.folder, quick=True), self._threshold, measured=self._measured)
        code, words = gate_with_labels(
            figures,
            self._floors,
            self._faults,
            corrected=self._corrected,
            baseline=self._before,
            drops=self._drops,
        )
        if result.left_out and code == EXIT_DONE:
            code, words = EXIT_NOT_SCORED, result.reason or ""
        return replace(result, figures=figures, exit_code=code, failure=words)


suite = blocking(suite_async)
