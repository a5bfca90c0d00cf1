"""One module for each subcommand of `viva`."""
