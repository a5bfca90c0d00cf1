"""Chooses which runs of a suite are conducted: by filters, by what failed before, and by what has changed since."""
