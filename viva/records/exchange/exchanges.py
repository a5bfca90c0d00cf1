"""The records of a judge's exchange: each request to its model, and the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

from viva.records.text import counted

FORM = 2
"""The version of the form in which an event holds exchanges; form 1 knew no dictionaries."""


@dataclass(frozen=True, slots=True)
class PictureName:
    """A picture in a request; exchanges hold its name alone."""

    name: str
    """`images/SHA-256.png`, as a journal names pictures; what was made smaller for the judge is in no journal."""


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """One message of a request."""

    role: str
    """`system`, `user` or `assistant` (an earlier answer of the model itself)."""
    parts: tuple[str | PictureName, ...]
    """Texts and pictures in the order in which they were read."""

    @property
    def text(self) -> str:
        """Return the texts in one piece, with the names of pictures."""
        return "\n\n".join(part if isinstance(part, str) else f"[picture {part.name}]" for part in self.parts)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a judge's model, with its answer."""

    evaluator: str
    subject: str
    """What was judged: the id of a run, a round or a step."""
    criterion: str
    """A scoring point's id, or the evaluator's name."""
    judge: str
    """The model's name."""
    messages: tuple[RequestMessage, ...]
    _: KW_ONLY
    answer: str = ""
    error: str = ""
    """Why there is no answer, or why it is not usable, as the client of the model says it; empty if it is usable."""
    vote: int = 1
    """The number of the vote, if the same was asked several times."""

    @property
    def digest(self) -> str:
        """Return the first 12 hex digits of the request's SHA-256."""
        digest = hashlib.sha256()
        for text in self.texts():
            digest.update(text.encode(errors="replace") + b"\0")
        return digest.hexdigest()[:12]

    def texts(self) -> Iterator[str]:
        """Yield everything that was sent, in order."""
        for message in self.messages:
            yield message.role
            for part in message.parts:
                yield part if isinstance(part, str) else part.name


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExchanges:
    """The data of the event `exchange`: all exchanges of one judgement of a run, compressed together."""

    form: int
    """`FORM`; a reader leaves a higher one alone."""
    calls: int
    """Number of requests."""
    digest: str
    """The first 16 hex digits of the SHA-256 of what `content` stands for, so that a loss is noticed."""
    content: str
    """JSON, compressed by zlib (RFC 1950), in base 85 as Python's `base64.b85encode` writes it."""
    dictionary: int = 0
    """The number of the dictionary with which it is compressed; 0 for none."""
    shared: tuple[str, ...] = ()
    """Files with texts that the requests of many runs begin with: judges' rules that no dictionary holds."""
    left_out: int = 0
    """Number of further requests that were not kept, because there were too many."""


@dataclass(frozen=True, slots=True)
class ReadExchanges:
    """The exchanges of one judgement, as far as they can be shown."""

    exchanges: tuple[Exchange, ...] = ()
    not_kept: int = 0
    """Number of requests that were not kept."""
    not_shown: int = 0
    """Number of requests that are kept, but with which all would be too long together."""

    def note(self) -> str:
        """Return what is missing, in words; empty if nothing is."""
        kept = f"{counted(self.not_kept, 'further request')} not kept" if self.not_kept else ""
        shown = f"{counted(self.not_shown, 'request')} not shown" if self.not_shown else ""
        both = " and ".join(each for each in (shown, kept) if each)
        return f"{both}, because together they are too long" if both else ""
