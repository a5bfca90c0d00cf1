"""Streams of events become metrics and transcripts: the collector, and one small module for each kind of stream."""
