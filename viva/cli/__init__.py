"""The command line: one module for each command in `commands`, and what they share."""
