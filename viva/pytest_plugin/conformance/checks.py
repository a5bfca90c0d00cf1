"""The list of all checks, in their order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from viva.pytest_plugin.conformance import any_agent, faults, leaks, played
from viva.pytest_plugin.conformance.subject import CheckedAgent

Check = Callable[[CheckedAgent], Awaitable[str | None]]
"""Raises `Differs` or `DoesNotApply`; may return a figure to be shown."""

OF_ANY: tuple[Check, ...] = (
    any_agent.opens_and_closes,
    any_agent.answers,
    any_agent.has_a_workspace_of_its_own,
    any_agent.closes_twice,
    any_agent.can_be_cancelled,
    any_agent.keeps_to_a_time_limit,
    any_agent.serves_several_at_once,
    leaks.leaves_nothing_behind,
    leaks.stays_flat,
)
OF_THE_PART: tuple[Check, ...] = (
    played.keeps_the_order_of_messages,
    played.does_not_mix_fifty_at_once,
    played.keeps_every_character,
    played.survives_a_lone_surrogate,
    played.takes_an_empty_reply,
    played.takes_a_reply_of_50_mb,
    played.writes_in_its_workspace,
    faults.waits_for_a_slow_reply,
    faults.waits_for_a_slow_start,
    faults.reports_a_crash_at_the_start,
    faults.ends_a_hang_as_timeout,
    faults.cancels_a_hang,
    faults.keeps_the_words_of_an_exception,
    faults.keeps_the_last_words_of_a_crash,
    faults.ends_a_cut_connection_as_target_error,
    faults.survives_the_crash_of_another,
    faults.notices_an_agent_that_leaves,
    faults.survives_invalid_encoding,
    faults.survives_a_flood_on_stderr,
    faults.ends_its_offspring,
)
CHECKS = (*OF_ANY, *OF_THE_PART)
