"""Clients of language models: made from a name or a file, with retries, prices and prompts."""
