"""What a reader should know of a score: what is missing from it, and what the judge's error does to it."""
