"""Makes the folder of an import: complete, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from viva.errors import SetupError


class Staged:
    """A folder that takes its final place only when everything in it is complete."""

    def __init__(self, out: Path) -> None:
        """Make the folder beside its final place.

        Raises:
            SetupError: the final place holds something already, or no folder can be made there.
        """
        self._out = out
        if os.path.lexists(out) and (not out.is_dir() or any(out.iterdir())):
            raise SetupError(f"{out} exists and is not an empty folder; name a new one with --out.")
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            self.folder = Path(tempfile.mkdtemp(prefix=f".{out.name[:40]}-", dir=out.parent))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise SetupError(f"{out} cannot be made: {why}.") from error

    def publish(self) -> None:
        """Move the folder to its final place."""
        self.folder.chmod(0o777 & ~_umask())
        self.folder.replace(self._out)

    def discard(self) -> None:
        """Remove what is not complete."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
