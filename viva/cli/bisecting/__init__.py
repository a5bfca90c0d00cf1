"""The command `viva bisect`."""
