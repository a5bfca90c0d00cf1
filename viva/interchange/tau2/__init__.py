"""Tasks of tau2-bench."""
