"""Statistics of a suite by what was varied: personas, strategies and settings of the agents."""
