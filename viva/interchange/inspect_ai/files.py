"""The files of a sample: contents, contents as data URIs, or names of files beside the dataset."""

from __future__ import annotations

import base64
import binascii
import os

from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.files import SourceFile
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

LONGEST_NAME = 1_000
"""Longer values are contents, not names of files."""


def add_files(draft: CaseDraft, source: SourceFile, files: Source | None) -> None:
    """Add the files of a sample to the data files of its case."""
    if files is None:
        return
    for name, value in files.items():
        if not value.is_text or not _is_possible(name):
            value.report(Gap.REFUSED, "is not a file of a workspace: its name leaves the folder, or it has no content")
            continue
        content = _content(source, value)
        if content is not None:
            place = name if name not in ("case.yaml", "case.yml") else f"given-{name}"
            draft.files[place] = content
            if "/" in name or place != name:
                value.remark(
                    Gap.NEEDS_A_PERSON, f"the agent finds {name} in its workspace as {os.path.basename(place)}"
                )


def _is_possible(name: str) -> bool:
    parts = name.split("/")
    return (
        bool(name)
        and not os.path.isabs(name)
        and ".." not in parts
        and "\\" not in name
        and ":" not in name
        and name.isprintable()
        and bool(parts[-1])
    )


def _content(source: SourceFile, value: Source) -> bytes | None:
    text = str(value.peek())
    if text.startswith("data:"):
        head, _, data = text.partition(",")
        try:
            content = base64.b64decode(data, validate=True) if head.endswith(";base64") else data.encode()
        except (binascii.Error, ValueError):
            value.report(Gap.NEEDS_A_PERSON, "is not base64; add the file to data_files yourself")
            return None
        value.express("a data file")
        return content
    if "://" in text[:40] and "\n" not in text:
        value.report(Gap.REFUSED, "is an address, and nothing is fetched: add the file to data_files yourself")
        return None
    if len(text) < LONGEST_NAME and "\n" not in text:
        try:
            content = source.bytes_of(text)
        except SetupError:
            pass
        else:
            value.express("a data file")
            return content
    value.express("a data file")
    return text.encode()
