"""Reads and writes records by native code; whatever is odd is left to `viva.records.codec`."""
