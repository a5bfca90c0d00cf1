"""Measures Viva's own overhead against its budgets: `make bench`, or `python -m bench NAME…` for some benchmarks."""
