"""Reads traces: spans of OpenInference and OpenTelemetry become transcripts."""
