"""Secrets are found in every form in which a library may write them; replies of agents lose their keys alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.records import redact as redact_module
from viva.records.redact import SHORTEST_END, Keys, keep_secret, redact, redact_end, redact_start, redacted_line

PASTED = "sk-live/0123456789+abc=\n"
KEY = PASTED.strip()


@pytest.fixture(params=["\n", "\r\n", " ", "\t", ""], ids=repr)
def pasted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the environment as it was pasted there."""
    value = f"{KEY}{request.param}"
    monkeypatch.setenv("OPENAI_API_KEY", value)
    return value


def test_a_pasted_key_is_found_in_every_form(pasted: str) -> None:
    forms = [
        pasted,
        KEY,
        repr(pasted),
        repr(pasted.encode()),
        repr(f"Bearer {pasted}".encode()),
        json.dumps({"key": pasted}),
        quote(KEY),
        quote(pasted, safe=""),
        quote_plus(KEY),
        f"Illegal header value {f'Bearer {pasted}'.encode()!r}",
        " ".join(f"Illegal header value {pasted} there".split()),
    ]
    for form in forms:
        shown = redact(f"refused: {form}!")
        assert "0123456789" not in shown, form
        assert "[OPENAI_API_KEY]" in shown


def test_a_key_with_a_break_in_its_middle_is_found_as_it_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "first-half-123\nsecond-half-456")
    for text in (
        "first-half-123\nsecond-half-456",
        r"first-half-123\nsecond-half-456",
        "first-half-123 second-half-456",
    ):
        assert redact(f"a {text} b") == "a [SOME_TOKEN] b"


def test_the_longer_of_two_secrets_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "abcdef")
    monkeypatch.setenv("B_TOKEN", "abcdef-and-more")
    assert redact("abcdef-and-more abcdef") == "[B_TOKEN] [A_TOKEN]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach http://me:hunter2@host:6006/v1", "cannot reach http://[password]@host:6006/v1"),
        ("https://me:p@ss:w0rd@host#project", "https://[password]@host#project"),
        ("https://:hunter2@host", "https://[password]@host"),
        ("https://ghp_0123456789abcdef@host/x", "https://[password]@host/x"),
        ("two: http://a:b@c and http://d:e@f", "two: http://[password]@c and http://[password]@f"),
        ("http://host:6006/mail/a@b", "http://host:6006/mail/a@b"),
        ("http://host:80?to=a:b@c", "http://host:80?to=a:b@c"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("12:30 me@host", "12:30 me@host"),
    ],
)
def test_passwords_in_addresses_are_removed_and_addresses_stay(text: str, shown: str) -> None:
    assert redact(text) == shown


def without_secrets(text: str) -> str:
    """What `redact` promises of addresses, one part after the other."""
    begin, *rest = text.split("://")
    shown = [begin]
    for part in rest:
        authority = re.split(r"[\s/?#]", part, maxsplit=1)[0]
        user, at, _ = authority.rpartition("@")
        token = authority.partition("@")[0]
        secret = user if at and ":" in user else token if at and len(token) >= 16 else None
        shown.append(part if secret is None else f"[password]{part[len(secret) :]}")
    return "://".join(shown)


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(["://", ":", "@", "/", " ", "a", "host", "x" * 16, "?", "http"]), max_size=14))
def test_passwords_are_found_wherever_the_colons_are(parts: list[str]) -> None:
    text = "".join(parts)
    assert redact(text) == without_secrets(text)


def test_a_long_text_of_colons_is_searched_once() -> None:
    """With a search from each colon, it would take hours."""
    for text in (f"http://{':' * 2_000_000}", "http://" + "a:" * 1_000_000, "http://" + "@:" * 500_000 + " x"):
        assert "[password]" in redact(text) if "@" in text else redact(text) == text
        assert len(redact_start(text, 100)) <= 100


def test_secret_headers_of_exporters_are_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20abc123def456,content-type=application/json"
    )
    shown = redact("sent 'Bearer abc123def456' as application/json; abc123def456 was refused")
    assert "abc123def456" not in shown
    assert "application/json" in shown


def test_the_end_of_a_secret_that_a_cut_has_left_is_removed_in_every_form(pasted: str) -> None:
    written = repr(pasted)
    assert redact_end(written[6:], 1000, cut=True) in ("'", "")


@pytest.fixture(scope="module")
def known_key() -> Iterator[str]:
    """A key in the environment during the tests of a property."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield KEY


@settings(max_examples=examples(400))
@given(st.sampled_from("x \n\té"), st.integers(0, 2_500), st.integers(2, 400), st.booleans())
def test_a_quote_holds_no_part_of_a_key_wherever_it_is_cut(
    known_key: str, before: str, offset: int, limit: int, as_bytes: bool
) -> None:
    text = f"{before * offset}{known_key} and more{before * 3_000}"
    shown = redacted_line(text.encode() if as_bytes else text, limit)
    assert known_key[:SHORTEST_END] not in shown
    assert len(shown) <= limit
    assert known_key[:SHORTEST_END] not in redact_start(text, limit)


def test_a_short_text_is_quoted_whole_and_a_long_one_ends_with_dots() -> None:
    assert redacted_line("no such\n  model", 80) == redacted_line(b"no such\n  model", 80) == "no such model"
    assert redacted_line("word " * 9, 12) == "word word w…"
    assert redacted_line("a" + " " * 50_000 + "b", 12) == "a…"
    assert redacted_line("", 12) == ""


def test_a_password_in_an_address_that_a_cut_is_in_is_removed() -> None:
    assert redact_start("see http://me:hunter2@host/path", 18) == "see http://[password]"


def test_the_longer_of_two_secrets_goes_first_at_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "abcdef")
    monkeypatch.setenv("B_TOKEN", "abcdef-and-more")
    assert redact_start("say abcdef-and-more", 8) == "say [B_TOKEN]"


# Replies of agents


def test_a_key_that_an_agent_repeats_is_hidden_everywhere_in_its_reply(pasted: str) -> None:
    reply = {"text": f"Your key is {KEY}.", "steps": [{"tool_input": {KEY: [f"Bearer {KEY}"]}, "attributes": {"n": 1}}]}
    shown = Keys().hide(reply)
    assert shown == {
        "text": "Your key is [OPENAI_API_KEY].",
        "steps": [{"tool_input": {"[OPENAI_API_KEY]": ["Bearer [OPENAI_API_KEY]"]}, "attributes": {"n": 1}}],
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_TOKENS", "100000"),
        ("TOKENIZERS_PARALLELISM", "false-or-true-whatever"),
        ("OPENAI_API_KEY", "not-needed"),
        ("OPENAI_API_KEY", "EMPTY"),
        ("OPENAI_API_KEY", "12345678"),
        ("SSH_KEY_FILE", "/home/user1/.ssh/id_ed25519"),
        ("MY_SECRET", "the answer is 42, of course"),
        ("SHORT_TOKEN", "abc123"),
        ("KEYSERVER", "https://keys1.example.org/lookup"),
    ],
)
def test_what_may_be_meant_by_the_agent_stays(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply is evidence: no ordinary word or number may vanish from it because a variable has the same value."""
    monkeypatch.setenv(name, value)
    assert Keys().hide(f"The value is {value}.") == f"The value is {value}."


def test_a_key_of_a_models_file_is_hidden_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from viva.records import redact as module

    monkeypatch.setattr(module, "_kept", set())
    keep_secret("file-key-77\n")
    assert Keys().hide("I was sent file-key-77.") == "I was sent [secret]."


def test_keys_that_are_set_and_removed_later_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "sk-late-0123456789abcdef and sk-next-0123456789abcdef"
    assert Keys().hide(said) == said
    monkeypatch.setenv("LATE_API_KEY", "sk-late-0123456789abcdef")
    assert Keys().hide(said) == "[LATE_API_KEY] and sk-next-0123456789abcdef"
    monkeypatch.setenv("LATE_API_KEY", "sk-next-0123456789abcdef")
    assert Keys().hide(said) == "sk-late-0123456789abcdef and [LATE_API_KEY]"
    monkeypatch.delenv("LATE_API_KEY")
    assert Keys().hide(said) == said


def test_a_key_that_is_set_while_the_keys_are_read_is_known_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read = redact_module._variables

    def interrupted() -> Iterator[tuple[str, str]]:
        found = list(read())
        monkeypatch.setenv("LATE_API_KEY", "sk-late-0123456789abcdef")  # by another thread
        yield from found

    monkeypatch.setenv("OTHER_API_KEY", "sk-other-0123456789abcdef")  # so that they are read again
    monkeypatch.setattr(redact_module, "_variables", interrupted)
    Keys()
    monkeypatch.setattr(redact_module, "_variables", read)
    assert Keys().hide("sk-late-0123456789abcdef") == "[LATE_API_KEY]"
