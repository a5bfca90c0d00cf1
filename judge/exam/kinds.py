"""The kinds of faults that an examiner can commit, and which of them make an exam unfair."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

EXAM = "exam"
"""The name of the evaluator."""
FAIR, UNFAIR, SKIPPED, UNREVIEWED = "fair", "unfair", "skipped", "unreviewed"
"""Labels of its insight; the last one if a requested review gave no usable answer and code found nothing serious."""
REVIEW, REVIEWED = "review", "reviewed"
"""The key of an insight's details that says whether a model reviewed the exam, and its value if one did; otherwise it
says why the review could not be used. It is missing if no review was requested."""
NOTED = "noted"
"""Label of a finding that does not make the exam unfair; one that does has the label `UNFAIR`."""


class ExamFault(StrEnum):
    """A fault of the examiner."""

    NEVER_ASKED = "never_asked"
    """The request, the facts and the files of the task never came up."""
    LEAK = "leak"
    """It said an answer, number or phrase that is only in the scoring points, before the agent did."""
    ROLE_FLIP = "role_flip"
    """It spoke as the assistant, solved the task, or thought aloud."""
    STOPPED_EARLY = "stopped_early"
    """It ended the exam before everything that the task sets was asked."""
    WANDERED_OFF = "wandered_off"
    """It talked about something that belongs neither to the task nor to the conversation."""
    INVENTED_FACTS = "invented_facts"
    """It stated numbers or identifiers that neither the task nor the agent gave."""
    TOLD_TOO_MUCH = "told_too_much"
    """It told facts before their condition was met, or the whole task at once."""
    INSISTED_TOO_LITTLE = "insisted_too_little"
    """It gave up what the task tells it to insist on."""
    INSISTED_TOO_LONG = "insisted_too_long"
    """It kept asking for the same thing."""
    WENT_ON = "went_on"
    """It went on after the exam was over."""
    REPEATED_ITSELF = "repeated_itself"
    """It sent the same message again."""


SERIOUS = frozenset({ExamFault.NEVER_ASKED, ExamFault.LEAK, ExamFault.ROLE_FLIP, ExamFault.STOPPED_EARLY})
"""The kinds that make an exam unfair, because they change what the agent could earn. The others are only noted."""
OF_THE_EXAM = frozenset({ExamFault.NEVER_ASKED, ExamFault.STOPPED_EARLY})
"""The kinds of which an exam has one at most, whichever message shows it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of the examiner."""

    kind: ExamFault
    round: int
    """The number of the round with the quoted message; 0 for the exam as a whole."""
    quote: str
    """Words of the examiner's message, copied exactly; empty where what is missing was never said."""
    reason: str
    by: str = "code"
    """`code`, or the reviewing model's name."""
    mild: bool = False
    """Whether a finding of a serious kind is only noted, because it cost the agent nothing."""

    @property
    def unfair(self) -> bool:
        """Return whether this finding makes the exam unfair."""
        return self.kind in SERIOUS and not self.mild
