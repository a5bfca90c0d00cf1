"""The gates of a named suite, for programs that conduct its runs themselves: pytest, and functions of `viva`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from viva.cli.label_options import check_corrected, gate_with_labels, measured_from
from viva.errors import SetupError
from viva.records.run_record import RunRecord
from viva.statistics.summary import Figures, summarize
from viva.suites.gates import parse_gates, read_baseline

GATES = ("fail_under", "max_drop", "baseline", "max_examiner_faults", "label_files", "labelled", "corrected")
"""The parameters of `viva suite` that are gates, or that gates need."""


class NamedGates:
    """The gates of a suite. What they need is read when they are made, before the first run.

    Args:
        values: The values of `GATES`, as far as there are any.
        threshold: The score of a passing run.

    Raises:
        SetupError: they are contradictory, or a label file cannot be read.
        JournalError: the baseline cannot be read.
    """

    def __init__(self, values: Mapping[str, Any], threshold: float) -> None:
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

    @property
    def are_set(self) -> bool:
        """Return whether there is a limit, and not only what a limit would be computed with."""
        return self._floors.are_set or self._drops is not None or self._faults is not None

    def figures(self, records: Callable[[], Iterable[RunRecord]], known: Figures | None = None) -> Figures:
        """Return the statistics that the gates are about.

        Args:
            records: Reads the runs.
            known: Their statistics without the judge's measured errors, if they were computed already.
        """
        if known is not None and self._measured is None:
            return known
        return summarize(records(), self._threshold, measured=self._measured)

    def result(self, figures: Figures) -> tuple[int, str]:
        """Return the exit code of the gates, and the reason in words (empty for 0)."""
        return gate_with_labels(
            figures,
            self._floors,
            self._faults,
            corrected=self._corrected,
            baseline=self._before,
            drops=self._drops,
        )
