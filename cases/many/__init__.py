"""Several cases in one file, and families: one case for each row of a table."""
