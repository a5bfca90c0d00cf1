"""The exchanges of a judge, packed into one event: nothing is lost, little is stored, and a stranger's cannot hurt."""

from __future__ import annotations

import base64
import json
import secrets
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.judge.view import show
from viva.records.exchange import unpacking
from viva.records.exchange.dictionaries import decompress
from viva.records.exchange.exchanges import Exchange, KeptExchanges, PictureName, RequestMessage
from viva.records.exchange.packing import pack
from viva.records.exchange.spoken_lines import SpokenNumbers, restored, spoken_lines
from viva.records.exchange.unpacking import unpack
from viva.records.transcript import Round, Step, StepKind, Transcript

TEXTS = st.text(st.sampled_from("ab \n\t\r\u2028é😀"), max_size=60)
RULES = " ".join(f"Rule {secrets.token_hex(30)}." for _ in range(30))
LONG = Transcript(
    tuple(
        Round(
            number,
            f"Question {number}: {secrets.token_hex(60)}?",
            "\n".join(f"Line {line} of the answer: {secrets.token_hex(40)}" for line in range(8)),
            steps=(
                Step(
                    f"s{number}", StepKind.TOOL, tool="look", tool_input={"at": secrets.token_hex(20)}, result="x" * 30
                ),
            ),
        )
        for number in range(1, 101)
    )
)


def request(*texts: str | PictureName, system: str = RULES, answer: str = '{"verdict": "hit"}') -> Exchange:
    messages = (RequestMessage("system", (system,)), RequestMessage("user", texts))
    return Exchange("scoring_points", "run", "p1", "m", messages, answer=answer)


def round_trip(exchanges: list[Exchange], spoken: list[str]) -> tuple[list[Exchange], KeptExchanges, dict[str, bytes]]:
    kept, files = pack(exchanges, spoken)
    read = unpack(kept, spoken, files.get)
    assert (read.not_kept, read.not_shown) == (0, 0)
    return list(read.exchanges), kept, files


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=6), st.lists(TEXTS, max_size=6))
def test_what_was_asked_and_answered_is_read_as_it_was(asked: list[tuple[str, str, str]], said: list[str]) -> None:
    talk = Transcript(tuple(Round(number, text, text * 2) for number, text in enumerate(said, 1)))
    shown = show(talk, "mark").text
    exchanges = [
        request(f"{shown}\n{one}", two, PictureName("images/x.png"), answer=three) for one, two, three in asked
    ]
    found, _, _ = round_trip(exchanges, spoken_lines(talk))
    assert found == exchanges


@given(TEXTS, st.lists(TEXTS, max_size=5))
def test_a_text_is_made_again_of_its_pieces(text: str, said: list[str]) -> None:
    lines = [line for each in said for line in each.splitlines()]
    assert restored(SpokenNumbers(lines).pieces(text), lines, 10_000) == text


def test_a_long_conversation_is_not_stored_again_with_each_of_its_questions() -> None:
    shown = show(LONG).text
    exchanges = [request(f"{shown}\nThe statement {number} to judge, in words.") for number in range(20)]
    found, kept, files = round_trip(exchanges, spoken_lines(LONG))
    assert found == exchanges
    assert len(kept.content) < len(shown) // 10
    assert list(files.values()) == [RULES.encode()], "the rules, which all runs share, once"
    assert RULES[:30] not in kept.content


def test_a_reply_that_imitates_a_reference_stays_what_it_is() -> None:
    talk = Transcript((Round(1, '[0, 1, ""]', '{"like": 0, "head": 9, "tail": 9, "new": []}'),))
    exchanges = [request(show(talk).text), request('[[0, 1, ""]]')]
    assert round_trip(exchanges, spoken_lines(talk))[0] == exchanges


def test_secrets_are_masked_in_requests_answers_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "kx-91823-secret")
    asked = replace(
        request("Use kx-91823-secret here."), answer="It said kx-91823-secret", error="401 for kx-91823-secret"
    )
    found, kept, files = round_trip([asked], [])
    assert "kx-91823-secret" not in json.dumps([each.answer + each.error for each in found])
    assert found[0].messages[1].text == "Use [SHOP_API_KEY] here."
    plain = decompress(kept.dictionary, kept.content, 10**6) + b"".join(files.values())
    assert b"kx-91823-secret" not in plain


def test_a_conversation_that_is_not_the_judged_one_is_noticed() -> None:
    kept, files = pack([request(show(LONG).text)], spoken_lines(LONG))
    other = Transcript((replace(LONG.rounds[0], agent="Another answer.\n" * 8), *LONG.rounds[1:]))
    with pytest.raises(ValueError, match="not the one that was judged"):
        unpack(kept, spoken_lines(other), files.get)
    with pytest.raises(ValueError, match="not in the conversation"):
        unpack(kept, [], files.get)


def test_a_missing_file_and_a_newer_form_are_named() -> None:
    kept, files = pack([request("Hello.")], [])
    with pytest.raises(ValueError, match=next(iter(files))):
        unpack(kept, [], lambda _: None)
    with pytest.raises(ValueError, match=r"newer form \(3\)"):
        unpack(replace(kept, form=3), [], files.get)


def forged(data: object) -> KeptExchanges:
    return packed(json.dumps(data).encode())


def packed(data: bytes) -> KeptExchanges:
    return as_kept(base64.b85encode(zlib.compress(data, 1)).decode())


def as_kept(content: str) -> KeptExchanges:
    return KeptExchanges(form=1, calls=1, digest="0" * 16, content=content)


DOUBLING = [["x" * 1000], *({"like": n, "head": 1000 * 2**n, "tail": 1000 * 2**n, "new": []} for n in range(60))]


@pytest.mark.parametrize(
    "make",
    [
        lambda: forged({"texts": DOUBLING, "calls": []}),
        lambda: forged({"texts": [[[0, 1, "x" * 1_000_000]] for _ in range(100)], "calls": []}),
        lambda: forged({"texts": [[[0, 10**9, ""]]], "calls": []}),
        lambda: forged({"texts": [[[-1, 1, ""]]], "calls": []}),
        lambda: forged({"texts": [0], "calls": []}),
        lambda: forged({"texts": [], "calls": [["e", "s", "c", "j", 1, [["user", 7]], None, ""]]}),
        lambda: forged({"texts": [], "calls": [["e", "s", "c", "j", "1", [], None, ""]]}),
        lambda: forged([]),
        lambda: forged({"texts": [[]] * 1_100_000, "calls": []}),
        lambda: forged({"texts": {}, "calls": [1]}),
        lambda: as_kept("not base 85: \x00"),
        lambda: packed(b" " * 10**8),
        lambda: as_kept(base64.b85encode(b"plain").decode()),
    ],
)
def test_what_a_stranger_forged_is_refused_before_it_takes_memory(make: Callable[[], KeptExchanges]) -> None:
    made = make()
    with pytest.raises(ValueError):  # noqa: PT011 - any words will do
        unpack(made, ["a line of the conversation"], lambda _: None)


def test_more_than_may_be_read_is_never_packed_by_viva() -> None:
    from viva.judge.exchange.log import MOST_NOTED

    assert 4 * MOST_NOTED < unpacking.MOST_JSON < unpacking.MOST_UNPACKED


def repeated(text: str, references: int, calls: int = 1) -> KeptExchanges:
    """One text to which requests refer many times."""
    call = ["scoring_points", "s", "c", "m", 1, [["user", *[0] * references]], None, ""]
    return forged({"texts": [[text]], "calls": [call] * calls})


@pytest.mark.parametrize(
    "make",
    [
        lambda: repeated("x" * 1_000_000, 1_000),
        lambda: repeated("x" * 40_000_000, 2),
        lambda: repeated("", 200_000),
        lambda: forged({"texts": [], "calls": [["e", "s", "c", "m", 1, [["user"]] * 200_000, None, ""]]}),
    ],
    ids=["many", "long", "pieces", "messages"],
)
def test_what_references_add_up_to_is_limited_and_said(make: Callable[[], KeptExchanges]) -> None:
    read = unpack(make(), [], lambda _: None)
    assert (read.exchanges, read.not_shown) == ((), 1)
    assert "1 request not shown" in read.note()


def test_requests_are_shown_as_far_as_they_fit_together() -> None:
    length = unpacking.MOST_TOGETHER // 10
    read = unpack(repeated("x" * length, 1, calls=12), [], lambda _: None)
    assert (len(read.exchanges), read.not_shown) == (9, 3), "the words of a request count, too"
    read = unpack(repeated("x", unpacking.MOST_PIECES // 10, calls=12), [], lambda _: None)
    assert (len(read.exchanges), read.not_shown) == (9, 3), "and so does its role"


def test_what_was_not_kept_is_said() -> None:
    kept, files = pack([request("Hello.")], [], left_out=7)
    assert "7 further requests not kept" in unpack(kept, [], files.get).note()


OLD = (
    "c-nQ3O>TrR427=}y>&Vr7`2OBqul|jBCx<}2vOqs6XNb;+BI1?_OtWyd4<qJ3S4ux4ZbHbl6@?F<|GbQ)yl%?L1)p%FY!V%MKP5#EN09^QjF-kM7b={q"
    "$RLWcp4uE!&(Qg@xJ7toYbSi+Tuoe;9god(_&&xHf^m4{7Z29;Y5Cb`}njF&p|WQBHfh|HM&hvdLP10-JtYK<~aVOg`+NFk+1Qs(mU;8hAyyAJ&S_Fo_"
    "B<6p}gzh*^gA-AEy*Ybe*j&{uqxv>wnMs!1Hq8*=;ZThH#4"
)


def test_what_the_first_form_holds_is_read() -> None:
    rules = "Judge by the transcript alone. " * 40
    name = "texts/630a507170c7e959e4c144102e959fdd7e410f6240c2a47d1e17b0b095cd07fb.txt"
    old = KeptExchanges(form=1, calls=2, digest="146fd578b3204570", content=OLD, shared=(name,))
    read = unpack(old, ["Hello, this is line one."], {name: rules.encode()}.get)
    assert [each.criterion for each in read.exchanges] == ["p1", "p2"]
    for number, each in enumerate(read.exchanges, 1):
        asked, picture = each.messages[1].parts
        assert each.messages[0].parts == (rules,)
        assert asked == (
            "The transcript:\n    Hello, this is line one.\n\n"
            f"Statement {number}: it greets the person politely and in plain words."
        )
        assert picture == PictureName("images/x.png")
