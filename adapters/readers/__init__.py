"""Readers of recordings: a source becomes transcripts."""
