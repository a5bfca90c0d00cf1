"""Evaluators of trajectories: how an agent thought, which tools it chose, and how its calls compare with a reference.

Here are the names that statistics and reports know them by; `viva.judge.registry` says where each is.
"""

THOUGHT_TO_TOOL = "thought_to_tool"
QUERY_TO_THOUGHT = "query_to_thought"
SEQUENCE = "sequence"
PARAMETER_QUALITY = "parameter_quality"
PLAN_AND_RECOVERY = "plan_and_recovery"
ALIGNMENT = "alignment"
REPEATED_CALLS = "repeated_calls"
TOOL_SUCCESS = "tool_success"
LOOPS = "loops"
KNOWN_TOOLS = "known_tools"
ARGUMENT_SCHEMA = "argument_schema"
MATCHES = ("match_strict", "match_in_order", "match_any_order", "match_subset", "match_superset")

STEP_EVALUATORS = (
    THOUGHT_TO_TOOL,
    QUERY_TO_THOUGHT,
    PARAMETER_QUALITY,
    REPEATED_CALLS,
    TOOL_SUCCESS,
    KNOWN_TOOLS,
    ARGUMENT_SCHEMA,
)
"""Evaluators whose verdicts are about single steps. Such a verdict's `statement` is the name of the step's tool."""
RUN_EVALUATORS = (SEQUENCE, PLAN_AND_RECOVERY, ALIGNMENT, LOOPS, *MATCHES)
"""Evaluators whose verdicts are about a whole trajectory."""
TRAJECTORY_EVALUATORS = (*STEP_EVALUATORS, *RUN_EVALUATORS)

SKIPPED = "skipped"
"""The label of a step or trajectory that an evaluator does not judge, such as a step without a thought. It has no score
and opens no bounds."""
NO_TOOL = "No tool used"
"""Stands for the tool of a step in which the agent called none."""
NOT_PARSED = "Not parsed"
"""Stands for the tool of a step in which the framework could not read what the agent wrote, and called none."""
CUT_OFF = "Cut off"
"""Stands for the tool of a step whose words or arguments end before they are complete, so that none was called."""
