"""Chooses the screenshots of a session that a judge sees, as UFO's EvaluationAgent does, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from viva.journal.images import kind_of
from viva.journal.scaled_pictures import look_at, scale_picture
from viva.judge.session.settings import Screenshots
from viva.records.text import one_line
from viva.records.transcript import Step, Transcript

MOST_IMAGES = 40
"""The maximum number of images in one request."""
ONE_LIMIT = 400_000
"""The maximum bytes of one image; a larger one is scaled down."""
ALL_LIMIT = 10_000_000
"""The maximum bytes of all images of one request, before base64 adds a third."""
LARGEST_SIDE = 2_000
"""The maximum width and height in pixels; some providers reject more."""
FINAL = "final"
"""The step id of a picture that was taken after the last step."""
REPLY = "reply"
"""The role of a picture that a live agent returned with its reply."""
# UFO shows the judge where the agent clicked; agents without such pictures have others.
_BEST = ("selected_controls", "clean", "annotated", "desktop", "concatenated")
_FIRST = ("clean", "desktop", "annotated", "selected_controls", "concatenated")
_ENDS = ("final", "round_final", "sub_round_final")
_KNOWN = frozenset({*_BEST, *_ENDS})

ReadPicture = Callable[[str], bytes | None]
"""Returns the bytes of a picture that a transcript names, or None if it is missing or must not be read."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One screenshot."""

    step: str
    """The id of the step that it belongs to, or `FINAL`."""
    role: str
    """What the picture shows: `clean`, `selected_controls`, `final`…"""
    name: str
    """The name that the transcript gives it."""
    after: str = ""
    """The id of the round after which a final picture was taken."""
    content: bytes = b""
    instead: tuple[Shot, ...] = ()
    """The next best screenshots, in order, for one that shows nothing or cannot be decoded."""

    @property
    def caption(self) -> str:
        """Return the words before the picture in a request."""
        if self.role == REPLY:
            number = self.after.removeprefix("r")
            return "screenshot that came with the agent's reply" + (f" in round {number}" if number.isdecimal() else "")
        if self.step == FINAL:
            return "screenshot at the end, after the last step"
        # An agent's own name of a role would stand outside of what the prompt marks as data.
        role = self.role.replace("_", " ") if self.role in _KNOWN else ""
        return f"screenshot of step {one_line(self.step, 60)}" + (f" ({role})" if role else "")


@dataclass(frozen=True, slots=True)
class Shown:
    """The screenshots of one request."""

    mode: Screenshots
    shots: tuple[Shot, ...] = ()
    taken: int = 0
    """The number of screenshots that were chosen, before any was omitted."""
    unusable: int = 0
    """The number omitted because they are placeholders (one colour, or hardly a pixel) or cannot be decoded."""
    thinned: int = 0
    """The number omitted because there were too many."""
    without: int = 0
    """The number of steps without a screenshot, if each step's are shown."""

    @property
    def size(self) -> int:
        """Return the bytes of all screenshots."""
        return sum(len(shot.content) for shot in self.shots)

    @property
    def steps(self) -> frozenset[str]:
        """Return the ids of the steps with a screenshot, and `FINAL` if there is a final one."""
        return frozenset(shot.step for shot in self.shots)

    @property
    def words(self) -> str:
        """Return the words about the screenshots in the request."""
        if self.mode == "none":
            return "No screenshots are shown: the request was to judge by the steps alone."
        if not self.shots:
            return f"There are no screenshots{self._lost}: judge by the steps alone."
        verb = "screenshot follows" if len(self.shots) == 1 else "screenshots follow"
        return f"{len(self.shots)} {verb}, in order: {self._which}.{self._left_out}"

    @property
    def note(self) -> str:
        """Return the words about the screenshots in a report."""
        if self.mode == "none":
            return "judged by the steps alone: no screenshots were to be shown"
        if not self.shots:
            return f"judged by the steps alone: there are no screenshots{self._lost}"
        times = "one screenshot" if len(self.shots) == 1 else f"{len(self.shots)} screenshots"
        return f"the judge saw {times}: {self._which}.{self._left_out}"

    @property
    def _which(self) -> str:
        ended = self.shots[-1].step == FINAL
        last = "" if ended else "; there is none of the end"
        if len(self.shots) == 1:
            return self.shots[0].caption + last
        if self.mode == "all":
            return f"each step's{' and the final one' if ended else last}"
        final = "the final one" if ended else "the last step's"
        return f"the first step's and {final}{last}"

    @property
    def _left_out(self) -> str:
        left = [f"{self.unusable} were blank or could not be decoded"] if self.unusable else []
        left += [f"{self.thinned} were left out evenly, because there were too many"] if self.thinned else []
        words = f" Of {self.taken} screenshots {' and '.join(left)}." if left else ""
        return words + (f" Steps without a screenshot: {self.without}." if self.without else "")

    @property
    def _lost(self) -> str:
        return f" that could be used, and {self.unusable} that could not" if self.unusable else ""


@dataclass(slots=True)
class _Chosen:
    shots: list[Shot] = field(default_factory=list)

    def add(self, shot: Shot | None) -> None:
        """Add a screenshot unless it is there. In a journal, screenshots of the same content have the same name."""
        if shot is not None and all(
            (shot.step, shot.name, shot.after) != (other.step, other.name, other.after) for other in self.shots
        ):
            self.shots.append(shot)


def choose(transcript: Transcript, mode: Screenshots) -> list[Shot]:
    """Choose the screenshots of a session, or of the round that a transcript was cut down to.

    `all`: of each step the one with the selected controls, then the final one. `ends`: of the first step the clean one,
    and the final one. If there is no final one, `ends` takes that of the last step. Each has the step's others as those
    to show instead, best first.
    """
    chosen = _Chosen()
    if mode == "none":
        return []
    if mode == "all":
        for round_ in transcript.rounds:
            for step in round_.steps:
                chosen.add(_best(step, _BEST))
            if "image_roles" not in round_.attributes:
                # Pictures that a live agent returned with its reply.
                for name in round_.images:
                    chosen.add(Shot(FINAL, REPLY, name, round_.id))
    else:
        chosen.add(next((shot for shot in map(_first, _steps(transcript)) if shot), None))
    finals = _finals(transcript)
    if mode == "ends":
        last = next((shot for shot in map(_first, reversed(_steps(transcript))) if shot), None)
        finals += [replace(last, instead=()), *last.instead] if last else []
    if finals:
        chosen.add(replace(finals[0], instead=tuple(finals[1:])))
    return chosen.shots


def prepare(transcript: Transcript, mode: Screenshots, read: ReadPicture) -> Shown:
    """Read the chosen screenshots, omit those that show nothing, and scale the others to the budget.

    It decodes pictures, which takes time; call it in a thread.
    """
    chosen = choose(transcript, mode)
    # Of a session of thousands of steps not every picture is decoded: twice as many as are shown leave room for blanks.
    # One less than that, so that every second of them is shown where none is blank.
    looked_at = thin(chosen, 2 * MOST_IMAGES - 1)
    share = min(ONE_LIMIT, ALL_LIMIT // max(1, min(len(looked_at), MOST_IMAGES)))
    # One that stands in for another may have been chosen itself.
    good = list(dict.fromkeys(usable for shot in looked_at if (usable := _usable(shot, read, share))))
    kept = thin(good, MOST_IMAGES)
    unusable = len(looked_at) - len(good)
    # Actions below a step share its screenshots.
    bare = sum(not (step.images or step.parent_id) for step in _steps(transcript)) if mode == "all" else 0
    return Shown(mode, tuple(kept), len(chosen), unusable, len(chosen) - unusable - len(kept), bare)


def thin(shots: Sequence[Shot], most: int) -> list[Shot]:
    """Omit shots evenly until `most` are left. The first and the last stay."""
    if len(shots) <= most:
        return list(shots)
    last = len(shots) - 1
    return [shots[round(place * last / (most - 1))] for place in range(most)]


def _usable(shot: Shot, read: ReadPicture, share: int) -> Shot | None:
    """Return a screenshot with its content, or the first of those instead of it that shows something."""
    for each in (shot, *shot.instead):
        if content := _fit(read(each.name), share):
            return replace(each, content=content, instead=())
    return None


def _fit(content: bytes | None, share: int) -> bytes | None:
    """Return a picture of at most `share` bytes; None if it shows nothing or cannot be decoded."""
    if not content or (look := look_at(content)) is None or look.blank:
        return None
    small = len(content) <= share and max(look.width, look.height) <= LARGEST_SIDE
    return content if small and kind_of(content) in ("png", "jpeg") else scale_picture(content, share)


def _steps(transcript: Transcript) -> list[Step]:
    return [step for round_ in transcript.rounds for step in round_.steps]


def _roles(names: Sequence[str], attributes: object) -> list[tuple[str, str]]:
    """Return the role and name of each picture. The role is empty if it is unknown."""
    told = attributes.get("image_roles") if hasattr(attributes, "get") else None
    roles = [str(role) for role in told] if isinstance(told, list | tuple) else []
    return [(roles[place] if place < len(roles) else "", name) for place, name in enumerate(names)]


def _best(step: Step, order: Sequence[str]) -> Shot | None:
    pairs = _roles(step.images, step.attributes)
    ranked = sorted(pairs, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))
    shots = [Shot(step.id, role, name) for role, name in ranked]
    # Whatever is wrong with the best one, whether it is not there, blank or broken, the next best is shown instead.
    return replace(shots[0], instead=tuple(shots[1:])) if shots else None


def _first(step: Step) -> Shot | None:
    return _best(step, _FIRST)


def _finals(transcript: Transcript) -> list[Shot]:
    """Return the final pictures, best first: of the session, else of the last round, else of its last sub-round."""
    last = transcript.rounds[-1:]
    found = [Shot(FINAL, "final", name, last[0].id if last else "") for name in transcript.images[-1:]]
    for round_ in last:
        pairs = _roles(round_.images, round_.attributes)
        for role in _ENDS:
            found += [Shot(FINAL, role, name, round_.id) for known, name in reversed(pairs) if known == role][:1]
        if pairs and not any(shot.role in _ENDS[1:] for shot in found):
            found.append(Shot(FINAL, REPLY, pairs[-1][1], round_.id))
    return found
