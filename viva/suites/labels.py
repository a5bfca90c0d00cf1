"""Names for what recordings do not tell: the agent, its version, its framework and its technique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from viva.errors import SetupError
from viva.recordings.recording import Recording

NAMES = ("agent", "version", "framework", "technique")


def parse_labels(values: Sequence[str], option: str) -> dict[str, str]:
    """Read labels from the values of a repeatable option, each `NAME=VALUE`.

    Raises:
        SetupError: a value has another form, another name, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in values:
        name, mark, value = text.partition("=")
        if not mark or name not in NAMES or not value.strip():
            raise SetupError(
                f"{option} {text!r}: use NAME=VALUE, where NAME is {', '.join(NAMES[:-1])} or {NAMES[-1]}."
            )
        if name in found:
            raise SetupError(f"{option} is given twice for {name}.")
        found[name] = value.strip()
    return found


def labelled(recording: Recording, labels: Mapping[str, str]) -> Recording:
    """Return a recording with the user's names, which take precedence over its own."""
    if not labels:
        return recording
    told = {name: labels[name] for name in ("framework", "technique") if name in labels}
    return replace(
        recording,
        agent=labels.get("agent", recording.agent),
        agent_version=labels.get("version", recording.agent_version),
        transcript=replace(recording.transcript, attributes={**recording.transcript.attributes, **told}),
    )
