"""What many runs say together: estimators, summaries, and comparisons."""
