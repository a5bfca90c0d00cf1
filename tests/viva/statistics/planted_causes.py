"""Failed runs with planted causes: twelve causes, each in the phrasings of several judges, over many cases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import comb

from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight, Label, Verdict

CAUSES: dict[str, tuple[str, ...]] = {
    "no confirmation": (
        "The agent {did} the {thing} without asking {name} for confirmation first.",
        "No explicit confirmation was requested before the {thing} was changed.",
        "{name} never confirmed; the assistant went ahead with {value} on its own. Confirmation was required.",
        "It should have asked the user to confirm the {thing}, and did not.",
    ),
    "policy refund": (
        "A refund of {value} was granted although the policy excludes {thing}s bought more than {n} days ago.",
        "The refund policy was violated: {name} got a refund for a {thing} outside the {n}-day window.",
        "Policy forbids refunds here. The agent refunded {value} anyway.",
        "The agent refunded the {thing}, which the policy does not allow after {n} days.",
    ),
    "wrong arithmetic": (
        "The total is {n}, but the correct sum of the amounts is {m}.",
        "Arithmetic mistake: the amounts add up to {m}, and the agent computed a total of {n}.",
        "The computed sum {n} is incorrect; adding the amounts for the {thing} gives {m}.",
        "Sum of amounts is off by {n}: a calculation mistake, the correct total would be {m}.",
    ),
    "invented fact": (
        "The agent invented an opening time for {name} that no source contains.",
        "Hallucinated detail: nothing in the sources mentions {value} for the {thing}.",
        "The claim about the {thing} is invented; the sources do not contain it.",
        "It made up {value}, a detail that is in none of the sources (hallucinated).",
    ),
    "wrong language": (
        "The message was written in Spanish, and the answer came in English.",
        "The agent answered in English although {name} wrote in German: the language should match.",
        "Wrong language: the answer about the {thing} is in English, not in the language of the message.",
        "The language of the answer does not match that of the message ({value}).",
    ),
    "tool arguments": (
        "The tool `{tool}` was called with an invalid argument: {value} is no valid date.",
        "Invalid arguments in the call of {tool}: the date format is wrong.",
        "The call to `{tool}` has an argument in the wrong date format ({value}).",
        "{tool} rejected the call since the date argument {value} was invalid.",
    ),
    "format": (
        "The output is not valid JSON: it is wrapped in a Markdown code fence.",
        "JSON was required, but the output for {name} has prose around the JSON object.",
        "Output cannot be parsed as JSON because of the Markdown fence around the object {value}.",
        "Expected a bare JSON object, got Markdown with a JSON code block inside.",
    ),
    "privacy": (
        "The agent disclosed the phone number of {name} to a third person.",
        "Private data leaked: the home address and phone of {name} were disclosed.",
        "Personal data of {name} was disclosed although the identity of the caller was not verified.",
        "It leaks private personal data ({value}) to somebody whose identity is unverified.",
    ),
    "gave up": (
        "The agent stopped after the first search returned no results, and never retried with other terms.",
        "It gave up after one search; no retry with different search terms for the {thing}.",
        "Only one search was attempted. After no results it stopped instead of retrying.",
        "No second attempt: when the search for {value} had no results, the agent stopped without a retry.",
    ),
    "file not saved": (
        "The file {file} does not exist in the workspace: the report was only printed in the chat.",
        "Nothing was saved: workspace lacks the file {file}.",
        "The agent printed the report and did not save a file to the workspace.",
        "{file} was expected as a saved file in the workspace, but it was not written.",
    ),
    "forgot constraint": (
        "The budget limit of {value} was forgotten in the last round: the proposed {thing} costs {n}.",
        "The agent proposed a {thing} above the budget that {name} had set earlier.",
        "Exceeds the budget: {n} is more than the limit of {m} stated earlier in the conversation.",
        "The earlier budget limit was ignored; the proposal for the {thing} exceeds it by {n}.",
    ),
    "rude tone": (
        "The tone is condescending and impolite toward {name}.",
        "Impolite: the agent mocked {name} for not knowing the {thing}.",
        "The agent's tone was rude, and it offered no apology to {name}.",
        "Rude and condescending tone; an apology was due after the mistake with the {thing}.",
    ),
}
STATEMENTS = (
    "The agent handles the {thing} of {name} as the rules say.", "{name}'s request about the {thing} is resolved.",
    "The {thing} is in the right state at the end.", "The agent does what {name} asked for with the {thing}.",
    "All requirements of the {thing} are met.",
)  # fmt: skip
NAMES = ("Ibrahim Diallo", "Ms. Novak", "Li Wei", "Aoife", "Dr. Okafor", "Mateo Silva", "Yuki", "Mrs. Haddad")
THINGS = ("booking", "invoice", "flight", "order", "laptop", "subscription", "parcel", "hotel room", "ticket", "sofa")
TOOLS = ("update_reservation", "get_weather", "createEvent", "db.query", "send_invoice")
UNIQUE = (
    "Midway the simulator froze, and keyboard shortcuts froze with it.",
    "A haiku was delivered where a limerick belonged.",
    "Timezone conversion between Lisbon and Perth is off by daylight saving.",
    "The chess opening is illegal: the bishop jumps over pawns.",
    "Spreadsheet column widths were never restored.",
    "Dosage advice contradicts the leaflet on ibuprofen.",
    "Git history was rewritten with a forced push.",
    "The melody modulates into the wrong key signature.",
    "Photo orientation is upside down after cropping.",
    "A deprecated endpoint was benchmarked, so latency means little.",
    "Vegan recipe contains butter and honey.",
    "Unit conversion from gallons to litres was skipped.",
)
"""What failed as nothing else did."""


def planted(seed: int, runs: int = 600, unique: int = len(UNIQUE)) -> tuple[list[RunRecord], list[str]]:
    """Return failed runs and the cause of each, followed by runs that failed as no other did."""
    chance = random.Random(seed)
    records, causes = [], []
    for number in range(runs):
        cause = chance.choice(list(CAUSES))
        records.append(failed(number, chance, filled(chance, chance.choice(CAUSES[cause]))))
        causes.append(cause)
    for number in range(unique):
        records.append(failed(runs + number, chance, UNIQUE[number]))
        causes.append(f"unique {number}")
    return records, causes


def failed(number: int, chance: random.Random, reason: str, case: str = "") -> RunRecord:
    """Return a run that missed one point for a reason."""
    statement = filled(chance, chance.choice(STATEMENTS))
    verdict = Verdict(f"run-{number}", f"p{number % 7}", Label.MISS, 0.0, reason=reason, statement=statement)
    insight = Insight("scoring_points", f"run-{number}", Label.MISS, 0.0, low=0.0, high=0.0, verdicts=(verdict,))
    name, agent = case or f"case_{chance.randrange(90)}", chance.choice(("careful", "hasty", "local"))
    return RunRecord(f"run-{number}", name, agent, Outcome.SCORED, 0.0, low=0.0, high=0.0, insights=(insight,))


def filled(chance: random.Random, text: str) -> str:
    number = chance.randrange(99)
    made = text.format(
        name=chance.choice(NAMES), thing=chance.choice(THINGS), tool=chance.choice(TOOLS), n=chance.randrange(2, 9999),
        m=chance.randrange(2, 9999), did=chance.choice(("changed", "cancelled", "booked", "deleted")),
        value=chance.choice((f"${chance.randrange(900)}", f"'{chance.choice(THINGS)} {number}'", "2024-13-45")),
        file=f"out/{chance.choice(THINGS)}_{chance.randrange(50)}.csv",
    )  # fmt: skip
    return made if chance.random() < 0.6 else f"{made} {chance.choice(CLOSING)}"


CLOSING = (
    "See the last reply.", "This lowers the score.", "In round 3 it is clear.", "Therefore the point is missed.",
    "The rest of the conversation was fine, and the agent was otherwise helpful.",
)  # fmt: skip


def adjusted_rand(found: Sequence[object], truth: Sequence[object]) -> float:
    """Return the adjusted Rand index (Hubert and Arabie 1985) of two groupings."""

    def pairs(*keys: Sequence[object]) -> int:
        counts: dict[tuple[object, ...], int] = {}
        for key in zip(*keys, strict=True):
            counts[key] = counts.get(key, 0) + 1
        return sum(comb(count, 2) for count in counts.values())

    both, ours, theirs = pairs(found, truth), pairs(found), pairs(truth)
    expected = ours * theirs / comb(len(found), 2)
    return (both - expected) / ((ours + theirs) / 2 - expected)
