"""Readers of recordings: each turns a source into transcripts."""
