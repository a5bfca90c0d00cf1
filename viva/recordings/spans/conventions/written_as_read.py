"""The conventions whose attributes the readers know as they are: nothing is translated."""

from __future__ import annotations

from viva.recordings.spans.conventions.convention import Convention

GEN_AI = Convention("OpenTelemetry gen_ai", ("gen_ai.",))
OPENINFERENCE = Convention(
    "OpenInference", ("openinference.", "llm.input_messages", "llm.output_messages", "llm.token_count", "llm.prompts")
)
