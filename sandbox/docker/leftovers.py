"""Finds and removes what dead harnesses left with a Docker daemon. Touches nothing else."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any

from viva.sandbox.docker import ownership
from viva.sandbox.docker.container import remove
from viva.sandbox.docker.daemon import Daemon, is_api_error
from viva.sandbox.docker.images import REPOSITORY

OUR_TAG = re.compile(rf"{REPOSITORY}:[0-9a-f]{{24}}")


@dataclass(frozen=True)
class Pruned:
    """The names of what was removed, and of what was kept because its owner lives or cannot be checked."""

    containers: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


async def prune(daemon: Daemon, *, images: bool = False) -> Pruned:
    """Remove Viva's containers whose harness is dead; with `images`, their dependency images too.

    An owner on another machine, or in another PID namespace, cannot be checked and counts as living. The daemon keeps
    an image while a container uses it; an image that is missing later is made again.
    """
    return await daemon.patiently(lambda: daemon.run(_prune, images))


def _prune(api: Any, images: bool) -> Pruned:
    gone, kept, gone_images = [], [], []
    for found in api.containers(all=True, filters={"label": ownership.HOST}):
        name = (found.get("Names") or [found["Id"]])[0].lstrip("/")
        if not ownership.is_ours(found.get("Labels"), name):
            continue
        if ownership.is_leftover(found.get("Labels")):
            with contextlib.suppress(Exception):
                remove(api, found["Id"])
                gone.append(name)
        else:
            kept.append(name)
    if images:
        for found in api.images(filters={"label": f"{ownership.image_key(ownership.KIND)}=dependencies"}):
            if not ownership.is_leftover_image(found.get("Labels")):
                continue
            # What a user tagged, or committed from one of ours, has our labels. Only our own tags are ours.
            for name in filter(OUR_TAG.fullmatch, found.get("RepoTags") or []):
                try:
                    # Never by force: refused while a container uses it. And none of the images that it was made of.
                    api.remove_image(name, noprune=True)
                    gone_images.append(name)
                except Exception as error:
                    if not is_api_error(error):
                        raise
                    kept.append(name)
    return Pruned(tuple(gone), tuple(gone_images), tuple(kept))
