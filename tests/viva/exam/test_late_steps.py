"""What an agent does after the last round, and before its conversation is closed, is not passed over."""

from __future__ import annotations

from viva.adapters.contract import AgentArguments
from viva.adapters.environment import EnvironmentLog
from viva.adapters.mcp_servers.offered import OfferedServers
from viva.cases import Case
from viva.exam.attempt.environment import RunEnvironment
from viva.records.transcript import Round, Step, Transcript


def test_what_is_in_no_round_is_noted() -> None:
    case = Case("late", script=["Hi."], scoring_points=["Fine."])
    environment = RunEnvironment(case, AgentArguments("t"), EnvironmentLog(), OfferedServers())
    for tool in ("fs/write_text_file", "terminal/create", "fs/write_text_file"):
        environment.log.record(Step("", tool=tool))
    written = "what a command wrote that began in a round"
    environment.log.record(Step("", parent_id="environment:1", result=written))
    (note,) = environment.described(Transcript()).notes
    assert note.endswith("took steps that are in no round: fs/write_text_file (2), terminal/create (1)")
    assert environment.described(Transcript()).notes == ()
    environment.log.record(Step("", observation="The screen went dark."))
    (note,) = environment.described(Transcript()).notes
    assert note.endswith("took steps that are in no round: a step without a tool (1)")


def test_late_steps_of_an_exam_without_rounds_are_noted() -> None:
    case = Case("late", script=["Hi."], scoring_points=["Fine."])
    environment = RunEnvironment(case, AgentArguments("t"), EnvironmentLog(), OfferedServers())
    late = (Step("environment:1", tool="delete_order"),)
    (note,) = environment.described(Transcript(late_steps=late)).notes
    assert note == "the agent took steps that are in no round: delete_order (1)"
    assert environment.described(Transcript((Round(1, "Hi.", "Hello."),), late_steps=late)).notes == ()
