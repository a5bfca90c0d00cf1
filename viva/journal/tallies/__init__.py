"""What a reader notes of each run while it reads the lines of a journal: its rounds, and requests to repeat it."""
