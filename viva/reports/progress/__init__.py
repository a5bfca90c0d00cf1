"""The progress of a suite, shown live on a terminal and as lines elsewhere."""
