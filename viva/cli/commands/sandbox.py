"""The command `viva sandbox`: pulls or builds the base image, and removes leftovers of dead processes from Docker."""

from __future__ import annotations

import dataclasses
import json

import click

from viva.cli.process import report_user_errors, run_async
from viva.records.text import counted
from viva.sandbox.docker.daemon import Daemon


@click.group("sandbox")
def command() -> None:
    """Build the base image of the sandbox, or remove leftover containers and images."""


@command.command("build")
@click.option(
    "--image", metavar="NAME", help="The base image. [default: VIVA_SANDBOX_IMAGE, else the official slim Python]"
)
@click.option(
    "--from-packages", is_flag=True, help="Build it from Debian packages (root, debootstrap), without a registry."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@report_user_errors
def build(image: str | None, from_packages: bool, as_json: bool) -> None:
    """Pull the image that checks run in, or build it if no registry is available, and test it."""
    from viva.sandbox.docker.base_image import build as make

    steps: list[str] = []

    async def work() -> str:
        daemon = Daemon(patience=5)
        try:
            await daemon.reach()
            return await make(daemon, image, from_packages=from_packages, say=steps.append if as_json else click.echo)
        finally:
            daemon.close()

    name = run_async(work())
    click.echo(json.dumps({"image": name, "steps": steps}) if as_json else f"Checks run in {name}.")


@command.command("prune")
@click.option("--keep-images", is_flag=True, help="Keep the images with installed dependencies.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@report_user_errors
def prune(keep_images: bool, as_json: bool) -> None:
    """Remove containers and images with dependencies of dead Viva processes, and unfinished installations."""
    from viva.sandbox.docker.leftovers import Pruned
    from viva.sandbox.docker.leftovers import prune as remove
    from viva.sandbox.site_folder import sweep

    async def work() -> Pruned:
        sweep()  # needs no daemon
        daemon = Daemon(patience=5)
        try:
            await daemon.reach()
            return await remove(daemon, images=not keep_images)
        finally:
            daemon.close()

    pruned = run_async(work())
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(pruned)))
        return
    for kind, names in (("container", pruned.containers), ("image", pruned.images)):
        for name in names:
            click.echo(f"removed {kind} {name}")
    kept = f" Kept, because they are still in use: {', '.join(pruned.kept)}." if pruned.kept else ""
    click.echo(
        f"{counted(len(pruned.containers), 'container')} and {counted(len(pruned.images), 'image')} removed.{kept}"
    )
