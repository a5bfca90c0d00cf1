"""Names, units and attributes of the telemetry: public, so that a host can route and query it.

Attributes follow the OpenTelemetry semantic conventions for generative AI, version 1.41 of the repository
`open-telemetry/semantic-conventions-genai` (status: development). They are written out here, because the packages that
hold them mark them as subject to removal. What goes beyond the conventions begins with `viva.`.
"""

from __future__ import annotations

from enum import StrEnum


class EvalTelemetry:
    """The names by which a host's set-up sees this telemetry."""

    PREFIX = "viva.evals"
    """Prefix of the instruments; also the name of the meter. The option `prefix` replaces both."""
    TRACER_NAME = "viva.evals"
    """Name of the tracer and the event logger."""


class Instrument(StrEnum):
    """The instruments, without the prefix."""

    TOKENS = "tokens"
    """Counter, `{token}`, by `gen_ai.token.type`, role and model."""
    TOOL_CALLS = "tool_calls"
    """Counter, `{call}`, by tool, and by whether the call failed."""
    COST = "cost"
    """Counter, US dollars, by role. What is not known is not counted."""
    BILLING_UNITS = "billing_units"
    """Counter, `{unit}`, by name: what a provider bills by that is neither tokens nor money."""
    SCORE = "score"
    """Histogram in [0, 1], by evaluator and dimension."""
    DURATION = "duration"
    """Histogram, seconds, of the run."""


EVALUATION_EVENT = "gen_ai.evaluation.result"

AZURE_EVENT = "microsoft.custom_event.name"
"""Azure Monitor's exporter ignores the name of an event, and stores one as a custom event only if it has this."""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
CONVERSATION = "gen_ai.conversation.id"
WORKFLOW = "gen_ai.workflow.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
MODEL = "gen_ai.request.model"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"
ERROR_TYPE = "error.type"

RUN = "viva.run.id"
SUBJECT = "viva.run.subject"
OUTCOME = "viva.run.outcome"
SCORE = "viva.run.score"
LOW = "viva.run.low"
SUCCESS = "viva.run.success"
STOP = "viva.run.stop"
TRIAL = "viva.run.trial"
ATTEMPT = "viva.run.attempt"
ROUNDS = "viva.run.rounds"
ROUND = "viva.round.number"
STEP = "viva.step.id"
STEP_RECORDED_BY = "viva.step.recorded_by"
"""`environment` on a span of a call that the harness saw itself; left out on the agent's own."""
TIMED = "viva.time.known"
"""False on a span whose source gave no times: it stands at its parent's start and has no duration."""
ROLE = "viva.role"
EVALUATOR = "viva.evaluator"
DIMENSION = "viva.dimension"
OVERALL = "overall"
"""The dimension of an evaluator's own score."""
TOOL_FAILED = "viva.tool.failed"
BILLING_UNIT = "viva.billing.unit"
VERDICT_SUBJECT = "viva.verdict.subject"
