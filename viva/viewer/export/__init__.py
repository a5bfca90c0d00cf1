"""The viewer as static files: the same page, and what its server would answer, in parts that a browser loads."""
