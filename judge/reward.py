"""The reward evaluator: the score of a run is the reward in its recording."""

from __future__ import annotations

from viva.judge.registry import Need
from viva.recordings.numbers import finite
from viva.records.evaluator import Context
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Verdict, error_insight

ATTRIBUTE = "reward"
"""The attribute of a transcript under which readers keep a recorded reward."""
RECORDED = "recorded"
"""The label of a reward that was found."""
NO_REWARD = "no-reward"
"""The label of a recording without a reward: it is not scored, and nothing went wrong."""


class RewardEvaluator:
    """Reads the reward in [0, 1] from a recording; it judges nothing itself."""

    name = "reward"
    needs = (Need.RECORDING,)

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict on the run: `no-reward` if there is none, an `error` if it cannot be used."""
        reward = transcript.attributes.get(ATTRIBUTE)
        if reward is None:
            reason = "the recording has no reward"
            verdict = Verdict(context.subject, self.name, NO_REWARD, None, reason=reason, by="recording")
            return Insight(self.name, context.subject, NO_REWARD, None, summary=reason, verdicts=(verdict,))
        fault = _fault(reward)
        if fault is not None:
            return error_insight(self.name, context.subject, fault, by="recording")
        assert isinstance(reward, int | float)
        score = float(reward)
        reason = "the reward in the recording"
        verdict = Verdict(context.subject, self.name, RECORDED, score, reason=reason, by="recording")
        return Insight(
            self.name,
            context.subject,
            RECORDED,
            score,
            low=score,
            high=score,
            summary=f"recorded reward {score:g}",
            verdicts=(verdict,),
        )


def _fault(reward: object) -> str | None:
    if (score := finite(reward)) is None:
        return f"the recorded reward is not a number: {reward!r}"[:200]
    if not 0 <= score <= 1:
        return f"the recorded reward is {score:g}, but a score must be between 0 and 1"
    return None
