"""What the calls of a run were: each counted once, whose it is, what it was given, and what became of it."""
