"""The checksum at the end of each line of a journal, by which changed bytes are detected."""

from __future__ import annotations

from zlib import crc32

_BEGIN = b',"crc":"'
_END = b'"}\n'
_LENGTH = len(_BEGIN) + 8 + len(_END)
SEAL_LENGTH = _LENGTH - 1
"""The length of what `seal` adds to a line, without the line end."""


def seal(line: bytes) -> bytes:
    """Complete a line that lacks its closing brace with the CRC-32 of everything before it, and a line end."""
    # The last field, so that it is found without parsing and covers everything before it.
    return b'%b,"crc":"%08x"}\n' % (line, crc32(line))


def is_sealed(line: bytes) -> bool:
    """Return whether a line ends as `seal` ends it, line end included, and matches its checksum."""
    return line.endswith(b',"crc":"%08x"}\n' % crc32(line[:-_LENGTH]))


def is_unchanged(line: bytes) -> bool | None:
    """Return whether a line matches its checksum; None if it has none, as in lines of older versions."""
    if is_sealed(line):
        return True  # nearly always; what follows tells a wrong checksum from none
    end = len(line) - _LENGTH
    if not line.endswith(b"\n"):
        line += b"\n"
        end += 1
    if not line.startswith(_BEGIN, end) or not line.endswith(_END):
        return None
    return line[-len(_END) - 8 : -len(_END)] == b"%08x" % crc32(line[:end])


def unsealed(line: bytes) -> bytes | None:
    """Return a line as it was given to `seal`, without its closing brace; None if its checksum is missing or wrong."""
    return line[:-_LENGTH] if is_sealed(line) else None
