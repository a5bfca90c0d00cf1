"""The conformance suite: checks of any agent and its connector, as pytest items. Loaded with `--viva-conformance`."""
