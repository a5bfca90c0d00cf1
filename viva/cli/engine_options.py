"""Options that choose where the jobs of a command are done; the engines are in `viva.suites.engines`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from viva.cli.options import call_option, stack
from viva.suites.engines import ENGINES, LOCAL, EngineChoice

if TYPE_CHECKING:
    from viva.suites.engine import Engine

P = ParamSpec("P")
T = TypeVar("T")


def engine_options(function: Callable[P, T]) -> Callable[P, T]:
    """Add the options for where the jobs are done; `engine_from` reads them."""
    return stack(
        call_option(
            "--engine",
            type=click.Choice(ENGINES),
            default=LOCAL,
            show_default=True,
            help="Where to run the jobs: in this process, or on a Ray cluster (see `viva docs cluster`).",
        ),
        call_option(
            "--ray-address",
            metavar="ADDRESS",
            help="HOST:PORT of the head of the Ray cluster, or auto. [default: RAY_ADDRESS, else a cluster of this "
            "machine, for this command only]",
        ),
        call_option(
            "--ray-workers",
            type=click.IntRange(1),
            metavar="NUMBER",
            help="Maximum number of workers, which share --concurrency. [default: the CPUs of the cluster]",
        ),
    )(function)


def engine_from(given: Mapping[str, Any]) -> Engine:
    """Return the engine that the options name.

    Raises:
        SetupError: an option requires another one, or a package is missing.
    """
    return EngineChoice(given["engine"], given["ray_address"], given["ray_workers"]).make()
