"""Sinks: where completed runs are sent besides the journal."""
