"""Makes the request of a bisection."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from viva.errors import SetupError
from viva.exam.forking.fork import Means
from viva.exam.options import Options
from viva.records.text import one_line
from viva.statistics.bisection.search import SearchRules
from viva.suites.bisecting.conversation import conversation_of, plan_for
from viva.suites.request import BisectRequest, JournalsRequest, journals_request
from viva.suites.resuming.stored_request import is_ours


def bisect_request(
    folder: Path,
    run: str | None,
    options: Options,
    rules: SearchRules,
    *,
    threshold: float = 1.0,
    point: str = "",
    fork_by: Means | None = None,
) -> BisectRequest:
    """Return the request to find the decisive round of a conversation.

    Args:
        folder: The journal.
        run: The id of the run; None for the only one.
        options: The options; without an agent, that of the run is used if this user made the journal.
        rules: The rules of the search; the number of rounds is that of the conversation.
        threshold: What the low bound of a fork's score must reach.
        point: The id of the scoring point that must be hit instead.
        fork_by: How the agent gets to the forks; None for the first way that is possible.

    Raises:
        SetupError: there is nothing to find in the conversation, or no agent that could continue it.
        JournalError: there is no such journal or run.
    """
    stored = conversation_of(folder, run)
    plan = plan_for(stored, rules, threshold, point)
    if options.agent is None:
        spec = stored.setting.agent
        if not is_ours(folder):
            # The journal of somebody else must not choose what runs on this machine.
            raise SetupError(
                f"{folder} does not have your signature, so the agent that it names ({one_line(spec, 200)!r}) is not "
                "run by itself. Name the agent: --agent SPEC"
            )
        options = replace(options, agent=spec)
    base = journals_request("replay", [(folder, stored.id)], options)
    values = {each.name: getattr(base, each.name) for each in fields(JournalsRequest)}
    return BisectRequest(**{**values, "command": "bisect", "plan": plan, "fork_by": fork_by})
