"""Small distributions for the tests of plugins, laid out on disk as pip installs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(
    site: Path, name: str, version: str, modules: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]
) -> Path:
    """Put a distribution into a folder that is to be on `sys.path` or `PYTHONPATH`.

    Args:
        site: The folder; made where it is missing.
        name: The distribution's.
        version: Its version.
        modules: Name to source.
        entry_points: Group to name to value.
    """
    information = site / f"{name.replace('-', '_')}-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, points in entry_points.items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items()), ""]
    (information / "entry_points.txt").write_text("\n".join(lines))
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)
    return site
