"""What a configuration says of all its tests together: mostly what the command line says in Viva."""

from __future__ import annotations

from collections.abc import Sequence

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

READ_ELSEWHERE = ("prompts", "tests", "scenarios", "defaultTest", "assertionTemplates", "$defs", "definitions")
REASONS: dict[str, tuple[Gap, str]] = {
    "providers": (Gap.NEEDS_A_PERSON, "the agents: name yours with --agent SPEC"),
    "targets": (Gap.NEEDS_A_PERSON, "the agents: name yours with --agent SPEC"),
    "env": (Gap.REFUSED, "variables of the environment; set them where the agent runs"),
    "extensions": (Gap.REFUSED, "code that promptfoo runs; nothing of it is run"),
    "nunjucksFilters": (Gap.REFUSED, "code of filters; nothing of it is run"),
    "redteam": (Gap.REFUSED, "attacks that promptfoo generates; see strategies of examiners"),
    "derivedMetrics": (Gap.NO_HOME, "figures that are computed from others"),
    "description": (Gap.NO_HOME, "a description of all tests; keep it beside the cases"),
    "evaluateOptions": (Gap.NO_HOME, "options of a run: --trials, --concurrency, --timeout"),
    "commandLineOptions": (Gap.NO_HOME, "options of a run: --trials, --concurrency, --timeout"),
    "outputPath": (Gap.NO_HOME, "where results go: --out and viva report"),
    "writeLatestResults": (Gap.NO_HOME, "results are always written"),
    "sharing": (Gap.NO_HOME, "Viva shares nothing"),
    "tracing": (Gap.NO_HOME, "tools are recorded by the adapter, and spans by --sink otel"),
    "metadata": (Gap.NO_HOME, "metadata of the configuration"),
}


def report_suite(config: Source, drafts: Sequence[CaseDraft]) -> None:
    """Account for the keys of a configuration that are not about a single test; its tags become those of the cases."""
    for key, each in config.items():
        if key == "tags" and each.is_mapping:
            _add_tags(each, drafts)
        elif key in REASONS:
            kind, why = REASONS[key]
            each.report(kind, why)


def _add_tags(tags: Source, drafts: Sequence[CaseDraft]) -> None:
    for name, value in tags.items():
        if isinstance(value.peek(), str | int | float):
            words = f"{name}:{value.take()}"
            for draft in drafts:
                draft.tags.append(words)
