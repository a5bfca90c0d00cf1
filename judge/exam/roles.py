"""Recognises an examiner that speaks as the assistant, solves the task, or thinks aloud.

What shows it in any language are labels in front of a turn, marks of thinking, code, and the agent's own words. Beside
them stand the usual sentences of assistants in several languages.
"""

from __future__ import annotations

import re

from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.messages import Message, Talk, sentence_with
from viva.judge.exam.paper import Paper

SHOWN = 4_000
"""Number of characters of a message that are searched for sentences."""
COPIED = 60
"""Minimum number of characters that an examiner's message and the agent's reply have in common to be a copy."""

_STRUCTURE = re.compile(
    r"</?think(?:ing)?>|<\|[a-z_]+\|>|\[/?inst\]|^\s*(?:ai|agent|assistant|assistent|asistente|assistente|examiner|bot|"
    r"system|\u52a9\u624b|\u52a9\u7406|\u52a9\u624b|ассистент|агент)\s*[:\uff1a]|^\s*[*(\[][^*()\[\]]{12,200}[*)\]]\s*$|"
    r"^\s*(?:final )?(?:answer|antwort|réponse|respuesta|risposta|resposta|ответ|\u7b54\u6848|\u56de\u7b54)\s*[:\uff1a]",
    re.M,
)
_CODE = re.compile(r"```|^\s*(?:[-*] |\d+\. )?\*\*[^*\n]{2,60}\*\*|^\s*(?:def |import |print\(|SELECT |#include)", re.M)
_TRIGGERS = frozenset(
    [
        "help",
        "assist",
        "welcome",
        "please",
        "know",
        "assistance",
        "support",
        "serve",
        "service",
        "ai",
        "assistant",
        "model",
        "answer",
        "result",
        "results",
        "solution",
        "summary",
        "sum",
        "reservation",
        "booking",
        "booked",
        "request",
        "order",
        "your",
        "you",
        "agent",
        "user",
        "i'd",
        "i'll",
        "i've",
        "happy",
        "glad",
        "gladly",
        "questions",
        "ask",
        "task",
        "helfen",
        "behilflich",
        "antwort",
        "ergebnis",
        "ki",
        "assistent",
        "ihre",
        "ihnen",
        "ihr",
        "deine",
        "aider",
        "assister",
        "réponse",
        "résultat",
        "ia",
        "votre",
        "vous",
        "ayudar",
        "ayudarle",
        "ayudarte",
        "respuesta",
        "resultado",
        "su",
        "aiutare",
        "aiutarla",
        "aiutarti",
        "risposta",
        "risultato",
        "ajudar",
        "ajudá",
        "resposta",
        "helpen",
        "antwoord",
        "resultaat",
        "uw",
        "pomóc",
        "odpowiedź",
        "wynik",
        "hjälpa",
        "svaret",
        "yardımcı",
        "cevap",
        "помочь",
        "ответ",
        "результат",
        "ваш",
        "вам",
        "вас",
        "agenten",
        "agente",
        "benutzer",
        "usuario",
        "utente",
        "utilisateur",
    ]
)
_ENGLISH = (
    r"how (?:can|may|could|might|shall) (?:i|we) (?:help|assist|support|serve|be of)\b",
    r"what (?:can|could|may) i (?:help|assist|do for you)\b",
    r"\b(?:i am|i'm|we are|we're) (?:always |just |ready and )?here to (?:help|assist|support|answer)\b",
    r"\b(?:as|i am|i'm|being) (?:just |only )?an? (?:(?:helpful|virtual|friendly) )?"
    r"(?:ai|assistant|(?:large )?language model|chatbot|artificial)\b",
    r"\banything (?:else|more) (?:that )?(?:i|we) (?:can|could|may) (?:help|assist|do for you)\b",
    r"\bif you (?:have|need|require) (?:any )?(?:further|more|other|additional|any) ?(?:questions|assistance|help|info)",
    r"\b(?:feel free|don't hesitate|do not hesitate) to (?:ask|reach|contact|let me know)\b",
    r"\b(?:here is|here's|here are|this is|below is|below are) (?:the|your|an?|my|some) (?:\w+ ){0,2}"
    r"(?:answer|answers|result|results|solution|summary|list|details|breakdown|code|report|options)\b",
    r"\b(?:i'd|i would|i'll|i will|i'm|i am|would) (?:be )?(?:more than )?(?:happy|glad|delighted) to (?:help|assist|do)\b",
    r"\b(?:provide|confirm|share|verify|send) (?:me |us )?(?:with )?your (?!policy|answer|result|reply|response|work)\w+",
    r"\b(?:could|can|may|would) (?:i|you) (?:please )?(?:have|get|give me|tell me) your (?:full )?"
    r"(?:name|user|id|e-?mail|date|reservation|booking|account|address|phone|number)\b",
    r"\bi(?:'ve| have) (?:now |just |already |successfully )?\w+(?:ed|ent|ade|ound|ut|one) "
    r"(?:\w+ ){0,4}your (?!website|policy|help|message|reply|answer|terms|advice)\w+",
    r"\byour (?:\w+ ){0,3}(?:has|have) (?:now |been |successfully )+\w+",
    r"\bi(?:'ll| will| can| am going to) (?:now |go ahead and |gladly )?(?:book|cancel|update|check|look|process|transfer|"
    r"calculate|compute|find|search|add|create|prepare|write|explain|arrange|handle|assist|help) "
    r"(?:\w+ ){0,5}(?:for you|you with|your)\b",
    r"\b(?:would you like|would you prefer|do you want me to|do you wish to)\b|\byou're (?:very )?welcome\b",
    r"\bplease provide (?:the|me|more|additional|any)\b|\blet me know (?:which|how you|when you're|if you'd|if you would)\b",
    r"\b(?:to|ready to|able to|can|i'll|gladly) (?:assist|help) you\b|\bi'll need (?:your|the following)\b",
    r"\bi (?:can't|cannot|can not|am unable to|'m unable to) (?:assist|help|process|provide|directly)\b",
    r"\b(?:the )?(?:answer|result|total|sum|solution|mean|correct answer) (?:is|would be|equals|should be|comes to|=)\s*:?\s*"
    r"[*_]*[-\d]",
    r"\bthank you for (?:reaching out|contacting|choosing|your (?:question|request|inquiry|interest|business))\b",
    r"\bthe user (?:wants?|is |asks?|asked|said|needs?|has|would)\b",
    r"\bthe agent (?:has|had|did|didn't|should|needs?|is|was|just|replied|answered|asked|asks|said|says|wants|seems|gave|"
    r"will|failed|responded)\b",
    r"\bi (?:should|need to|must|have to|will|am supposed to)(?: now| next| then)? "
    r"(?:ask|tell|instruct|test|examine|evaluate|prompt) (?:the|it|them|for the next)\b",
    r"\b(?:my|the|this) (?:next )?(?:task description|instructions?|exam|role) (?:is|are|says?|said|tells?|requires?)\b",
    r"\bas (?:the|an) examiner\b|\bi(?:'m| am) the examiner\b|\blet me think\b|\bstep by step\b.*\bfirst\b",
)
_OTHERS = (
    # German
    r"(?:wie|womit|was) (?:kann|darf|könnte) ich (?:ihnen|dir|euch|für sie|für dich)\b",
    r"\b(?:kann|darf) ich (?:ihnen|dir) (?:sonst|noch|weiter|behilflich|helfen)",
    r"\b(?:ihnen|dir) (?:gerne |gern )?(?:weiter)?(?:zu )?(?:helfen|behilflich)",
    r"\bhier (?:ist|sind|kommt) (?:die|das|der|ihre?|deine?|meine) (?:\w+ )?(?:antwort|ergebnis|lösung|zusammenfassung)",
    r"\b(?:die|das) (?:antwort|ergebnis|summe|lösung|gesamtsumme|mittelwert) (?:ist|lautet|beträgt)\b",
    r"\bals (?:ki|künstliche|sprachmodell|assistent|ki-\w+)\b|\bich bin (?:ein|eine|ihr) (?:ki|assistent|virtuell|sprach)",
    r"\bich habe (?:\w+ ){0,3}(?:ihre|ihren|deine|deinen) (?:\w+ ){0,3}\w*(?:gebucht|storniert|geändert|erstellt|gespeichert)",
    r"\bder (?:agent|benutzer|nutzer) (?:hat|ist|soll|will|möchte|fragt|antwortet)\b|\bich (?:muss|soll|sollte) (?:jetzt |nun )?den agenten\b",
    # French
    r"\b(?:comment|en quoi|que) (?:puis-je|pourrais-je) (?:vous|t'|t\u2019)",
    r"\b(?:voici|voilà) (?:la|le|votre|ma|les|vos) (?:\w+ )?(?:réponse|résultat|solution|résumé|réponses|résultats)",
    r"\b(?:en tant qu'|en tant qu\u2019|je suis )(?:une? )?(?:ia|assistante?|intelligence|modèle)",
    r"\bla (?:réponse|somme|solution) est\b|\ble (?:résultat|total) est\b|\bn'hésitez pas\b|\bl'agent (?:a|doit|est|répond|demande)\b",
    r"\bje (?:peux|vais|suis là pour) (?:\w+ ){0,2}vous (?:aider|assister)|\bj'ai (?:\w+ ){1,3}(?:votre|vos) ",
    # Spanish
    r"\b(?:cómo|como|en qué|en que) (?:puedo|podría) (?:ayudar|servir|asistir)",
    r"\baquí (?:está|tiene|tienes|va) (?:la|el|su|tu|los|las) (?:\w+ )?(?:respuesta|resultado|solución|resumen)",
    r"\b(?:como|soy) (?:una? )?(?:ia|asistente|inteligencia|modelo de lenguaje)\b",
    r"\b(?:la respuesta|el resultado|la suma|el total|la solución) es\b|\bel (?:agente|usuario) (?:ha|debe|quiere|dice|pregunta|respondió)\b",
    r"\b(?:estoy aquí para|puedo) ayudar(?:te|le|los)\b|\bno dude en\b|\bhe \w+do (?:su|tu) ",
    # Italian, Portuguese
    r"\bcome posso (?:aiutar|esser)|\bin cosa posso\b|\becco (?:la|il|i|le) (?:\w+ )?(?:risposta|risultat|soluzione)",
    r"\b(?:la risposta|il risultato|la somma|il totale) è\b|\bsono (?:un|una|il tuo) (?:assistente|ia|intelligenza)\b",
    r"\bcomo posso (?:ajud|lhe)|\bem que posso\b|\baqui está (?:a|o|sua|seu) (?:\w+ )?(?:resposta|resultado|solução)",
    r"\b(?:a resposta|o resultado|a soma|o total) é\b|\b(?:sou|como) (?:um|uma) (?:assistente|ia|inteligência|modelo)\b",
    # Dutch, Polish, Swedish, Turkish
    r"\b(?:hoe|waarmee) kan ik (?:u|je|jou)\b|\bhier is (?:het|uw|je) (?:antwoord|resultaat)|\bhet antwoord is\b",
    r"\bw czym mog(?:ę|e) pomóc|\bjak mog(?:ę|e) (?:ci |panu |pani )?pomóc|\boto (?:odpowiedź|wynik)|\b(?:odpowiedź|wynik) to\b",
    r"\b(?:hur|vad) kan jag (?:hjälpa|göra)|\bhär är (?:svaret|resultatet)|\bsvaret är\b|\bnasıl yardımcı olabilirim|\bişte (?:cevap|sonuç)",
    # Russian
    r"\b(?:чем|как) (?:я )?(?:могу|мог бы) (?:я )?(?:вам |тебе )?(?:помочь|быть)|\bвот (?:ваш |твой )?(?:ответ|результат|решение)",
    r"\b(?:ответ|сумма|результат|итог)\s*(?::|—|-|равен|равна|составляет)\s*[-\d]|\bя (?:—|-) (?:ии|искусственный|ассистент|помощник)",
    r"\b(?:агент|пользователь) (?:должен|хочет|ответил|спрашивает|спросил|просит)",
)
_SIGNS = (
    # Chinese, Japanese, Korean, Arabic
    "我能帮", "我可以帮", "可以帮您", "可以帮你", "能为您", "能为你", "为您服务", "為您服務", "答案是", "结果是", "結果是",
    "作为一个ai", "作为ai", "作为人工智能", "我是ai", "我是一个ai", "我是人工智能", "以下是答案", "这是答案", "总和是",
    "お手伝い", "ご用件", "答えは", "結果は以下", "合計は", "私はai", "aiアシスタント", "お答えします", "いかがいたしましょう",
    "도와드릴", "도와 드릴", "답은", "정답은", "결과는 다음", "저는 ai", "كيف يمكنني مساعدتك", "كيف أساعدك", "الإجابة هي",
    "النتيجة هي",
)  # fmt: skip
_SENTENCES = re.compile("|".join(f"(?:{each})" for each in (*_ENGLISH, *_OTHERS)), re.M)


def role_flips(talk: Talk, paper: Paper) -> list[Finding]:
    """Return each message in which the examiner left its role."""
    if paper.plays:  # a strategy may pretend to be somebody else
        return []
    found = []
    for message in talk.messages:
        words, reason = _flipped(message, talk, paper)
        if reason:
            quote = sentence_with(message.text, words)
            found.append(Finding(ExamFault.ROLE_FLIP, message.round, quote, reason))
    return found


def _flipped(message: Message, talk: Talk, paper: Paper) -> tuple[str, str]:
    """Return the words that show that a message is not a user's, and the reason; both empty if it is one."""
    text = message.text
    if not text:
        return "", ""
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}\n{text[-SHOWN // 2 :]}"
    lower = text.casefold()
    known = paper.text
    # Each structure needs one of these signs.
    if (":" in lower or "<" in lower or "[" in lower or "*" in lower or "(" in lower or not lower.isascii()) and (
        found := _STRUCTURE.search(lower)
    ):
        if found[0].strip() not in known:
            return found[0].strip(), "it writes a turn, a thought or an answer in somebody else's name"
    if ("`" in text or "\n" in text or "**" in text) and (code := _CODE.search(text)) and not _CODE.search(known):
        return code[0].strip(), "it writes code or formatted text as an assistant does, although the task gives none"
    if not _TRIGGERS.isdisjoint(message.words.tokens):
        said = _SENTENCES.search(lower.replace("\u2019", "'"))
        if said is not None and said[0] not in known:
            return said[0], "it speaks as the assistant, or about the agent, and not as the user"
    if not lower.isascii() and (sign := next((each for each in _SIGNS if each in lower), None)) and sign not in known:
        return sign, "it speaks as the assistant, and not as the user"
    if len(lower) >= COPIED:
        before = talk.reply(message.round - 1)
        if before and (lower[:COPIED] in before or lower[-COPIED:] in before) and lower[:COPIED] not in known:
            return lower[:COPIED], "it repeats the agent's own words as if they were the user's"
    return "", ""
