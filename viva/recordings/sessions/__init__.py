"""Reads logs of whole sessions: Inspect's evaluation logs, and the session files of coding agents."""
