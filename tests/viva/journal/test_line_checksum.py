"""The checksum of a line tells an unchanged line from a changed one, and both from a line without a checksum."""

from __future__ import annotations

from viva.journal.line_checksum import is_unchanged, seal, unsealed

BODY = b'{"v":1,"event":"round","run":"r","attempt":1,"data":{"number":1}'


def test_a_sealed_line_is_unchanged_with_and_without_its_line_end() -> None:
    line = seal(BODY)
    assert is_unchanged(line) is True
    assert is_unchanged(line.removesuffix(b"\n")) is True
    assert unsealed(line) == BODY
    assert unsealed(line.removesuffix(b"\n")) is None


def test_every_changed_byte_is_noticed() -> None:
    line = seal(BODY)
    for place in range(len(line) - 1):
        changed = bytearray(line)
        changed[place] ^= 1
        assert is_unchanged(bytes(changed)) is not True, place
        assert unsealed(bytes(changed)) is None
    for place in range(len(BODY)):
        changed = bytearray(line)
        changed[place] ^= 1
        assert is_unchanged(bytes(changed)) is False, place


def test_lines_without_a_checksum_are_told_from_changed_ones() -> None:
    line = seal(BODY)
    assert is_unchanged(BODY + b"}\n") is None
    for length in range(30):
        assert is_unchanged(line[-length:] if length else b"") in (None, False)
        assert is_unchanged(line[:length]) is None
    assert is_unchanged(seal(b"")) is True
