"""Measures what Viva itself costs, beside the budgets. `make bench`, or `python -m bench NAME…` for some of it."""
