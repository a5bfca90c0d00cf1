"""The table of built-in sinks, to which completed runs are sent besides the journal; creates a sink from its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from viva.adapters.part_errors import describe_part
from viva.errors import SetupError
from viva.plugins.import_strings import PluginError
from viva.plugins.kinds import Kind, load, split
from viva.records.sink import Sink

SINKS = Kind(
    "sink",
    "viva.sinks",
    {
        "jsonl": "viva.sinks.jsonl:JsonLinesSink",
        "evaluation_log": "viva.sinks.evaluation_log:EvaluationLogSink",
        "phoenix": "viva.sinks.phoenix.sink:PhoenixSink",
        "csv": "viva.sinks.csv:CsvSink",
        "otel": "viva.sinks.otel.sink:OpenTelemetrySink",
        "webhook": "viva.sinks.webhook:WebhookSink",
    },
)


def sink_name(spec: str) -> str:
    """Return the name of a sink in messages: its SPEC, without what may be secret in an address."""
    part, argument = split(SINKS, spec)
    if "://" not in argument:
        return spec
    try:
        address = urlsplit(argument)
    except ValueError:  # brackets that are not closed
        return part
    return f"{part}:{address.scheme}://{address.hostname or ''}"


def make_sinks(specs: Iterable[str]) -> list[tuple[str, Sink]]:
    """Create sinks from their SPECs, before the first run; gives each with its SPEC.

    Raises:
        SetupError: there is no such sink, or it cannot be created.
    """
    return [(sink_name(spec), make_sink(spec)) for spec in specs]


def make_sink(spec: str) -> Sink:
    """Create a sink from `NAME`, `NAME:ARGUMENT`, or an import string, optionally with a further colon and an argument.

    The argument is passed unchanged: a file, an address.

    Raises:
        SetupError: there is no such sink, or it cannot be created.
    """
    part, argument = split(SINKS, spec)
    try:
        thing: Any = load(SINKS, part)
    except PluginError as error:
        raise SetupError(str(error)) from error
    try:
        if isinstance(thing, type) or not hasattr(thing, "write"):
            thing = thing(argument) if argument else thing()
    except SetupError:
        raise
    except (Exception, SystemExit) as error:
        raise SetupError(f"the sink {spec!r} cannot be created: {describe_part(error, thing)}") from error
    if not callable(getattr(thing, "write", None)):
        raise SetupError(f"{spec!r} is not a sink: it has no write(record, transcript) method.")
    sink: Sink = thing
    return sink
