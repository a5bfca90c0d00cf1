"""Frequent words of some languages: they carry no fact of a task, and show which language a text is in."""

from __future__ import annotations

from functools import cache

from viva.judge.exam.stems import stem

_WORDS = {
    "en": "a an the and or but if then that this these those there here it its is are was were be been am do does did "
    "have has had will would can could should may might must shall not no yes of to in on at for from with without by "
    "about into over after before as so than too very just only also more most much many some any all each every other "
    "another same i me my mine you your yours he him his she her they them their we us our who whom what which when "
    "where why how please thank thanks help helps helping want wants wanted need needs like likes know knows tell "
    "tells told ask asks asked asking say says said give gives given get gets got make makes made take takes go goes "
    "going come comes see look let lets use uses used using try work works working answer answers question questions "
    "agent agents assistant user task tasks message messages first last next step steps good great sure right ready "
    "well okay hello hi today now again still back thing things something anything nothing everything else way time "
    "able possible information details assist assistance happy glad welcome sorry understand really think wait word "
    "words proceed provide reply replies respond response request requests currently already however because while "
    "your yourself myself until unless whether since between both few lot bit one two three appreciate hope wonderful "
    "talk conversation fine nice keep doing done start start begin end ends further perfect interesting feel free "
    "kind matter best better long little quite maybe perhaps forward support sounds start day dear having being",
    "de": "der die das den dem des ein eine einen einem einer und oder aber wenn dann dass ist sind war waren sein bin "
    "hat haben habe hatte wird werden würde kann können könnte soll sollen muss nicht kein keine ja nein von zu zum "
    "zur in im auf an am für mit ohne bei über nach vor aus als wie so sehr nur auch noch mehr alle jede jeder andere "
    "ich mich mir mein meine du dich dir dein deine sie ihnen ihr ihre ihren er es wir uns unser wer was welche wann "
    "wo warum bitte danke hilfe helfen möchte will brauche sagen sage sagt fragen frage antwort gut gerne bereit hallo "
    "heute jetzt wieder etwas nichts alles agent nutzer aufgabe schritt wissen machen mache geben",
    "fr": "le la les un une des du de et ou mais si alors que qui ce cette ces est sont était être suis ai as a avez "
    "ont avoir fait faire peut peux pouvez pourriez dois doit ne pas non oui à au aux en dans sur pour avec sans par "
    "plus très aussi tout tous toute autre je me moi mon ma mes tu te toi ton ta tes vous votre vos il elle nous notre "
    "ils elles leur quoi quel quelle quand où pourquoi comment merci aide aider veux voudrais besoin dire dites "
    "demander demande question réponse bien bon bonjour aujourd'hui maintenant encore quelque chose rien agent "
    "utilisateur tâche étape savoir donner s'il plaît",
    "es": "el la los las un una unos de del y o pero si que este esta estos es son era ser soy estoy está he ha han "
    "tiene tener hacer puede puedo podría debe no sí a al en por para con sin más muy también todo todos otro yo me mi "
    "mis tú te tu tus usted su sus él ella nosotros nos qué quién cuál cuándo dónde cómo gracias ayuda ayudar quiero "
    "necesito decir diga dígame preguntar pregunta respuesta bien bueno hola hoy ahora algo nada agente usuario tarea "
    "paso saber dar favor porque",
    "it": "il lo la i gli le un una di del della e o ma se che questo questa è sono era essere ho ha hanno avere fare "
    "può posso potrebbe deve non sì a al in nel su per con senza più molto anche tutto tutti altro io mi mio mia tu ti "
    "tuo tua lei suo sua noi ci voi chi cosa quale quando dove come grazie aiuto aiutare voglio vorrei bisogno dire "
    "dimmi chiedere domanda risposta bene buono ciao oggi ora qualcosa niente agente utente compito passo sapere dare "
    "favore perché",
    "pt": "o a os as um uma de do da dos e ou mas se que este esta isto é são era ser sou estou está tem ter fazer "
    "pode posso poderia deve não sim ao em no na por para com sem mais muito também tudo todos outro eu me meu minha "
    "você seu sua ele ela nós nos quem qual quando onde como obrigado obrigada ajuda ajudar quero preciso dizer diga "
    "perguntar pergunta resposta bem bom olá hoje agora algo nada agente usuário tarefa passo saber dar favor porque",
    "nl": "de het een en of maar als dan dat dit deze is zijn was waren ben heeft hebben heb wordt worden kan kunnen "
    "zou moet niet geen ja nee van naar in op aan voor met zonder bij over na uit zo zeer ook nog meer alle elke ander "
    "ik mij me mijn jij je jou jouw u uw hij zij wij ons wie wat welke wanneer waar waarom hoe alstublieft dank bedankt "
    "help helpen wil nodig zeggen vragen vraag antwoord goed graag hallo vandaag nu iets niets alles taak stap weten",
    "pl": "i w na z do od dla o po za przez nie tak jest są był być mam ma mieć może mogę proszę dziękuję to ten ta te "
    "że co kto który kiedy gdzie jak dlaczego ja mnie mi mój moja ty ciebie twój pan pani on ona my nas wy ich się "
    "bardzo też tylko wszystko inny pomoc pomóc chcę chciałbym potrzebuję powiedz pytanie odpowiedź dobrze dzień dobry "
    "dzisiaj teraz coś nic agent zadanie krok wiedzieć",
    "sv": "och eller men om att det den de en ett är var vara har hade ska kan skulle måste inte ja nej av till i på "
    "för med utan från som så mycket också mer alla annan jag mig min mitt du dig din ditt han hon vi oss ni vem vad "
    "vilken när var varför hur tack hjälp hjälpa vill behöver säga fråga svar bra hej idag nu något inget uppgift steg",
    "tr": "ve veya ama bir bu şu o da de için ile mi ne kim hangi nerede nasıl neden ben bana benim sen sana senin siz "
    "sizin biz var yok evet hayır lütfen teşekkür teşekkürler yardım istiyorum gerek söyle soru cevap iyi merhaba bugün "
    "şimdi daha çok olarak görev adım",
    "ru": "и в на с к от до для о по за из не нет да это этот эта эти то что кто который когда где как почему я меня "
    "мне мой моя ты тебя тебе твой вы вас вам ваш он она мы нас наш они их был быть есть может могу можно нужно хочу "
    "пожалуйста спасибо помощь помочь скажи скажите вопрос ответ хорошо привет здравствуйте сегодня сейчас ещё очень "
    "тоже только всё другой агент задача шаг знать если бы",
}
LANGUAGE_NAMES = frozenset(
    [
        "english",
        "german",
        "french",
        "spanish",
        "italian",
        "portuguese",
        "dutch",
        "polish",
        "swedish",
        "turkish",
        "russian",
        "chinese",
        "japanese",
        "korean",
        "arabic",
        "hebrew",
        "greek",
        "hindi",
        "mandarin",
        "deutsch",
        "englisch",
        "französisch",
        "français",
        "anglais",
        "allemand",
        "español",
        "inglés",
        "alemán",
        "italiano",
        "português",
        "nederlands",
        "polski",
        "русский",
        "английский",
        "中文",
        "英文",
        "日本語",
        "英語",
        "한국어",
        "language",
        "sprache",
        "langue",
        "idioma",
        "lingua",
        "taal",
        "język",
        "язык",
    ]
)
"""Words that announce that somebody speaks another language than the task's text."""


@cache
def common_words() -> frozenset[str]:
    """Return the words of all languages, and their stems."""
    words = {word for text in _WORDS.values() for word in text.split()}
    return frozenset(words | {stem(word) for word in words if len(word) > 3})


@cache
def _by_language() -> dict[str, frozenset[str]]:
    return {language: frozenset(text.split()) for language, text in _WORDS.items()}


def language_of(words: set[str]) -> str | None:
    """Return the language of a text by its frequent words, or its script; None if that is not clear.

    Args:
        words: Its distinct words in lower case.
    """
    scripts = [found for word in words if (found := _script(word)) is not None]
    if len(scripts) * 2 > len(words):
        return max(set(scripts), key=scripts.count)
    counts = sorted(((len(words & own), name) for name, own in _by_language().items()), reverse=True)
    (most, name), (second, _) = counts[0], counts[1]
    return name if most >= 2 and most > second else None


_SCRIPTS = (
    ("\u0370", "\u03ff", "el"), ("\u0590", "\u05ff", "he"), ("\u0600", "\u06ff", "ar"), ("\u0900", "\u097f", "hi"),
    ("\u0e00", "\u0e7f", "th"), ("\u3040", "\u30ff", "ja"), ("\u3400", "\u9fff", "zh"), ("\uac00", "\ud7af", "ko"),
)  # fmt: skip


def _script(word: str) -> str | None:
    if word.isascii():
        return None
    return next((name for first, last, name in _SCRIPTS for sign in word if first <= sign <= last), None)
