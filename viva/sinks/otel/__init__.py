"""Sends completed runs to OpenTelemetry: metrics, spans and evaluation events. Requires `vivavoce[otel]`."""
