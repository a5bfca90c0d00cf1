"""Gates hold each agent against itself."""

from __future__ import annotations

from harness.figures.summary import summarize
from harness.outcome import EXIT_BELOW, EXIT_DONE
from harness.suites.gates import gate
from records.run import Outcome, RunRecord


def records(scores: dict[tuple[str, str], float]) -> list[RunRecord]:
    return [
        RunRecord(f"{case}-{agent}", case, agent, Outcome.SCORED, score, score, score)
        for (case, agent), score in scores.items()
    ]


def test_another_agents_rise_does_not_hide_a_fall() -> None:
    before = summarize(records({("a", "old"): 1.0, ("a", "new"): 0.0}))
    now = summarize(records({("a", "old"): 0.5, ("a", "new"): 1.0}))
    code, words = gate(now, None, before, 0.1)
    assert code == EXIT_BELOW
    assert "of old" in words
    assert "of new" not in words


def test_a_new_agent_is_held_against_what_the_baseline_had() -> None:
    before, now = summarize(records({("a", "old"): 1.0})), summarize(records({("a", "other"): 0.5}))
    assert gate(now, None, before, 0.1)[0] == EXIT_BELOW
    assert gate(now, None, before, 0.5)[0] == EXIT_DONE
