"""Reports on the terminal: a run, a suite, a comparison, trends."""
