"""Whom the simulated user of a golden plays."""

from __future__ import annotations

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.personas import as_persona
from viva.interchange.drafts.spelling import field
from viva.interchange.drafts.wording import as_text
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

SPOKEN = ("interruption_behavior", "voice", "muted", "background_noise", "multilingual_stt", "hold_timeout")


def add_persona(draft: CaseDraft, golden: Source) -> None:
    """Add the persona of a golden, and what it was called before."""
    older, persona = field(golden, "user_description"), field(golden, "persona")
    texts: list[str] = []
    name, traits, details = (field(persona, each) for each in ("name", "characteristics", "metadata"))
    if name is not None:
        texts.append(f"Your name is {name.take()}.")
    if traits is not None and traits.is_text:
        texts.append(str(traits.take()).strip())
    if older is not None and older.is_text:
        # The same words as the persona's characteristics, in files that have both.
        described = str(older.take()).strip()
        texts += [described] if described not in texts else []
    if details is not None:
        texts += [f"{key}: {as_text(value.take())}" for key, value in details.items()]
    if texts:
        draft.fields["user"] = {"persona": as_persona("\n".join(texts))}
    _spoken(persona)
    role = field(golden, "chatbot_role")
    if role is not None:
        role.report(
            Gap.NO_HOME, "the agent itself decides who it is; write what a judge must know of it into background"
        )


def _spoken(persona: Source | None) -> None:
    first = field(persona, "speaks_first")
    if first is not None and first.peek() is True:
        first.express("the examiner speaks first")
    elif first is not None:
        first.report(Gap.REFUSED, "the examiner speaks first: Viva has no voice")
    for name in SPOKEN:
        value = field(persona, name)
        if value is not None:
            value.report(Gap.REFUSED, "concerns a voice: Viva's conversations are in writing")
