"""Results that OpenAI's hosted evals exported: the reader `openai_evals` makes recordings of them, with verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions

LOOKED_AT = 20


def recognises(source: SourceFile) -> bool:
    """Return whether the lines of a file are graded samples."""
    if source.path.is_dir() or source.suffix in (".csv", ".tsv", ".yaml", ".yml"):
        return False
    lines = list(islice(source.tree().elements(), LOOKED_AT))
    return bool(lines) and all(
        {"item", "sample"} <= (keys := {key for key, _ in line.items()}) and bool(keys & {"run_id", "grades", "passes"})
        for line in lines
    )


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return no cases: everything goes into recordings, and the frame looks up every value there."""
    source.tree().take()
    return ()
