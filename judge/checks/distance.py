"""The edit distance of two texts: how many characters must be inserted, deleted or replaced."""

from __future__ import annotations


def edit_distance(one: str, other: str) -> int:
    """Return the Levenshtein distance of two texts.

    The columns of its table are the bits of whole numbers (Myers 1999, as Hyyrö 2003 has it), so that a column takes
    a few operations, however long it is.
    """
    short, long = sorted((one, other), key=len)
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    end = 0
    while end < len(short) - start and short[-1 - end] == long[-1 - end]:
        end += 1
    short, long = short[start : len(short) - end], long[start : len(long) - end]
    if not short:
        return len(long)
    # The bits stand for the longer text, so that the loop is over the shorter one.
    places = dict.fromkeys(short, 0)
    for place, character in enumerate(long):
        if character in places:
            places[character] |= 1 << place
    mask, last = (1 << len(long)) - 1, 1 << (len(long) - 1)
    plus, minus, distance = mask, 0, len(long)
    for character in short:
        equal = places[character]
        diagonal = (((equal & plus) + plus) ^ plus) | equal | minus
        right = minus | (~(diagonal | plus) & mask)
        down = plus & diagonal
        if right & last:
            distance += 1
        elif down & last:
            distance -= 1
        right = (right << 1) | 1
        plus = ((down << 1) | (~(diagonal | right) & mask)) & mask
        minus = right & diagonal & mask
    return distance
