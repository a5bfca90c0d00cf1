"""Sends an alert when a watched figure falls below its limit: a webhook by POST, an OpenTelemetry metric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from viva.errors import SetupError
from viva.records.redact import redact

SECONDS = 10.0
"""Maximum time for one request."""


@dataclass(frozen=True, slots=True)
class Alert:
    """The content of an alert."""

    journal: str
    runs: int
    """Number of runs in the window."""
    below: str
    """The figures below their limits, in words; empty if there are none any more."""
    rates: Mapping[str, float]
    """Each figure's low bound over the window: rates of trajectories by name, and `score`."""
    unjudged: str = ""
    """Why nobody can say whether a figure is below its limit, in words; empty if it is known."""


class AlertChannel(Protocol):
    """A channel for alerts."""

    def send(self, alert: Alert) -> None:
        """Send one; also when no figure is below its limit any more, so that an alarm can end, or when nobody can say.

        Raises:
            OSError: it could not be sent.
        """
        ...

    def measure(self, alert: Alert) -> None:
        """Record the figures of one poll."""
        ...

    def close(self) -> None:
        """Send what is queued."""
        ...


class Webhook:
    """Posts each alert as a JSON object."""

    def __init__(self, url: str) -> None:
        """Args:
            url: The address that is posted to; a name and password in it are sent as basic authentication.

        Raises:
            SetupError: it is not an address.
        """
        from viva.sinks.webhook import Poster

        try:
            self._poster = Poster(url)
        except ValueError:
            raise SetupError("--alert webhook requires an address, as in webhook:https://example.org/hook.") from None

    def send(self, alert: Alert) -> None:
        """Post one.

        Raises:
            OSError: it could not be sent, or the server did not accept it.
        """
        from viva.sinks.webhook import WebhookRefused

        event = "viva.unjudged" if alert.unjudged else "viva.alert" if alert.below else "viva.recovered"
        body: dict[str, Any] = {
            "event": event,
            "journal": alert.journal,
            "runs": alert.runs,
            "below": redact(alert.below),
            "rates": dict(alert.rates),
        }
        if alert.unjudged:
            body["unjudged"] = redact(alert.unjudged)
        try:
            self._poster.post(json.dumps(body).encode(), seconds=SECONDS)
        except WebhookRefused as error:
            raise OSError(str(error)) from None

    def measure(self, alert: Alert) -> None:
        """Do nothing: only alerts are posted."""

    def close(self) -> None:
        """Do nothing: no alert waits."""


class Metric:
    """Exports every figure over the window as an OpenTelemetry gauge, and counts alerts, by OTLP over HTTP.

    The address is taken from the usual variables (`OTEL_EXPORTER_OTLP_ENDPOINT`…).
    """

    def __init__(self) -> None:
        """Set the exporter up.

        Raises:
            SetupError: the packages are not installed.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        except ImportError as error:
            raise SetupError("--alert otel requires OpenTelemetry: pip install 'vivavoce[otel]'.") from error
        self._provider = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
        meter = self._provider.get_meter("viva.evals")
        self._rates = meter.create_gauge("viva.evals.rolling_rate", "1", "Low bound of a rate over the newest runs.")
        self._alerts = meter.create_counter("viva.evals.alerts", "{alert}", "Rates that fell below their bounds.")

    def send(self, alert: Alert) -> None:
        """Count one."""
        if alert.below:
            self._alerts.add(1)
        self._provider.force_flush(int(SECONDS * 1000))

    def measure(self, alert: Alert) -> None:
        """Set the gauges."""
        for name, rate in alert.rates.items():
            self._rates.set(rate, {"viva.evaluator": name})

    def close(self) -> None:
        """Send what is queued."""
        self._provider.shutdown()


def make_channel(spec: str) -> AlertChannel:
    """Make a channel from `webhook:URL` or `otel`.

    Raises:
        SetupError: there is no such channel, or it cannot be made.
    """
    kind, _, argument = spec.partition(":")
    if kind == "webhook":
        return Webhook(argument)
    if spec == "otel":
        return Metric()
    raise SetupError(f"--alert takes exit, webhook:URL or otel, not {kind!r}.")
