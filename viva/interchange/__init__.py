"""Import of other tools' cases, datasets and results: nothing of a source is dropped without a note."""

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.exporting import ExportReport
from viva.interchange.files import SourceFile
from viva.interchange.importing import import_cases
from viva.interchange.ledger import Gap
from viva.interchange.report import ImportReport
from viva.interchange.source import Source

__all__ = ["CaseDraft", "ExportReport", "Gap", "ImportReport", "Source", "SourceFile", "import_cases"]
