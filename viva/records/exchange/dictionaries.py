"""Compresses texts with dictionaries of what judges' requests mostly consist of, so that a single run stays small.

The dictionaries are the files `dictionaries/N.txt`: Viva's own prompts for judges as they were when the dictionary was
made. They are part of the format: a file is never changed and never removed, because journals refer to it by its
number. If the prompts have changed so much that they are no longer compressed well, add a file with the next number.
"""

from __future__ import annotations

import base64
import zlib
from functools import cache
from pathlib import Path

NEWEST = 3
"""The number of the newest dictionary."""
MOST_HELPED = 256 * 1024
"""Maximum number of bytes for which dictionaries are tried; what they save of more is not worth the time."""
FOLDER = Path(__file__).parent / "dictionaries"


def compress(plain: bytes) -> tuple[int, str]:
    """Return the number of the dictionary that serves best (0 for none), and the compressed bytes in base 85."""
    numbers = range(NEWEST + 1) if len(plain) <= MOST_HELPED else range(1)
    tried = ((number, _with(number, plain)) for number in numbers)
    number, content = min(tried, key=lambda each: len(each[1]))
    return number, base64.b85encode(content).decode()


def decompress(number: int, content: str, most: int) -> bytes:
    """Return what was compressed.

    Args:
        number: The number of the dictionary; 0 for none.
        content: What `compress` returned.
        most: Maximum number of bytes.

    Raises:
        ValueError: the dictionary is not known, or the content is damaged or too long; says so.
    """
    if type(number) is not int or not 0 <= number <= NEWEST:
        raise ValueError(f"they are in a newer form (with dictionary {str(number)[:20]})")
    unpacker = zlib.decompressobj(zdict=_dictionary(number)) if number else zlib.decompressobj()
    try:
        # zlib itself checks that the dictionary is the right one.
        plain = unpacker.decompress(base64.b85decode(content), most + 1)  # 0 would mean without a limit
    except (zlib.error, TypeError) as error:
        raise ValueError("they are damaged") from error
    if len(plain) > most:
        raise ValueError("they are too long")
    if not unpacker.eof:
        raise ValueError("they are damaged")
    return plain


def _with(number: int, plain: bytes) -> bytes:
    packer = zlib.compressobj(9, zdict=_dictionary(number)) if number else zlib.compressobj(9)
    return packer.compress(plain) + packer.flush()


@cache
def _dictionary(number: int) -> bytes:
    return (FOLDER / f"{number}.txt").read_bytes()
