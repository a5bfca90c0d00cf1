"""Failed runs with twelve other causes: short and long wordings, some in German."""

from __future__ import annotations

import random

from tests.viva.statistics.planted_causes import failed
from viva.records.run_record import RunRecord

HELD_OUT: dict[str, tuple[str, ...]] = {
    "double booking": (
        "{name} was charged twice: two reservations exist for {day}.",
        "Duplicate reservation. There are two entries for the same night, {day}, and only one was wanted.",
        "Booked the same night twice; the duplicate reservation was never cancelled.",
        "Zwei Reservierungen für dieselbe Nacht, gewünscht war eine.",
    ),
    "stale data": (
        "The quoted price is from last year's price list.",
        "It quotes an outdated price ({n} EUR); the current price list says {m} EUR.",
        "Price is outdated, {m} would be current.",
        "An old price list was used, so {name} got a price that has not been current since {day}.",
        "The agent relied on a price list that was replaced; outdated prices follow.",
    ),
    "unit mistake": (
        "Miles and kilometres are mixed up: {n} km is not {m} miles.",
        "The distance is given in miles, kilometres were requested.",
        "Kilometres were wanted, the distance of {n} is in miles.",
    ),
    "no source": (
        "No citation is given for the study on {topic}.",
        "The study is cited without a link, so the citation cannot be followed.",
        "A citation with a link to the study was required; none is there.",
        "Missing citation (study on {topic}).",
        "Every study needs a citation. The paragraph about {topic} has none, although {name} reminded it in round {r}.",
    ),
    "loop": (
        "The same command was executed {n} times in a row without any progress.",
        "It is stuck in a loop and repeats the identical command.",
        "Repeats one command over and over; no progress after {r} repetitions.",
        "Loop: the identical command {n} times, no progress.",
    ),
    "deleted file": (
        "The backup folder was deleted although it had to be kept.",
        "{name}'s backups are gone: `rm -rf` removed the backup folder.",
        "It deleted the backup folder.",
        "Removing the backup was forbidden; the folder was deleted in round {r}.",
    ),
    "appointment timezone": (
        "The appointment is entered in UTC and not in the local timezone of {name}.",
        "Wrong timezone: the appointment begins {r} hours late.",
        "Appointment off by {r} hours because of the timezone.",
        "Der Termin liegt in der falschen Zeitzone ({r} Stunden daneben).",
        "The timezone of the calendar was ignored when the appointment was entered.",
    ),
    "unsafe advice": (
        "Mixing bleach and ammonia is dangerous, and the reply recommends it without a warning.",
        "A safety warning about the dangerous mixture is absent.",
        "Recommends a dangerous mixture (bleach, ammonia); no safety warning.",
        "The reply has to warn that the mixture is dangerous.",
    ),
    "too long": (
        "The summary has {n} words; at most {m} were permitted.",
        "Summary exceeds the permitted number of words.",
        "Far too long: {n} words in the summary.",
        "The length of the summary, {n} words, is above the permitted maximum of {m}.",
    ),
    "failing tests": (
        "{r} unit tests do not pass after the patch.",
        "The patch breaks unit tests in module {topic}.",
        "pytest reports {r} broken unit tests; before the patch all passed.",
        "The patch was submitted without running the unit tests, and they are broken.",
    ),
    "sql injection": (
        "The query is concatenated from user input, which allows SQL injection.",
        "SQL injection: input of the form is concatenated into the query.",
        "No parameters in the SQL query; an attacker can inject code by the form's input.",
        "The SQL query takes unescaped input (injection).",
    ),
    "handover": (
        "{name} demanded a human, and was not transferred to the hotline.",
        "The call should have been transferred to a human colleague.",
        "No transfer to a human took place, although two conditions for it were met in round {r}.",
        "It refuses to transfer {name} to a human.",
        "Transfer to a human colleague is missing.",
    ),
}
NAMES = ("Ana", "Mr. Petrov", "Zhang Min", "Fatima Zahra", "Dr. Lindqvist", "Kwame", "Mrs. O'Hara", "Tomoko")
TOPICS = ("sleep", "billing", "soil erosion", "payments", "migraine", "caching", "coral reefs")
DAYS = ("14 March", "2025-06-01", "Friday", "3/11", "the 22nd")


def held_out(seed: int, runs: int = 600) -> tuple[list[RunRecord], list[str]]:
    """Return failed runs and the cause of each."""
    chance = random.Random(seed)
    records, causes = [], []
    for number in range(runs):
        cause = chance.choice(list(HELD_OUT))
        text = chance.choice(HELD_OUT[cause]).format(
            name=chance.choice(NAMES), topic=chance.choice(TOPICS), day=chance.choice(DAYS),
            n=chance.randrange(2, 5000), m=chance.randrange(2, 5000), r=chance.randrange(2, 30),
        )  # fmt: skip
        records.append(failed(number, chance, text))
        causes.append(cause)
    return records, causes
