"""The engines by name, each imported when it is made. The default one runs everything in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from viva.errors import SetupError

if TYPE_CHECKING:
    from viva.suites.engine import Engine

LOCAL = "local"
RAY = "ray"
ENGINES = (LOCAL, RAY)


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Where the jobs of a suite are done. It changes no exam, so it is not part of a plan."""

    name: str = LOCAL
    """One of `ENGINES`."""
    address: str | None = None
    """The address of the Ray cluster; None stands for RAY_ADDRESS, or else a cluster of this machine."""
    workers: int | None = None
    """Maximum number of workers; None stands for the cluster's CPUs."""

    def make(self) -> Engine:
        """Make the engine.

        Raises:
            SetupError: the name is unknown, an option belongs to another engine, or a package is missing.
        """
        if self.name not in ENGINES:
            raise SetupError(f"--engine takes {' or '.join(ENGINES)}, not {self.name!r}.")
        if self.name == LOCAL:
            if self.address is not None or self.workers is not None:
                raise SetupError("--ray-address and --ray-workers require --engine ray.")
            from viva.suites.engine import LocalEngine

            return LocalEngine()
        from viva.suites.on_ray.engine import RayEngine

        return RayEngine(self.address, self.workers)
