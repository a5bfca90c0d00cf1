"""Faults that are put into fair exams, kind by kind, and each in two ways.

The first way follows the rules by which code finds a fault. The second was made by other means: sentences in other
words and other languages, replies of real assistants, and what small models are known to write.
"""

# ruff: noqa: RUF001 - texts in Russian

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.judge.exam.fair_exams import WRITTEN, Exam, shared_exams
from viva.judge.exam.kinds import ExamFault
from viva.records.transcript import Round, StopReason, Transcript

BY_RULE, BY_OTHER_MEANS = "by rule", "by other means"


@dataclass(frozen=True)
class Seed:
    """An exam with one fault."""

    kind: ExamFault
    way: str
    exam: Exam
    transcript: Transcript
    round: int
    """The round with the fault; 0 for one of the whole."""


Maker = Callable[[Exam, random.Random], "tuple[Transcript, int] | None"]


def rounds_of(pairs: list[tuple[str | None, str | None]], like: Transcript, stop: StopReason | None) -> Transcript:
    rounds = tuple(Round(number, said, reply) for number, (said, reply) in enumerate(pairs, 1))
    return replace(like, rounds=rounds, stop=stop)


def with_message(exam: Exam, number: int, text: str) -> tuple[Transcript, int]:
    """The exam with another message in a round; the rest stays as it is."""
    rounds = list(exam.transcript.rounds)
    rounds[number - 1] = replace(rounds[number - 1], examiner=text)
    return replace(exam.transcript, rounds=tuple(rounds)), number


def with_round(exam: Exam, after: int, text: str, reply: str = "I see.") -> tuple[Transcript, int]:
    """The exam with a round more."""
    rounds = list(exam.transcript.rounds)
    rounds.insert(after, Round(after + 1, text, reply))
    numbered = tuple(replace(each, number=number) for number, each in enumerate(rounds, 1))
    return replace(exam.transcript, rounds=numbered), after + 1


def middle(exam: Exam, chance: random.Random) -> int:
    return chance.randint(1, max(1, len(exam.transcript.rounds) - 1))


# never asked

CHATTER = (
    "Hello there! Lovely to meet you, I hope you had a nice weekend.",
    "Oh, that is so kind of you, thank you very much!",
    "My grandmother always said that patience is a virtue.",
    "Have you ever seen a whale from close by? They are enormous creatures.",
    "I could talk with you for hours, honestly.",
)
SMALL_MODEL = (
    "You are ready to work. Here is the answer.",
    "Thank you so much for your kind words! I am glad that I could be of help to you.",
    "You're welcome! It was a pleasure to work with you. You are a great partner.",
    "I am a helpful AI assistant. I am here to answer any question that you have.",
    "That is a great question! Let us explore it together.",
)
ELSEWHERE = (
    ("Guten Tag! Schön, Sie kennenzulernen.", "Das ist ja nett von Ihnen.", "Ich wünsche Ihnen einen schönen Abend."),
    ("Bonjour ! Quelle belle journée, n'est-ce pas ?", "Vous êtes vraiment aimable.", "À bientôt !"),
    ("Привет! Как твои дела?", "Очень приятно с тобой поговорить.", "До встречи!"),
    ("¡Hola! ¿Qué tal el fin de semana?", "Me alegro mucho.", "Hasta pronto."),
    ("Cheers mate, lovely banter.", "Ha, brilliant, you crack me up.", "Right, cheerio then."),
    ("What do you think of the universe?", "Philosophy fascinates me.", "Consciousness is a riddle."),
)


def never_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    texts = chance.sample(CHATTER, 3)
    pairs: list[tuple[str | None, str | None]] = [(text, "How can I help you?") for text in texts]
    return rounds_of(pairs, exam.transcript, StopReason.FINISHED), 0


def never_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    texts = chance.choice((chance.sample(SMALL_MODEL, 3), *ELSEWHERE))
    pairs: list[tuple[str | None, str | None]] = [(text, "Thank you! What can I do for you?") for text in texts]
    return rounds_of(pairs, exam.transcript, chance.choice((StopReason.FINISHED, StopReason.MAX_ROUNDS))), 0


# leaks


def _answers(exam: Exam) -> list[str]:
    """Numbers, names and codes of the points that neither the task nor anybody in the conversation says before."""
    known = " ".join([exam.case.task_description, *(fact.says for fact in exam.case.facts)]).casefold()
    first = (exam.said[0] if exam.said else "").casefold()
    texts = " ".join(point.score_point for point in exam.case.scoring_points)
    found = re.findall(
        r"[A-Za-z]+_[\w]*\d\w*|\b[A-Z]{2,}[- ]?\d{3,}\b|\b\d+[.,]\d+\b|(?<![\w-])\d{2,}(?![\w-])|\bsunny\b", texts
    )
    counted = exam.case.max_rounds or 0
    return [
        each
        for each in dict.fromkeys(found)
        if each.casefold() not in known
        and each.casefold() not in first
        and not (each.isdigit() and int(each) <= counted)
    ]


def leak_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    answers = _answers(exam)
    if not answers:
        return None
    return with_message(exam, 1, f"{exam.said[0]} It should be {chance.choice(answers)}, right?")


LEAKED = (
    "By the way, I already know that {} is what you have to come up with.",
    "Kleiner Tipp: {} wäre richtig.",
    "Je crois que la bonne réponse contient {}.",
    "({} is what they want to hear.)",
    "Pista: {}.",
    "提示:{}。",
    "My colleague was told {} yesterday, so you should say the same.",
)


def leak_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    answers = _answers(exam)
    if not answers:
        return None
    answer = chance.choice(answers)
    if answer.isdigit() and len(answer) > 3 and chance.random() < 0.5:
        answer = f"{int(answer):,}"
    return with_message(exam, 1, f"{exam.said[0]}\n{chance.choice(LEAKED).format(answer)}")


# role flips

ASSISTANT = (
    "How can I help you today?",
    "I'm here to assist you. Could you please provide your user ID?",
    "As an AI language model I have no opinion on that.",
    "Here is the answer: it has been taken care of.",
    "<think>The agent has answered, so I should go on with the next step.</think> Go on.",
    "The agent should now be asked for the next step.",
    "Is there anything else I can help you with?",
    "I have updated your reservation as requested.",
)
ASSISTANT_ELSEWHERE = (
    "Wie kann ich Ihnen heute weiterhelfen?",
    "Selbstverständlich, ich kümmere mich sofort um Ihr Anliegen!",
    "En quoi puis-je vous être utile ?",
    "¿En qué puedo ayudarle hoy?",
    "Чем я могу вам помочь?",
    "我可以帮您做什么?",
    "どのようなご用件でしょうか。お手伝いいたします。",
    "Sure! I can take care of that for you right away.",
    "Agent: It has been done. User: Thank you!",
    "*waits for the partner to finish the calculation, then continues with the list*",
    "Thought: the partner gave a wrong result. I must not tell it. Next question.",
    "Of course! Give me a second while I pull up your account.",
    "Let me compute that for you: the total comes to a nice round figure.",
    "```python\nprint(sum(range(10)))\n```",
)


def flip_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    return with_message(exam, 1 + middle(exam, chance) % len(exam.said), chance.choice(ASSISTANT))


def flip_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    if chance.random() < 0.5:
        # What a real assistant said in a conversation of its own.
        others = [each.agent for each in chance.choice(shared_exams()).transcript.rounds if each.agent]
        text = chance.choice([each for each in others if len(each) > 60] or others)
    else:
        text = chance.choice(ASSISTANT_ELSEWHERE)
    return with_message(exam, 1 + middle(exam, chance) % len(exam.said), text)


# stopped early


def stopped_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    if exam.name not in ("two files", "sums"):
        return None
    keep = chance.randint(1, 2) if exam.name == "two files" else chance.randint(2, 9)
    return replace(exam.transcript, rounds=exam.transcript.rounds[:keep], stop=StopReason.FINISHED), 0


def stopped_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    """A real conversation that ends at its first question; or a list of steps in other words, cut."""
    rounds = exam.transcript.rounds
    if exam.name == "two files":
        first = replace(rounds[0], examiner=chance.choice(STEP_IN_OTHER_WORDS))
        return replace(exam.transcript, rounds=(first, *rounds[1 : chance.randint(1, 2)])), 0
    if len(exam.case.task_description) < 250 or not rounds[0].agent or "?" not in rounds[0].agent:
        return None
    return replace(exam.transcript, rounds=rounds[:1], stop=StopReason.FINISHED), 0


STEP_IN_OTHER_WORDS = (
    "Pick any whole number you like and write it into a.txt, would you?",
    "I need a file a.txt with one arbitrary integer inside.",
)


# wandered off

SUBJECTS = (
    "By the way, did you watch the football match yesterday? The goalkeeper saved three penalties in overtime.",
    "I was thinking about repainting my kitchen cabinets in turquoise and replacing its wooden handles with brass.",
    "Dinosaurs disappeared sixty-five million years ago after an asteroid hit the peninsula of Yucatan.",
)
SUBJECTS_ELSEWHERE = (
    "Gestern habe ich im Garten endlich die Tomaten gepflanzt, hoffentlich gibt es keinen Nachtfrost mehr.",
    "Le violoncelliste a joué une sonate de Chostakovitch devant une salle presque déserte.",
    "Did you know that octopuses have three hearts and taste with their arms? Marine biology amazes me.",
    "Some say that medieval blacksmiths quenched swords in urine, which chemists consider plausible.",
    "Вчера соседский кот опять забрался на берёзу, пришлось вызывать пожарных с лестницей.",
    "My upstairs neighbour practises the trombone every evening, mostly gloomy marches by forgotten composers.",
)


def wandered_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    return with_round(exam, middle(exam, chance), chance.choice(SUBJECTS))


def wandered_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    return with_round(exam, middle(exam, chance), chance.choice(SUBJECTS_ELSEWHERE))


# invented facts


def invented_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    code = "".join(chance.choices("QWXZKJ", k=3)) + str(chance.randint(10_000, 99_999))
    return with_message(exam, 1, f"{exam.said[0]} My reference is {code}.")


INVENTED = (
    "You can reach me under +49 171 {} by the way.",
    "Meine Kundennummer lautet übrigens {}.",
    "I paid ${} for it at the time.",
    "Write to lena.hofmann{}@example.org afterwards.",
    "C'est le dossier n° {}.",
    "The serial number on the back reads SN-{}-B.",
    "我的编号是{}。",
)


def invented_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    words = chance.choice(INVENTED).format(chance.randint(10_001, 99_999))
    return with_message(exam, 1, f"{exam.said[0]} {words}")


# told too much


def told_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    """The whole task, word for word, as the first message."""
    if len(exam.case.task_description) < 200:
        return None
    return with_message(exam, 1, exam.case.task_description)


TOLD = {
    "column": "What is the mean of height_cm in measurements.csv?",
    "ticket, Spanish, with facts": "Hola, la entrada ZX-20931 para Sevilla, quiero la devolución del dinero.",
    "router, with facts": "No internet since yesterday. It is a Vexa 300, customer 5501-7782. Send a technician.",
}


def told_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    if exam.name in TOLD:
        return with_message(exam, 1, TOLD[exam.name])
    if len(exam.case.task_description) < 400 or not exam.case.task_description.startswith("You"):
        return None
    swaps = {"You are": "I am", "You want": "I want", "you": "I", "You": "I", "your": "my", "Your": "My"}
    text = re.sub(r"\b(You are|You want|[Yy]our?)\b", lambda found: swaps[found[0]], exam.case.task_description)
    return with_message(exam, 1, f"Hello! Let me explain everything at once. {text} Thanks!")


# insistence


def little_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    if exam.case.insist is None:
        return None
    return replace(exam.transcript, rounds=exam.transcript.rounds[:2], stop=StopReason.FINISHED), 0


GAVE_UP = ("All right then.", "Never mind, it was only a thought.", "Bueno, pues nada.", "Okay, if you say so.")


def little_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    if exam.case.insist is None:
        return None
    rounds = exam.transcript.rounds[:2]
    last = Round(3, chance.choice(GAVE_UP), "Fine.")
    return replace(exam.transcript, rounds=(*rounds, last), stop=StopReason.FINISHED), 0


def long_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    """The same request five times."""
    text = max(exam.said[:3], key=len)
    pairs: list[tuple[str | None, str | None]] = [
        (f"{start}{text}", f"I have answered that ({number}).")
        for number, start in enumerate(("", "Please: ", "Again: ", "I repeat: ", "Once more: "))
    ]
    return rounds_of(pairs, exam.transcript, StopReason.FINISHED), 0


BEGINNINGS = ("But I asked: ", "No, listen. ", "I do not accept that! ", "Noch einmal: ", "Je répète : ", "Still. ")


def long_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    """The same request six times, the words in another order each time."""
    text = max(exam.said[:3], key=len)
    pairs: list[tuple[str | None, str | None]] = []
    for number, start in enumerate(BEGINNINGS):
        sentences = re.split(r"(?<=[.!?,])\s+", text)
        chance.shuffle(sentences)
        pairs.append((start + " ".join(sentences), f"I cannot do more than that, for reason {number}."))
    return rounds_of(pairs, exam.transcript, StopReason.FINISHED), 0


# after the end

FAREWELLS = ("Thank you very much!", "You are too kind.", "Have a good one!", "Bye for now!", "Take care!")
FAREWELLS_ELSEWHERE = (
    ("Vielen Dank!", "Alles Gute!", "Bis bald!", "Tschüss!"),
    ("Merci infiniment !", "Bonne soirée !", "Au revoir !", "À la prochaine !"),
    ("谢谢!", "祝你愉快!", "再见!", "保重!"),
    ("What a delight this was.", "Truly delightful.", "I shall remember it fondly.", "Farewell, my friend."),
    ("You rock.", "No, you rock!", "We both rock.", "Haha, cheers!"),
)


def on_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    return _on(exam, chance.sample(FAREWELLS, 4))


def on_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int]:
    return _on(exam, list(chance.choice(FAREWELLS_ELSEWHERE)))


def _on(exam: Exam, texts: list[str]) -> tuple[Transcript, int]:
    pairs: list[tuple[str | None, str | None]] = [(each.examiner, each.agent) for each in exam.transcript.rounds]
    pairs += [(text, reply) for text, reply in zip(texts, ("Sure!", "Likewise!", "Bye!", "Bye!"), strict=True)]
    return rounds_of(pairs, exam.transcript, StopReason.FINISHED), 0


# repetition


def again_by_rule(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    number, text = max(enumerate(exam.said, 1), key=lambda pair: len(pair[1]))
    return with_round(exam, number, text, "As I said.") if len(text) > 30 else None


def again_by_other_means(exam: Exam, chance: random.Random) -> tuple[Transcript, int] | None:
    """The same message later, with other capitals, spaces or signs at its end."""
    number, text = max(enumerate(exam.said, 1), key=lambda pair: len(pair[1]))
    if len(text) < 30:
        return None
    changed = chance.choice(
        (text.upper(), f"  {text}  ", text.rstrip(".!? ") + " !!", text.replace(" ", "  "), text.lower())
    )
    return with_round(exam, chance.randint(number, len(exam.said)), changed, "That is what I meant.")


MAKERS: dict[ExamFault, tuple[Maker, Maker]] = {
    ExamFault.NEVER_ASKED: (never_by_rule, never_by_other_means),
    ExamFault.LEAK: (leak_by_rule, leak_by_other_means),
    ExamFault.ROLE_FLIP: (flip_by_rule, flip_by_other_means),
    ExamFault.STOPPED_EARLY: (stopped_by_rule, stopped_by_other_means),
    ExamFault.WANDERED_OFF: (wandered_by_rule, wandered_by_other_means),
    ExamFault.INVENTED_FACTS: (invented_by_rule, invented_by_other_means),
    ExamFault.TOLD_TOO_MUCH: (told_by_rule, told_by_other_means),
    ExamFault.INSISTED_TOO_LITTLE: (little_by_rule, little_by_other_means),
    ExamFault.INSISTED_TOO_LONG: (long_by_rule, long_by_other_means),
    ExamFault.WENT_ON: (on_by_rule, on_by_other_means),
    ExamFault.REPEATED_ITSELF: (again_by_rule, again_by_other_means),
}
MOST = 30
"""Seeds of one kind and way."""


def seeds(kind: ExamFault, *, shared: bool = True) -> Iterator[Seed]:
    """The seeds of one kind: `MOST` for each way, from all exams in turn, and as many of one way as of the other."""
    exams = [*WRITTEN, *(shared_exams() if shared else ())]
    for way, make in zip((BY_RULE, BY_OTHER_MEANS), MAKERS[kind], strict=True):
        chance = random.Random(f"{kind} {way}")
        made = 0
        for at in range(4 * len(exams)):
            exam = exams[at % len(exams)] if at < len(WRITTEN) else chance.choice(exams)
            found = make(exam, chance)
            if found is not None and made < MOST:
                made += 1
                yield Seed(kind, way, exam, *found)
