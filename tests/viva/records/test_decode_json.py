"""Records that are decoded from bytes are the same as those that are decoded from parsed JSON."""

from __future__ import annotations

import pytest

from viva.records.codec import decode, decode_json, loads
from viva.records.run_record import RunRecord

_RECORD = '{"id": "a", "subject": "s", "agent": "x", "outcome": "scored", "score": 1.0%s}'


@pytest.mark.parametrize(
    "more",
    [
        "",
        ', "tags": null',
        ', "rounds": 2.0',
        ', "rounds": "2"',
        ', "rounds": true',
        ', "trial": %s' % ("9" * 5000),
        ', "error": "\\ud800 \\u0000"',
        ', "low": NaN',
        ', "high": 1e400',
        ', "usage": {"target": {"input_tokens": -5}, "judge": {"cost": null}, "examiner": {}}',
        ', "stop": "of a newer version"',
        ', "score": 0.5',
        ', "of_a_newer_version": [[[{}]]]',
        ', "insights": [{"evaluator": "e", "subject": "a", "label": "hit", "score": 1, "details": {"a": [1, "b"]}}]',
        ', "insights": 5',
        ', "timing": []',
    ],
)
def test_both_ways_of_decoding_agree(more: str) -> None:
    text = (_RECORD % more).encode()
    try:
        expected = repr(decode(RunRecord, loads(text)))
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            decode_json(RunRecord, text)
    else:
        assert repr(decode_json(RunRecord, text)) == expected
