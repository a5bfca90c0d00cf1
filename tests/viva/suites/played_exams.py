"""An examiner's model for tests, which holds fair and unfair exams about the weather, in the order that is wanted."""

from __future__ import annotations

from collections.abc import Callable

from tests.model_server import STOP_KEYWORD, Request, said_by, system_text

FAIR = ("What is the weather today?", "Yes, I am in New York.")
FLIPPED = ("What is the weather today? How can I help you?", "Yes, I am in New York.")


def examiner(*exams: tuple[str, ...]) -> Callable[[Request], str]:
    """Holds one exam after another with these messages; the last of them again and again."""
    held: list[int] = []

    def play(request: Request) -> str:
        said = len(said_by("assistant", request))
        if not said:
            held.append(1)
        texts = exams[min(len(held), len(exams)) - 1]
        keyword = STOP_KEYWORD.search(system_text(request))
        assert keyword is not None
        return texts[said] if said < len(texts) else keyword[1]

    return play
