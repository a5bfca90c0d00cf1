"""Finds and removes what dead harnesses left with a Docker daemon. Touches nothing else."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from sandbox import ownership as owner
from sandbox.container import remove
from sandbox.daemon import Daemon, is_api_error


@dataclass(frozen=True)
class Pruned:
    """What was removed, by name, and what was left because its owner lives or cannot be asked."""

    containers: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


async def prune(daemon: Daemon, *, images: bool = False) -> Pruned:
    """Remove containers of ours whose harness is dead; with `images`, their dependency images too.

    An owner on another machine, or in another PID namespace, cannot be asked and counts as living. A dependency
    image that somebody still needs is kept by the daemon while a container uses it, and made again when missing.
    """
    return await daemon.patiently(lambda: daemon.run(_prune, images))


def _prune(api: Any, images: bool) -> Pruned:
    gone, kept, gone_images = [], [], []
    for found in api.containers(all=True, filters={"label": owner.HOST}):
        if not owner.is_ours(found.get("Labels")):
            continue
        name = (found.get("Names") or [found["Id"]])[0].lstrip("/")
        if owner.is_leftover(found.get("Labels")):
            with contextlib.suppress(Exception):
                remove(api, found["Id"])
                gone.append(name)
        else:
            kept.append(name)
    if images:
        for found in api.images(filters={"label": f"{owner.image_key(owner.KIND)}=dependencies"}):
            if not owner.is_leftover_image(found.get("Labels")):
                continue
            for name in found.get("RepoTags") or [found["Id"]]:
                try:
                    api.remove_image(name)  # never by force: refused while a container uses it
                    gone_images.append(name)
                except Exception as error:
                    if not is_api_error(error):
                        raise
                    kept.append(name)
    return Pruned(tuple(gone), tuple(gone_images), tuple(kept))
