"""Evaluators of tool calls that need no model: repeated, failed and looping calls, unknown tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viva.judge.trajectory import KNOWN_TOOLS, LOOPS, REPEATED_CALLS, TOOL_SUCCESS
from viva.judge.trajectory.decisions import StepDecision, calls, canonical, decisions, why_empty
from viva.judge.trajectory.insights import cannot_judge, nothing_to_judge, summarize
from viva.judge.trajectory.tools import tool_definitions
from viva.records.evaluator import Context
from viva.records.text import one_line
from viva.records.transcript import Transcript
from viva.records.verdict import Evidence, Insight, Label, Verdict

LONGEST_LOOP = 20
"""Calls in a block that repeats, at most."""
LOOP_TIMES = 3
"""Times in a row that a block of calls must be made to be a loop."""
SHOWN = 200


class RepeatedCalls:
    """Finds calls that were made before in the same trajectory, with the same arguments and the same result.

    Labels of a call: `first` (1), `changed` (1: the same call brought another result than before), `repeated` (0),
    `unsure` (it may repeat an earlier call: the input or result of one of them was not recorded).
    """

    name = REPEATED_CALLS
    needs = ()
    instant = True

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict for each tool call."""
        seen: dict[tuple[str, str], StepDecision] = {}
        verdicts: list[Verdict] = []
        path = decisions(transcript)
        for each in calls(path):
            key = each.tool, canonical(each.arguments)
            before = seen.get(key)
            score: float | None = 1.0
            if before is None:
                label, reason = "first", "no earlier call is the same"
            elif not (before.known and each.known):
                score = None
                label, reason = Label.UNSURE, f"step {before.number} may be the same call: not all of both was recorded"
            elif before.result != each.result:
                label, reason = "changed", f"step {before.number} made the same call, and got another result"
            else:
                score = 0.0
                label, reason = "repeated", f"step {before.number} made the same call, and got the same result"
            seen[key] = each
            evidence = (Evidence(before.id, one_line(before.input, SHOWN)),) if before is not None else ()
            verdicts.append(_verdict(self.name, each, label, score, reason, evidence))
        return summarize(self.name, context.subject, verdicts, empty=why_empty(transcript, path))


class ToolSuccess:
    """Finds the calls that failed.

    Labels of a call: `succeeded` (1), `failed` (0), `unsure` (its result was not recorded). A call failed if its step
    has an error, or if its result begins as that of a failed call does; the latter has the flag `error-in-result`.
    """

    name = TOOL_SUCCESS
    needs = ()
    instant = True

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict for each tool call."""
        path = decisions(transcript)
        verdicts = [self._judge(each) for each in calls(path)]
        return summarize(self.name, context.subject, verdicts, empty=why_empty(transcript, path))

    def _judge(self, call: StepDecision) -> Verdict:
        if call.succeeded is None:
            return _verdict(self.name, call, Label.UNSURE, None, "its result was not recorded")
        if call.succeeded:
            return _verdict(self.name, call, "succeeded", 1.0, "it returned no error")
        words = one_line(call.result, SHOWN)
        flags = () if call.step.error is not None else ("error-in-result",)
        return _verdict(self.name, call, "failed", 0.0, f"it returned {words}", (Evidence(call.id, words),), flags)


class Loops:
    """Finds the same calls, with the same arguments, several times in a row.

    Labels of a trajectory: `no-loop` (1), `loop` (0), `skipped` (it is empty).
    """

    name = LOOPS
    needs = ()
    instant = True

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict on the trajectory."""
        path = decisions(transcript)
        if (empty := why_empty(transcript, path)) is not None:
            return nothing_to_judge(self.name, context.subject, empty)
        made = calls(path)
        found = find_loop([_key(each) for each in made])
        if found is None:
            words = f"no calls were made {LOOP_TIMES} times in a row" if made else "no tool was called"
            return summarize(
                self.name, context.subject, [Verdict(context.subject, self.name, "no-loop", 1.0, reason=words)]
            )
        start, period, times = found
        block = made[start : start + period]
        names = ", ".join(one_line(each.tool, 60) for each in block)
        reason = f"from step {block[0].number} on, these calls were made {times} times in a row: {names}"
        evidence = tuple(Evidence(each.id, one_line(each.input, SHOWN)) for each in block)
        verdict = Verdict(context.subject, self.name, "loop", 0.0, reason=reason, evidence=evidence)
        return summarize(self.name, context.subject, [verdict])


def _key(call: StepDecision) -> tuple[str, str, int]:
    """Return what the same calls have in common; a call whose input was not recorded is like no other."""
    return call.tool, canonical(call.arguments), 0 if call.step.tool_input is not None else call.number


def find_loop(keys: Sequence[object]) -> tuple[int, int, int] | None:
    """Return a block of keys that repeats at least `LOOP_TIMES` times in a row.

    Returns:
        Where the longest stretch begins, the length of its block (the shortest that repeats), and how many times it
        comes; None if there is none.
    """
    best: tuple[int, int, int] | None = None
    for period in range(1, min(LONGEST_LOOP, len(keys) // LOOP_TIMES) + 1):
        same = 0
        for place in range(period, len(keys)):
            same = same + 1 if keys[place] == keys[place - period] else 0
            times = same // period + 1
            if times >= LOOP_TIMES and (best is None or times * period > best[1] * best[2]):
                best = place - same - period + 1, period, times
    return best


class KnownTools:
    """Finds calls of tools that were not defined.

    Labels of a call: `known` (1), `unknown` (0). Needs tool definitions in the recording.
    """

    name = KNOWN_TOOLS
    needs = ()
    instant = True

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict for each tool call."""
        tools = tool_definitions(transcript.tools)
        path = decisions(transcript)
        made = calls(path)
        if not tools and made:
            return cannot_judge(self.name, context.subject, NO_DEFINITIONS)
        verdicts = list(self._verdicts(made, frozenset(tools)))
        return summarize(self.name, context.subject, verdicts, empty=why_empty(transcript, path))

    def _verdicts(self, made: Sequence[StepDecision], tools: frozenset[str]) -> Iterator[Verdict]:
        for each in made:
            if each.tool in tools:
                yield _verdict(self.name, each, "known", 1.0, "the tool is defined")
            else:
                words = f"no tool of this name is defined; there are {', '.join(sorted(tools))}"
                yield _verdict(self.name, each, "unknown", 0.0, one_line(words, 1000))


NO_DEFINITIONS = "the recording has no tool definitions: give them with --tools"


def _verdict(
    evaluator: str,
    call: StepDecision,
    label: str,
    score: float | None,
    reason: str,
    evidence: tuple[Evidence, ...] = (),
    flags: tuple[str, ...] = (),
) -> Verdict:
    return Verdict(call.id, evaluator, label, score, reason=reason, evidence=evidence, statement=call.tool, flags=flags)
