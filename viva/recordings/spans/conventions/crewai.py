"""CrewAI by OpenInference: the span of an agent names its task in what it gave, not in what it was given."""

from __future__ import annotations

from dataclasses import replace

from viva.recordings.spans.conventions.convention import Convention, SpanContent
from viva.recordings.spans.conventions.written_values import read_object


def translate(content: SpanContent) -> SpanContent:
    """Return the span of a task with the task's text as the question."""
    attributes = content.attributes
    if not content.name.endswith("._execute_core"):
        return content
    described = read_object(attributes.get("output.value")).get("description")
    if not isinstance(described, str) or not described.strip():
        return content
    return replace(content, attributes={**attributes, "input.value": described})


CREWAI = Convention(
    "CrewAI (OpenInference)",
    ("crew_",),
    keys=frozenset({"task_key", "crew_key"}),
    scopes=("openinference.instrumentation.crewai",),
    translate=translate,
)
