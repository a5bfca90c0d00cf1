"""Fair exams to put faults into: the 100 shared conversations, and some that were written for these tests."""

# ruff: noqa: RUF001 - texts in Russian

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.recordings import tau_conversations
from viva.cases import bundled, find_case, load_cases
from viva.cases.case import Case, ScoringPoint
from viva.cases.person import Insistence, UserFact
from viva.records.transcript import Round, StopReason, Transcript


@dataclass(frozen=True)
class Exam:
    """A case and a conversation about it."""

    name: str
    case: Case
    transcript: Transcript

    @property
    def said(self) -> list[str]:
        return [each.examiner or "" for each in self.transcript.rounds]


def case_of(task: str, *points: str | tuple[str, str], **more: Any) -> Case:
    """A case of which only what the examiner's judge reads is given; a point may have a check."""
    made = [(point, None) if isinstance(point, str) else point for point in points]
    scoring = tuple(ScoringPoint(f"p{number}", text, 1.0, code) for number, (text, code) in enumerate(made))
    more.setdefault("file", Path("case.yaml"))
    return Case(name="case", hash=f"{task}{points}", task_description=task, scoring_points=scoring, **more)


def talk(*turns: tuple[str, str], stop: StopReason | None = StopReason.FINISHED) -> Transcript:
    """A conversation of pairs of a message and its reply."""
    return Transcript(tuple(Round(number, said, reply) for number, (said, reply) in enumerate(turns, 1)), stop=stop)


@functools.cache
def shared_exams() -> tuple[Exam, ...]:
    """The shared conversations, with what their agent had to do as scoring points."""
    found = []
    for number, each in enumerate(tau_conversations()):
        task = each.transcript.attributes["recording"]["info"]["task"]
        points = [_statement(action) for action in task["actions"]]
        points += [f'The agent tells the user "{output}".' for output in task["outputs"]]
        found.append(Exam(f"shared {number}", case_of(task["instruction"], *points), each.transcript))
    return tuple(found)


def bundled_exams() -> Iterator[Exam]:
    """The bundled cases, asked by their scripts: with all messages, and with the first alone."""
    for case in (case for name in bundled() for case in load_cases(find_case(name))):
        said = [message for line in case.script for message in line.messages()]
        for number in {1, len(said)} if case.max_rounds is None else {len(said)}:
            turns = [(message, "All right.") for message in said[:number]]
            if number == len(said) or not case.task_description.startswith("The task is to send 3"):
                yield Exam(f"{case.name}, {number} messages", case, talk(*turns))


def _statement(action: Mapping[str, Any]) -> str:
    given = action["kwargs"]
    flights = [flight["flight_number"] for flight in given.get("flights", ())]
    paid = [each["payment_id"] for each in given.get("payment_methods", ())]
    plain = [f"{name} {value}" for name, value in given.items() if isinstance(value, str | int)]
    return f"The agent calls {action['name']} with {', '.join([*plain, *flights, *paid])}."


WRITTEN: tuple[Exam, ...] = (
    Exam(
        "weather",
        case_of(
            "Ask the agent what the weather is today. You are in New York.\nIf the agent asks where you are, or "
            "whether you mean New York, tell it that you are in New York.\nThe agent has a weather report for New York "
            "at hand.",
            ("The agent says that it is sunny today.", 'assert "sunny" in chat_history[-1].content'),
        ),
        talk(("What's the weather like today?", "Where are you?"), ("In New York.", "It is sunny in New York.")),
    ),
    Exam(
        "column",
        case_of(
            "The agent has a file 'measurements.csv' in its working folder. Ask it for the mean of a column of that "
            "file.\nDo not name the column in your first message. When the agent asks which column, say that it is "
            "'height_cm'.",
            ("The agent reports that the mean of 'height_cm' is 171.25.", "assert abs(mean - 171.25) < 0.005"),
            data_files=("measurements.csv",),
        ),
        talk(
            ("Please tell me the mean of one of the columns in measurements.csv.", "Which column do you mean?"),
            ("height_cm, please.", "The mean of height_cm is 171.25."),
        ),
    ),
    Exam(
        "two files",
        case_of(
            "The task is to send 3 requests one-by-one and get the agent responses, no need to check the response "
            "content:\n1. generate 1 random integer number and save it to a file named 'a.txt', just tell me if the "
            "task is done\n2. tell me a random joke\n3. save the previously generated random number to a file named "
            "'b.txt', just tell me if the task is done",
            "The two files 'a.txt' and 'b.txt' should contain the same number",
        ),
        talk(
            ("Generate a random integer and save it to a.txt. Just tell me if it's done.", "Done."),
            ("Now tell me a random joke.", "Why did the chicken cross the road? To get to the other side."),
            ("Save the number you generated before to b.txt, and tell me if that's done.", "Done."),
        ),
    ),
    Exam(
        "sums",
        case_of(
            "The task has many rounds. The initial total sum is 0.\nStarting from round 1 to round 12, you should ask "
            "the agent to add the current round number to the total sum.\nThe agent should keep track of the sum.",
            "The agent succeeds in 12 rounds, the sum should be 78.",
            "The agent succeeds in 9 rounds, the sum should be 45.",
            max_rounds=12,
        ),
        talk(
            *((f"Round {n}: please add {n} to the total sum.", f"The sum is {n * (n + 1) // 2}.") for n in range(1, 13))
        ),
    ),
    Exam(
        "echo",
        case_of(
            'Ask the agent to say the word "GUTENBERG" back to you, and nothing else.',
            'The agent\'s last reply is the word "GUTENBERG" and nothing else.',
        ),
        talk(("Say the word GUTENBERG back to me, nothing else please.", "GUTENBERG")),
    ),
    Exam(
        "train, German",
        case_of(
            "Du möchtest eine Zugverbindung von Leipzig nach Innsbruck für den kommenden Freitag erfragen, mit Fahrrad "
            "und ohne Umstieg in München. Frage danach, was die Fahrradkarte kostet, und lass dir die Verbindung "
            "schriftlich zusammenfassen.",
            "Die Fahrradkarte kostet 17,90 Euro.",
            "Der Agent nennt den Zug RJX 662.",
        ),
        talk(
            ("Hallo, ich suche eine Zugverbindung von Leipzig nach Innsbruck am Freitag.", "Mit oder ohne Gepäck?"),
            ("Mit einem Fahrrad, und bitte ohne Umstieg in München.", "Der RJX 662 fährt um 9:15 Uhr."),
            ("Was kostet denn die Fahrradkarte?", "Sie kostet 17,90 Euro."),
            (
                "Kannst du mir die Verbindung bitte noch schriftlich zusammenfassen?",
                "Gern: Freitag, 9:15 Uhr, RJX 662.",
            ),
        ),
    ),
    Exam(
        "recipe, French",
        case_of(
            "Demandez à l'agent une recette de tarte aux poireaux pour six personnes, sans crème. Vous avez un four à "
            "chaleur tournante. Demandez ensuite combien de temps la tarte se conserve au réfrigérateur.",
            "L'agent répond que la tarte se conserve 72 heures.",
        ),
        talk(
            ("Bonjour, il me faudrait une recette de tarte aux poireaux, sans crème.", "Pour combien de personnes ?"),
            ("Pour six personnes. J'ai un four à chaleur tournante.", "Faites revenir les poireaux, puis ..."),
            ("Et combien de temps la tarte se conserve-t-elle au réfrigérateur ?", "Environ 72 heures."),
        ),
    ),
    Exam(
        "library, Russian",
        case_of(
            "Вы хотите продлить в библиотеке книгу «Мастер и Маргарита», номер билета LB-4471. Узнайте, можно ли "
            "продлить её ещё на две недели и какой будет штраф за опоздание.",
            "Штраф составляет 35 рублей в день.",
        ),
        talk(
            ("Здравствуйте! Хочу продлить книгу «Мастер и Маргарита».", "Назовите номер билета."),
            ("Номер билета LB-4471. Можно продлить на две недели?", "Да, до 14 мая."),
            ("А какой штраф за опоздание?", "35 рублей в день."),
        ),
    ),
    Exam(
        "hotel, Chinese",
        case_of(
            "你想在杭州西湖附近订一间双人房,住两晚,要含早餐。请代理推荐一家酒店,并询问取消预订的规定。",
            "代理推荐湖滨大酒店,价格是688元。",
        ),
        talk(
            ("你好,我想在西湖附近订一间双人房。", "请问住几晚?"),
            ("住两晚,要含早餐。", "湖滨大酒店,每晚688元。"),
            ("取消预订有什么规定?", "入住前一天可以免费取消。"),
        ),
    ),
    Exam(
        "parcel, Japanese",
        case_of(
            "荷物が届かないので問い合わせてください。追跡番号は「JP5582310」です。再配達を土曜日の午前中に頼んでください。",
            "エージェントは受付番号8841を伝える。",
        ),
        talk(
            ("荷物がまだ届かないのですが、確認していただけますか。追跡番号はJP5582310です。", "確認しました。"),
            ("では、再配達を土曜日の午前中にお願いします。", "承りました。受付番号は8841です。"),
        ),
    ),
    Exam(
        "ticket, Spanish, with facts",
        case_of(
            "Quieres devolver una entrada de concierto y recuperar el dinero. Pide la devolución e insiste si el "
            "agente la rechaza.",
            "El agente ofrece un vale de 46 euros.",
            facts=(
                UserFact("El concierto es el 12 de octubre en Sevilla.", "start"),
                UserFact("La entrada tiene el código ZX-20931.", "asked"),
                UserFact("Compraste la entrada a un revendedor llamado Taquilla Barata.", "never"),
            ),
            insist=Insistence("la devolución del dinero de la entrada", 2),
        ),
        talk(
            ("Quiero devolver una entrada para el concierto del 12 de octubre en Sevilla.", "¿Cuál es el código?"),
            ("El código es ZX-20931.", "Lo siento, no se admiten devoluciones."),
            ("Necesito que me hagan la devolución del dinero de la entrada.", "Solo puedo darle un vale de 46 euros."),
            ("Insisto en la devolución del dinero.", "Lo siento, no es posible."),
        ),
    ),
    Exam(
        "router, with facts",
        case_of(
            "Your internet connection is down since yesterday evening and you want a technician to come. Ask for a "
            "visit, and keep asking for one even if the agent proposes to restart the router.",
            'The agent books a visit under the ticket "TK-90817".',
            facts=(
                UserFact("The router is a Vexa 300 with a red light.", "asked"),
                UserFact("Your customer number is 5501-7782.", "asked"),
                UserFact("You opened the casing of the router with a screwdriver.", "never"),
            ),
            insist=Insistence("a visit of a technician", 3),
        ),
        talk(
            (
                "Hi, my internet has been down since yesterday evening. I'd like a technician to visit.",
                "Which router is it?",
            ),
            ("It's a Vexa 300, and it shows a red light.", "Please restart it. Your customer number?"),
            ("5501-7782. I'd still like a technician to come for a visit.", "Have you tried a restart?"),
            ("Yes. So please arrange the visit of a technician.", "Booked for Monday under TK-90817."),
        ),
    ),
)
